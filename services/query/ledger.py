"""What did bundles cost and save within the last hour?

Sixty buckets of a minute, in the memory of the process that answers; no identities.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

WINDOW_S = 3600
_BUCKET_S = 60
_BUCKETS = WINDOW_S // _BUCKET_S


class Totals(Struct):
    """Sums over some calls."""

    calls: int = 0
    response_tokens: int = 0
    replaced_tokens: int = 0  # of whole files that need not be read any more

    @property
    def net_saved_tokens(self) -> int:
        """Signed: negative when the answers cost more than the reads they replaced."""
        return self.replaced_tokens - self.response_tokens


class Ledger:
    """Counts calls that deliver bundles."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` tells seconds that never go back."""
        self._clock = clock
        self._buckets: dict[int, Totals] = {}  # minute of the clock -> its calls
        # Told of every call as well: command, response tokens, replaced tokens.
        self.observe: Callable[[str, int, int], None] = _unobserved

    def record(self, command: str, response_tokens: int, replaced_tokens: int) -> None:
        """Count one call; an empty bundle spent and replaced nothing."""
        bucket = self._buckets.setdefault(self._minute(), Totals())
        bucket.calls += 1
        bucket.response_tokens += response_tokens
        bucket.replaced_tokens += replaced_tokens
        self._forget()
        self.observe(command, response_tokens, replaced_tokens)

    def window(self) -> Totals:
        """The last sixty minutes, the running one included."""
        self._forget()
        found = Totals()
        for bucket in self._buckets.values():
            found.calls += bucket.calls
            found.response_tokens += bucket.response_tokens
            found.replaced_tokens += bucket.replaced_tokens
        return found

    def _minute(self) -> int:
        return int(self._clock() // _BUCKET_S)

    def _forget(self) -> None:
        oldest = self._minute() - _BUCKETS + 1
        for minute in [minute for minute in self._buckets if minute < oldest]:
            del self._buckets[minute]


def _unobserved(_command: str, _response_tokens: int, _replaced_tokens: int) -> None:
    return
