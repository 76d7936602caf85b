"""Where do the uses of names in files lead? The links of many files at once, by arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from contracts.filemap import CANDIDATE, NAMED, RELATION, RESOLVED, keys_of
from services.resolution.edges import COLUMNS, MAX_CANDIDATES, STATES, FileEdges
from services.source.ragged import bounds
from services.source.word_keys import I8, U8

_OPEN_STATES = np.array([state in ("unresolved", "ambiguous") for state in STATES])
_TAGS = np.array([RESOLVED, NAMED, CANDIDATE, RELATION], "u1")


class Links(NamedTuple):
    """Whatever leads from one file to a symbol, in order of the symbols it leads from."""

    key: bytes  # u8[links]
    tag: bytes  # u1
    kind: bytes  # u1
    confidence: bytes  # u1
    source: bytes  # i4
    line: bytes  # u4
    row: bytes  # u4


_NO_LINKS = Links(b"", b"", b"", b"", b"", b"", b"")


def links_of(files: Sequence[FileEdges]) -> list[Links]:
    """The links of each file."""
    uses = bounds([len(edges.kind) for edges in files])
    texts = bounds([len(edges.strings) for edges in files])
    strings = list(chain.from_iterable([edges.strings for edges in files]))
    file_of_use = np.repeat(np.arange(len(files)), np.diff(uses))
    target, name, state = (_column(files, which) for which in ("target", "name", "state"))
    # Where all candidates are known, a symbol that is none of them is not meant.
    open_ = _OPEN_STATES[state] & (target < 0)
    candidates = [
        (first + row, before, found)
        for edges, first, before in zip(files, uses.tolist(), texts.tolist(), strict=False)
        for row, found in edges.candidates
    ]
    open_[[row for row, _, found in candidates if 0 < len(found) < MAX_CANDIDATES]] = False
    resolved, named = np.flatnonzero(target >= 0), np.flatnonzero(open_)
    possible = [(row, before + text) for row, before, found in candidates for text in found]
    relations = [
        (file, row, one)
        for file, edges in enumerate(files)
        for row, one in enumerate(edges.relations)
        if one.target
    ]
    rows = np.concatenate((resolved, named, np.array([row for row, _ in possible], np.int64)))
    owners = file_of_use[rows]
    first_text = texts[file_of_use]
    found = (
        np.concatenate((
            _keys(target[resolved] + first_text[resolved], strings, RESOLVED),
            _keys(name[named] + first_text[named], strings, NAMED),
            _keys(np.array([text for _, text in possible], np.int64), strings, CANDIDATE),
            np.array(keys_of([one.target for _, _, one in relations], RELATION), np.uint64),
        )),
        np.repeat(_TAGS, (len(resolved), len(named), len(possible), len(relations))),
        _with(_column(files, "kind")[rows], [one.kind for _, _, one in relations]),
        _with(_column(files, "confidence")[rows], [one.confidence for _, _, one in relations]),
        _with(_column(files, "source")[rows], [one.source for _, _, one in relations]),
        _with(_column(files, "line")[rows], [0] * len(relations)),
        _with((rows - uses[owners]).astype("<u4"), [row for _, row, _ in relations]),
    )  # fmt: skip
    file = _with(owners, [file for file, _, _ in relations])
    if not len(file):
        return [_NO_LINKS] * len(files)
    order = _order(file, found[4], found[5], found[6], found[0])
    ends = np.searchsorted(file[order], np.arange(len(files) + 1)).tolist()
    return _parted(found, order, ends)


def _order(
    file: I8, source: npt.NDArray[Any], line: npt.NDArray[Any], row: npt.NDArray[Any], key: U8
) -> I8:
    """By file, source, line, row and key."""
    # All but the keys come nearly in order, so that only equals have to be put in order of them.
    first = file << 32
    columns = (first + row, first + line, first + source)
    order: I8 = np.lexsort(columns)
    differs = np.zeros(len(order) - 1, np.bool_)
    for column in columns:
        in_order = column[order]
        differs |= in_order[1:] != in_order[:-1]
    if not differs.all():
        group = np.cumsum(np.append(0, differs))
        equals = np.flatnonzero(np.append(~differs, False) | np.append(False, ~differs))
        mixed = order[equals]
        order[equals] = mixed[np.lexsort((key[mixed], group[equals]))]
    return order


def _column(files: Sequence[FileEdges], name: str) -> npt.NDArray[Any]:
    return np.frombuffer(b"".join([getattr(edges, name) for edges in files]), COLUMNS[name])


def _with(column: npt.NDArray[Any], more: list[int]) -> npt.NDArray[Any]:
    return np.concatenate([column, np.array(more, column.dtype)]) if more else column


def _keys(numbers: I8, strings: Sequence[str], tag: int) -> U8:
    """The keys of strings by their numbers; each string is read once."""
    if not len(numbers):
        return np.zeros(0, np.uint64)
    is_used = np.zeros(len(strings), np.bool_)
    is_used[numbers] = True
    used = np.flatnonzero(is_used)
    table = np.empty(len(strings), np.uint64)
    table[used] = keys_of([strings[number] for number in used.tolist()], tag)
    found: U8 = table[numbers]
    return found


def _parted(columns: Sequence[npt.NDArray[Any]], order: I8, ends: list[int]) -> list[Links]:
    data = [(column[order].tobytes(), column.itemsize) for column in columns]
    return [
        Links(*[column[width * start : width * end] for column, width in data])
        for start, end in pairwise(ends)
    ]
