"""Which segments of the lexical index should be merged now?

Segments stand in the order of their files' sequences, oldest first, and only neighbours are merged,
so that order is kept. Sizes shrink by half or more from old to new (small changes never rewrite
large segments, and a term is merged about log2 times in all); one segment stops growing at the
ceiling, which rises with the repository so that the number of segments stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

CEILING: Final = 4_000_000  # postings of one merged segment; a merge takes about 0.2 CPU seconds
_SHARE: Final = 3  # a large repository may put one part in so many of its postings into one segment
_FLOOR: Final = 32_768  # postings; smaller sizes count as equal


class SegmentSize(Struct, frozen=True):
    """What a merge has to move."""

    postings: int
    dead: int = 0  # postings of replaced or deleted files among them


def plan_merge(sizes: Sequence[SegmentSize]) -> list[list[int]]:
    """Return groups of neighbouring positions in `sizes`, each to become one segment.

    A group of one is a rewrite that sweeps its dead files out. Groups do not overlap; none is
    returned when nothing pays.
    """
    live = [size.postings - size.dead for size in sizes]
    ceiling = max(CEILING, sum(live) // _SHARE)
    groups: list[list[int]] = []
    stop = len(sizes)
    while stop > 0:
        start = _run_start(live, stop, ceiling)
        if stop - start > 1 or _is_mostly_dead(sizes[start]):
            groups.append(list(range(start, stop)))
        stop = start
    groups.reverse()
    return groups


def _run_start(live: Sequence[int], stop: int, ceiling: int) -> int:
    """Return where the run that ends before `stop` begins: with the oldest that is outweighed."""
    start, newer = stop - 1, live[stop - 1]
    for position in range(stop - 2, -1, -1):
        if newer + live[position] > ceiling:
            break
        if live[position] < max(newer, _FLOOR):
            start = position
        newer += live[position]
    return start


def _is_mostly_dead(size: SegmentSize) -> bool:
    return size.dead * 2 > size.postings
