"""What is a manifest's index? Columns of all its files, one behind the other, and a few orders of them.

A segment never changes. It is made once of the files' columns, written to one file of the cache, and
mapped from there: opening it again takes a millisecond, and processes share its pages.

Symbols are numbered through all files; the symbol of file f with index i has number
`symbol_start[f] + i`. Links are in order of file, using symbol and line.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import xxhash
from msgspec import Struct
from numpy.typing import NDArray

from contracts.extract import Fact
from contracts.filemap import Columns, split, unpack_columns, unpack_facts
from store.read.maps import Maps
from store.rows import RepoRow

FORMAT = 3
_LAST = b"\xff"  # no UTF-8 text has it, so it stands behind all that begin alike
_LONGEST = 200  # bytes of an id that count
_LOWER = np.frombuffer(bytes(range(256)).lower(), "u1")
_ALIGN = 64
Array = NDArray[Any]

_SYMBOL_COLUMNS = {
    "id_key": "<u8", "stable_key": "<u8", "kind": "u1", "start": "<u4", "end": "<u4",
    "parent": "<i4",
}  # fmt: skip
_LINK_COLUMNS = {
    "link_key": "<u8", "link_tag": "u1", "link_kind": "u1", "link_confidence": "u1",
    "link_source": "<i4", "link_line": "<u4", "link_row": "<u4",
}  # fmt: skip


class Texts:
    """Many texts in one array of bytes; as a sequence, without a copy of all."""

    def __init__(self, data: Array, offsets: Array) -> None:
        self.data, self._offsets = data, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> str:
        start, end = int(self._offsets[number]), int(self._offsets[number + 1])
        return self.data[start : end - 1].tobytes().decode("utf-8", "replace")

    def raw(self, number: int) -> bytes:
        start, end = int(self._offsets[number]), int(self._offsets[number + 1])
        return self.data[start : end - 1].tobytes()

    @property
    def lengths(self) -> Array:
        """Bytes of each text."""
        found: Array = np.diff(self._offsets.astype(np.int64)) - 1
        return found

    def all(self) -> list[bytes]:
        """Every text; faster than one by one."""
        data, ends = self.data.tobytes(), self._offsets.tolist()
        return [data[start : end - 1] for start, end in itertools.pairwise(ends)]

    def beginning(self, text: bytes) -> tuple[int, int]:
        """The first of those that begin so, and the first behind; of texts that are in order."""
        return self.find(text), self.find(text + _LAST)

    def find(self, text: bytes) -> int:
        """Where `text` stands, or would stand, in texts that are in order."""
        return bisect.bisect_left(range(len(self)), text, key=self.raw)


class Segment:
    """One manifest's index, or that of the files which changed since."""

    def __init__(self, arrays: dict[str, Array], header: dict[str, Any]) -> None:
        self.upto: int = header["upto"]
        get = arrays.__getitem__
        self.paths = Texts(get("paths"), get("paths_at"))
        self.languages = Texts(get("languages"), get("languages_at"))
        self.facts = Texts(get("facts"), get("facts_at"))
        self._ids_at = get("ids_at")
        self.ids = Texts(get("ids"), self._ids_at)
        self.names = Texts(get("names"), get("names_at"))
        self.signatures = Texts(get("signatures"), get("signatures_at"))
        self.docs = Texts(get("docs"), get("docs_at"))
        self.terms = Texts(get("terms"), get("terms_at"))
        self.quality, self.references = get("quality"), get("references")
        self.symbol_start, self.link_start = get("symbol_start"), get("link_start")
        self.id_key, self.id_order = get("id_key"), get("id_order")
        self.stable_key, self.stable_order = get("stable_key"), get("stable_order")
        self.symbols_per_file = np.diff(get("symbol_start").astype(np.int64)).astype(np.int64)
        self.kind, self.start, self.end, self.parent = (
            get("kind"), get("start"), get("end"), get("parent")
        )  # fmt: skip
        self.name_order = get("name_order")
        self.posting_start = get("posting_start")
        self.posting_symbol, self.posting_weight = get("posting_symbol"), get("posting_weight")
        self.link_key, self.link_tag, self.link_kind = (
            get("link_key"), get("link_tag"), get("link_kind")
        )  # fmt: skip
        self.link_confidence, self.link_source = get("link_confidence"), get("link_source")
        self.link_line, self.link_row = get("link_line"), get("link_row")
        self.link_order = get("link_order")
        self.repeated = get("repeated").view(bool)  # symbols whose file declares the same before
        self.term_letters, self.id_length = get("term_letters"), get("id_length")

    @property
    def file_count(self) -> int:
        return len(self.paths)

    @property
    def symbol_count(self) -> int:
        return len(self.kind)

    def file_number(self, path: str) -> int | None:
        wanted = path.encode()
        at = self.paths.find(wanted)
        return at if at < self.file_count and self.paths.raw(at) == wanted else None

    def file_of_symbol(self, symbol: int) -> int:
        return int(np.searchsorted(self.symbol_start, symbol, "right")) - 1

    def symbols_keyed(self, key: int, *, stable: bool = False) -> list[int]:
        """Symbols with this id key, or stable key, in order of their numbers."""
        keys, order = (
            (self.stable_key, self.stable_order) if stable else (self.id_key, self.id_order)
        )
        return sorted(_equal(keys, order, key).tolist())

    def links_keyed(self, key: int) -> Array:
        """Links with this key, in order."""
        return np.sort(_equal(self.link_key, self.link_order, key))

    def files_of_links(self, links: Array) -> Array:
        found: Array = np.searchsorted(self.link_start, links, "right") - 1
        return found

    def links_of(self, symbol: int) -> range:
        """Links that a symbol's own code holds."""
        file = self.file_of_symbol(symbol)
        first, last = int(self.link_start[file]), int(self.link_start[file + 1])
        sources = self.link_source[first:last]
        index = symbol - int(self.symbol_start[file])
        start = first + int(np.searchsorted(sources, index, "left"))
        return range(start, first + int(np.searchsorted(sources, index, "right")))

    def ids_begin(self, symbols: Array, text: bytes) -> Array:
        """Which symbols' full names begin so, upper or lower case; `text` is ASCII in lower case."""
        chosen = np.arange(len(symbols))
        for place, byte in enumerate(text, len("T:")):
            at = self._ids_at[symbols[chosen]].astype(np.int64) + place
            # A name that ends before gives its line feed, and is out of it then.
            chosen = chosen[_LOWER[self.ids.data[np.minimum(at, len(self.ids.data) - 1)]] == byte]
        found = np.zeros(len(symbols), bool)
        found[chosen] = True
        return found

    def facts_of(self, file: int) -> tuple[Fact, ...]:
        return unpack_facts(self.facts.raw(file))


