"""The name tokens of one file: where they are, how each is used, whose member each is.

Most files are small, so plain dictionaries built by C-level comprehensions beat arrays here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from services.extractor.reader import KIND_CODES, Reader
from services.extractor.table import Table

READ, WRITE, CALL, TYPE = (KIND_CODES[kind] for kind in ("read", "write", "call", "type"))
# Later captures override earlier ones.
_ROLES = tuple(
    (capture, KIND_CODES[kind])
    for capture, kind in (
        ("type", "type"), ("target", "write"), ("write", "write"), ("callee", "call"),
        ("new", "new"), ("base", "base"), ("decorator", "decorator"), ("raise", "raise"),
    )
)  # fmt: skip
_NO_USES = ("skip", "local", "global")


class Names:
    """Name tokens by position."""

    def __init__(self, reader: Reader) -> None:
        self.data = reader.data
        self.ends: dict[int, int] = dict([node.byte_range for node in reader.unordered("id")])
        self.ends.update(reader.extra_names)
        self.starts = sorted(self.ends)

    def before(self, positions: Iterable[int]) -> list[int]:
        """Return the start of the last name before each position, -1 for none."""
        starts = self.starts
        return [
            starts[at - 1] if at else -1
            for at in [bisect_left(starts, position) for position in positions]
        ]

    def within(self, spans: Iterable[tuple[int, int]]) -> list[int]:
        """Return the starts of the names inside any of the spans, each once."""
        starts = self.starts
        found: list[int] = []
        covered = 0
        for start, end in sorted(spans):
            if end > covered:
                found += starts[bisect_left(starts, start) : bisect_left(starts, end)]
                covered = end
        return found


def kinds_of(reader: Reader, table: Table, names: Names, called: list[int]) -> dict[int, int]:
    """Map the start of every name that is a use to its kind code.

    `called` are the names that argument lists were found for.
    """
    kinds = dict.fromkeys(names.starts, READ)
    captures = reader.captures
    kinds.update(dict.fromkeys(called, CALL))
    kinds.update(dict.fromkeys(reader.targets, WRITE))
    for capture, code in _ROLES:
        if capture in captures:
            kinds.update(dict.fromkeys(reader.starts(capture), code))
    for start in names.within([*reader.spans("type.span"), *reader.type_spans]):
        if kinds[start] == READ:
            kinds[start] = TYPE
    all_names = len(kinds) == len(names.starts) and reader.roles.keys() <= names.ends.keys()
    _discard_no_uses(reader, table, names, kinds)
    kinds.update(reader.roles)
    if not all_names:  # a captured token that is none
        kinds = {start: kind for start, kind in kinds.items() if start in names.ends}
    return kinds


def _discard_no_uses(reader: Reader, table: Table, names: Names, kinds: dict[int, int]) -> None:
    discard = kinds.pop
    for start in names.within(reader.spans("skip.span")):
        discard(start, None)
    for capture in _NO_USES:
        for start in reader.starts(capture):
            discard(start, None)
    for start in reader.locals:
        discard(start, None)
    for draft in table.drafts:
        discard(draft.name_start, None)


def receivers_of(reader: Reader, names: Names) -> dict[int, tuple[int, int]]:
    """Map the start of a name to the region of its receiver or qualifier.

    Between an object's end and the member's name stand only separators, so that the member is the
    next name after the object. Of several objects before one name, as `A` and `A.this`, the last to
    end is its receiver.
    """
    starts, ends = names.starts, names.ends
    last = len(starts)
    found: dict[int, tuple[int, int]] = {}
    for span in [node.byte_range for node in reader.unordered("object")]:
        begin, end = span
        member = end + 1  # behind a separator of one character, as nearly all are
        if member not in ends or end in ends:
            at = bisect_left(starts, end)
            if at == last:
                continue
            member = starts[at]
        known = found.get(member)
        if known is None or (known[1], begin) < (end, known[0]):
            found[member] = span
    found.update(reader.receiver_spans)
    return found
