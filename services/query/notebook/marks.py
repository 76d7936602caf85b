"""What was found out about single records, and holds until their book changes."""

from __future__ import annotations

from collections.abc import Callable


class Marks:
    """Numbers of records by the record they concern."""

    def __init__(self) -> None:
        self._revision = -1
        self._known: dict[int, tuple[int, ...]] = {}

    def of(
        self, revision: int, number: int, find: Callable[[], tuple[int, ...]]
    ) -> tuple[int, ...]:
        """What is known of a record, found out now if it is not."""
        if revision != self._revision:
            self._known.clear()
            self._revision = revision
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = find()
        return known