def _equal(keys: Array, order: Array, key: int) -> Array:
    """Members of `order`, which sorts `keys`, whose key is this one."""
    at, values, places = range(len(order)), keys.data, order.data

    def value(place: int) -> int:
        found: int = values[places[place]]  # four times as fast as out of the arrays
        return found

    low = bisect.bisect_left(at, key, key=value)
    return order[low : bisect.bisect_right(at, key, lo=low, key=value)]


# -- making ---------------------------------------------------------------------------------


class _Joined:
    """Texts that arrive as columns, and end up as one array."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def add(self, column: bytes, count: int) -> None:
        if count:
            self._parts.append(column)

    def arrays(self) -> tuple[Array, Array]:
        data = np.frombuffer(b"\n".join(self._parts) + b"\n" if self._parts else b"", "u1")
        ends = np.flatnonzero(data == 10).astype("<u8") + 1
        return data, np.concatenate((np.zeros(1, "<u8"), ends))


def make(
    files: Iterable[tuple[str, Columns]], upto: int
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays and header of a segment; files in order of their paths."""
    taken = list(files)
    every = [columns for _, columns in taken]
    counts = np.array([len(columns.kind) for columns in every], np.int64)
    links = np.array([len(columns.link_tag) for columns in every], np.int64)
    arrays: dict[str, Array] = {
        "symbol_start": _starts(counts),
        "link_start": _starts(links),
        "quality": np.array([columns.quality for columns in every], "u1"),
        "references": np.array([columns.references for columns in every], "<u4"),
    }
    for column, kind in {**_SYMBOL_COLUMNS, **_LINK_COLUMNS}.items():
        joined_bytes = b"".join(getattr(columns, column) for columns in every)
        arrays[column] = np.frombuffer(joined_bytes, kind)
    for text in ("ids", "names", "signatures", "docs"):
        joined = _Joined()
        for columns, count in zip(every, counts, strict=True):
            joined.add(getattr(columns, text), int(count))
        arrays[text], arrays[f"{text}_at"] = joined.arrays()
    lengths = np.diff(arrays["ids_at"].astype(np.int64))
    arrays["id_length"] = np.minimum(lengths, _LONGEST).astype("u1")
    arrays["paths"], arrays["paths_at"] = texts([path.encode() for path, _ in taken])
    arrays["languages"], arrays["languages_at"] = texts([c.language.encode() for c in every])
    arrays["facts"], arrays["facts_at"] = texts([columns.facts for columns in every])
    arrays["id_order"] = np.argsort(arrays["id_key"], kind="stable").astype("<u4")
    arrays["stable_order"] = np.argsort(arrays["stable_key"], kind="stable").astype("<u4")
    arrays["link_order"] = np.argsort(arrays["link_key"], kind="stable").astype("<u4")
    names = arrays["names"].tobytes().split(b"\n")
    by_name = sorted(range(len(arrays["names_at"]) - 1), key=names.__getitem__)
    arrays["name_order"] = np.array(by_name, "<u4")
    arrays["repeated"] = _repeated(arrays, counts)
    _put_postings(arrays, every)
    return arrays, {"format": FORMAT, "upto": upto}


