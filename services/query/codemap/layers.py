"""Of which segments is the live tree made, as files change?

A first one of all files, made now and then; a second of what changed since, made anew when enough
has; a third of what changed since that, made for every change. So an edit costs as much as the few files
of the third, however many the tree has and however much has changed since the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from store.map_segment import Array, Segment, columns_of, make
from store.read.maps import Maps

AT_ONCE = 100  # files that are put into a segment while everybody waits
_THIRD = 4  # the third has up to a fourth of the second's files
_REST, _SHARE = 1_000, 8  # when the first is made anew: so many changed, or a share of its files


class NotAtHand(Exception):
    """The view has to be made first, which is no work for the loop that answers everybody."""


class Layer(NamedTuple):
    """A segment and which of its files count."""

    segment: Segment
    hidden: Array | None  # bool[files]

    def shows(self, file: int) -> bool:
        return self.hidden is None or not self.hidden[file]

    def files(self) -> Array:
        """The files that count, in order."""
        if self.hidden is None:
            return np.arange(self.segment.file_count)
        return np.flatnonzero(~self.hidden)

    def symbols(self, column: Array) -> Array:
        """What a column says of the symbols that count."""
        if self.hidden is None:
            return column
        shown: Array = column[np.repeat(~self.hidden, self.segment.symbols_per_file)]
        return shown

    def languages(self) -> dict[str, Array]:
        """The files that count of each language."""
        files = self.files()
        every = np.array(self.segment.languages.all() or [b""])
        names, numbers = np.unique(every[files], return_inverse=True)
        return {name.decode(): files[numbers == number] for number, name in enumerate(names)}


class Second(NamedTuple):
    """What changed since the first segment, up to some moment."""

    first: Segment
    upto: int
    paths: frozenset[str]
    layer: Segment | None  # None where all that changed is gone
    hidden: Array  # of the first


def layered(
    first: Segment, second: Second | None, maps: Maps, newest: int, *, build: bool
) -> tuple[list[Layer], Second | None]:
    """The layers as of `newest`, and the second one for the next time.

    Raises NotAtHand where many files have to be read and `build` is False.
    """
    if second is not None and (second.first is not first or second.upto > newest):
        second = None
    newer = _changed(maps, first.upto if second is None else second.upto, newest)
    most = AT_ONCE if second is None else max(AT_ONCE, len(second.paths) // _THIRD)
    if not build and len(newer) > AT_ONCE:
        raise NotAtHand
    if len(newer) > most:
        paths = frozenset(_changed(maps, first.upto, newest))
        second = Second(first, newest, paths, _segment(maps, paths, newest), hiding(first, paths))
        newer = []
    hidden = hiding(first, newer, None if second is None else second.hidden)
    layers = [Layer(first, hidden if hidden.any() else None)]
    if second is not None and second.layer is not None:
        layers.append(Layer(second.layer, hiding(second.layer, newer) if newer else None))
    third = _segment(maps, newer, newest)
    if third is not None:
        layers.append(Layer(third, None))
    return layers, second


def is_worn(layers: list[Layer]) -> bool:
    """Whether so much has changed since the first segment that a new one is due."""
    first = layers[0]
    gone = 0 if first.hidden is None else int(first.hidden.sum())
    over = max(gone, sum(layer.segment.file_count for layer in layers[1:]))
    return over > max(_REST, first.segment.file_count // _SHARE)


def hiding(segment: Segment, paths: Iterable[str], before: Array | None = None) -> Array:
    """Which files of a segment do not count, for these paths and those before."""
    hidden = np.zeros(segment.file_count, bool) if before is None else before.copy()
    for path in paths:
        file = segment.file_number(path)
        if file is not None:
            hidden[file] = True
    return hidden


def _changed(maps: Maps, since: int, newest: int) -> list[str]:
    return [] if since == newest else maps.changed_since(since)


def _segment(maps: Maps, paths: Iterable[str], newest: int) -> Segment | None:
    files = list(columns_of(paths, lambda path: maps.live_blob("columns", path)))
    return Segment(*make(files, newest)) if files else None
