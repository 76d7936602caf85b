"""What does a part of a bundle cost?

Two figures, both sums over the parts. The charge is an estimate by the exact tokens of what is
delivered, times 3.5 because a result goes out twice and its second copy is escaped. The wire is
what the encoded part really takes in both halves. The charge is the larger one for code; text that
escapes badly (backslashes, quotes, control characters) can turn that round, and then the wire
counts: the ceiling is a promise, the estimate is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
from msgspec import Struct

from contracts.tools.context import BundleEntry

FACTOR = 3.5
SCAFFOLD = math.ceil(FACTOR * 80)  # charged once, for everything but the entries
_ENTRY, _UNIT = 24, 10
_JOINT = 8  # what joining two parts may add in both halves: commas, and tokens that split otherwise
# The result around an answer (see services/query/results.py and mcp.py) and the message around it.
_FRAME = 130
_encode = msgspec.json.Encoder().encode
Count = Callable[[str], int]


class Cost(Struct, frozen=True):
    """Charge and wire of a part, or of several."""

    charge: int = 0
    wire: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.charge + other.charge, self.wire + other.wire)

    @property
    def tokens(self) -> int:
        return max(self.charge, self.wire)


class Prices:
    """Costs by one tokenizer."""

    def __init__(self, count: Count) -> None:
        self.count = count

    def entry(self, entry: BundleEntry) -> Cost:
        count = self.count
        tokens = entry.token_count + _ENTRY + count(entry.path) + count(entry.content_hash)
        tokens += sum(map(count, entry.reasons))
        for unit in entry.units:
            tokens += _UNIT + count(unit.receipt) + count(unit.kind) + count(unit.symbol or "")
        return Cost(math.ceil(FACTOR * tokens), self.wire(entry))

    def scaffold(self, empty: Struct) -> Cost:
        """Of an answer without entries; its figures should be as long as they can get."""
        return Cost(SCAFFOLD, self.wire(empty) + _FRAME)

    def wire(self, part: Struct) -> int:
        """Tokens of a part as it is sent, in both halves."""
        encoded = _encode(part).decode()
        return self.count(encoded) + self.count(_encode(encoded)[1:-1].decode()) + _JOINT