def _repeated(arrays: dict[str, Array], counts: Array) -> Array:
    """Mark symbols whose file declares the same id in the same kind before."""
    file = np.repeat(np.arange(len(counts)), counts)
    columns = (file, arrays["id_key"], arrays["kind"])
    order = np.lexsort(columns[::-1])
    same = np.ones(len(file), bool)
    same[:1] = False
    for column in columns:
        ordered = column[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    found = np.zeros(len(file), "u1")
    found[order] = same  # the sort is stable, so the first one is not marked
    return found


def letters(data: Array, starts: Array) -> Array:
    """Which letters each text has, as bits: one edit of a text changes two of them at most."""
    known = (data < 128) & (data != 10)
    bits = np.where(known, np.uint64(1) << (data & 63).astype(np.uint64), np.uint64(0))
    found: Array = np.bitwise_or.reduceat(bits, starts) if len(starts) else bits[:0]
    return found


def _starts(counts: Array) -> Array:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))).astype("<u4")


def texts(parts: Sequence[bytes]) -> tuple[Array, Array]:
    """Texts of any content; each with one byte behind it."""
    data = b"".join(part + b"\n" for part in parts)
    lengths = np.array([len(part) + 1 for part in parts], np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))).astype("<u8")
    return np.frombuffer(data, "u1"), offsets


def _put_postings(arrays: dict[str, Array], every: Sequence[Columns]) -> None:
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    terms: list[Array] = []
    symbols: list[Array] = []
    starts: list[int] = arrays["symbol_start"].tolist()
    for columns, start in zip(every, starts, strict=False):
        if not columns.posting_term:
            continue
        words = split(columns.terms)
        table = np.fromiter(map(numbers.__getitem__, words), "<u4", len(words))
        terms.append(table[np.frombuffer(columns.posting_term, "<u4")])
        symbols.append(np.frombuffer(columns.posting_symbol, "<u4") + np.uint32(start))
    ordered = sorted(numbers, key=str.encode)
    rank = np.zeros(len(ordered), "<u4")
    for position, term in enumerate(ordered):
        rank[numbers[term]] = position
    every_term: Array = rank[np.concatenate(terms)] if terms else np.zeros(0, "<u4")
    order = np.argsort(every_term, kind="stable")
    weight = np.frombuffer(b"".join(columns.posting_weight for columns in every), "u1")
    arrays["terms"], arrays["terms_at"] = texts([text.encode() for text in ordered])
    arrays["term_letters"] = letters(arrays["terms"], arrays["terms_at"][:-1].astype(np.int64))
    arrays["posting_start"] = _starts(np.bincount(every_term, minlength=len(ordered)))
    arrays["posting_symbol"] = (np.concatenate(symbols) if symbols else every_term)[order]
    arrays["posting_weight"] = weight[order]


def columns_of(
    paths: Iterable[str], blob_of: Callable[[str], bytes]
) -> Iterator[tuple[str, Columns]]:
    """Path and columns of each file that has some, in order of paths."""
    for path in sorted(paths):
        blob = blob_of(path)
        if blob:
            yield path, unpack_columns(blob)


def live_files(maps: Maps) -> Iterator[tuple[str, Columns]]:
    """The files of the live manifest."""
    paths = [row.path for row in maps.resolved()]
    yield from columns_of(paths, lambda path: maps.live_blob("columns", path))


def base_files(maps: Maps, prefix: bytes) -> Iterator[tuple[str, Columns]]:
    """The files of a baseline."""
    paths = [file.path for file in maps.files(prefix)]
    yield from columns_of(paths, lambda path: maps.blob("map_columns", prefix, path))


# -- keeping --------------------------------------------------------------------------------


class _Layout(Struct, frozen=True):
    header: dict[str, Any]
    arrays: dict[str, tuple[str, int, int]]  # name -> dtype, offset, items


def map_name(repo: RepoRow) -> str:
    """What the names of a repository's segments start with; another one after a reset."""
    return f"{repo.repo_id}/{repo.index_generation}/{repo.registered_ms}"


def live_name(repo: RepoRow) -> str:
    return f"{map_name(repo)}/live"


def recall_name(repo: RepoRow) -> str:
    """What the resolver comes back from after a rest."""
    return f"{map_name(repo)}/recall"


def cache_file(folder: Path, name: str) -> Path:
    """Where a segment of that name is kept."""
    return folder / f"{xxhash.xxh3_128_hexdigest(name.encode())}.seg"


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Layout).decode


def save(path: Path, arrays: dict[str, Array], header: dict[str, Any]) -> bool:
    """Write a segment beside others; False where the cache cannot be written."""
    table: dict[str, tuple[str, int, int]] = {}
    offset = 0
    for name, array in arrays.items():
        table[name] = (array.dtype.str, offset, len(array))
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    head = _encode(_Layout(header, table))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            file.write(bytes(-file.tell() % _ALIGN))
            for array in arrays.values():
                file.write(array.tobytes())
                file.write(bytes(-array.nbytes % _ALIGN))
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        return False
    return True


def load(path: Path) -> Segment | None:
    """Map a segment; None when there is none of this format."""
    found = opened(path, FORMAT)
    return None if found is None else Segment(*found)


def opened(path: Path, format_: object) -> tuple[dict[str, Array], dict[str, Any]] | None:
    """Map the arrays of a file that `save` wrote; None when there is none of this format."""
    try:
        data = np.memmap(path, np.uint8, "r")
        length = int.from_bytes(data[:8].tobytes(), "little")
        layout = _decode(data[8 : 8 + length].tobytes())
        if layout.header.get("format") != format_:
            return None
        start = -(-(8 + length) // _ALIGN) * _ALIGN
        return dict(_mapped(data, layout.arrays, start)), layout.header
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _mapped(
    data: Array, table: dict[str, tuple[str, int, int]], start: int
) -> Iterator[tuple[str, Array]]:
    for name, (kind, offset, items) in table.items():
        size = np.dtype(kind).itemsize * items
        piece = data[start + offset : start + offset + size]
        if len(piece) != size:
            raise ValueError("the file is cut off")
        yield name, np.frombuffer(piece, kind) if size else np.zeros(0, kind)
