"""How does one manifest look to a question: the live tree, a commit, or a workspace over one?

A view is one segment, and for a workspace, or a live tree that has moved on since its segment was
made, a small second one of the files that are different, which hide those of the first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from contracts.errors import NotFound
from contracts.extract import Body, decompressed, unpack_body
from contracts.filemap import SYMBOL_KINDS, Columns, FileFacts, key_of
from services.resolution.edges import FileEdges
from services.resolution.edges import decode as decode_edges
from store import map_segment as segments
from store.map_segment import (
    Array,
    Segment,
    cache_file,
    columns_of,
    live_files,
    live_name,
    map_name,
)
from store.read.live import Projections, Snapshot
from store.read.maps import Maps
from store.rows import BaselineRow, RepoRow, WorkspaceRow

_OVERLAY_MOST = 1_000  # changed files; beyond, the live segment is made anew
_KEPT = 6  # views at hand
LIVE = "live"


class Symbol(NamedTuple):
    """A symbol of a view."""

    layer: int
    file: int
    number: int  # in its segment


class Layer(NamedTuple):
    """A segment and which of its files count."""

    segment: Segment
    hidden: Array | None  # bool[files]

    def shows(self, file: int) -> bool:
        return self.hidden is None or not self.hidden[file]


class Files:
    """What is stored of each file of a manifest, read as it is needed."""

    def __init__(
        self,
        projections: Projections,
        repo_id: str,
        base: BaselineRow | None,
        row: WorkspaceRow | None,
    ) -> None:
        self._projections, self._repo_id = projections, repo_id
        self._base, self._overlay = base, row if row is not None and row.edition else None

    def body(self, path: str) -> Body | None:
        with self._projections.read() as snapshot:
            if self._base is None:
                row = snapshot.file(self._repo_id, path)
                return None if row is None else snapshot.body(self._repo_id, row.sequence)
            blob = self._blob(snapshot, "map_bodies", path)
            return unpack_body(blob) if blob else None

    def edges(self, path: str) -> FileEdges | None:
        with self._projections.read() as snapshot:
            blob = self._blob(snapshot, "map_edges", path)
        return decode_edges(decompressed(blob)) if blob else None

    def facts(self, path: str) -> FileFacts | None:
        with self._projections.read() as snapshot:
            maps = Maps(snapshot.txn, self._repo_id)
            if self._base is None:
                row = snapshot.file(self._repo_id, path)
                if row is None:
                    return None
                return FileFacts(
                    row.path, row.digest, row.language, row.kind, row.quality, row.line_count,
                    row.token_count,
                )  # fmt: skip
            for prefix in self._prefixes(maps):
                found = maps.file(prefix, path)
                if found is not None:
                    return found if found.digest else None
        return None

    def all(self) -> Iterator[FileFacts]:
        """Every file of the manifest, in no order."""
        with self._projections.read() as snapshot:
            maps = Maps(snapshot.txn, self._repo_id)
            if self._base is None:
                for row in snapshot.files(self._repo_id):
                    if not row.skipped:
                        yield FileFacts(
                            row.path, row.digest, row.language, row.kind, row.quality,
                            row.line_count, row.token_count,
                        )  # fmt: skip
                return
            over: set[str] = set()
            for prefix in self._prefixes(maps):
                for file in maps.files(prefix):
                    if file.path not in over and file.digest:
                        yield file
                    over.add(file.path)

    def _blob(self, snapshot: Snapshot, table: str, path: str) -> bytes:
        maps = Maps(snapshot.txn, self._repo_id)
        if self._base is None:
            return maps.live_blob(table.removeprefix("map_"), path)
        for prefix in self._prefixes(maps):
            if maps.file(prefix, path) is not None:
                return maps.blob(table, prefix, path)
        return b""

    def _prefixes(self, maps: Maps) -> list[bytes]:
        found = [] if self._overlay is None else [maps.overlay_prefix(self._overlay)]
        return found if self._base is None else [*found, maps.base_prefix(self._base)]


class MapView:
    """One state of one manifest. Never changes."""

    def __init__(self, layers: list[Layer], files: Files) -> None:
        self.layers, self.files = layers, files
        self.memo: dict[str, object] = {}  # what tools worked out of this state

    # -- symbols ----------------------------------------------------------------------------

    def by_id(self, symbol_id: str) -> list[Symbol]:
        """Every declaration of an id, in order of paths."""
        found = self.keyed(key_of(symbol_id))
        return [symbol for symbol in found if self.id(symbol) == symbol_id]

    def by_stable(self, stable_id: str) -> list[Symbol]:
        try:
            key = int(stable_id.removeprefix("sym_"), 16)
        except ValueError:
            return []
        return self.keyed(key, stable=True) if key < 1 << 64 else []

    def keyed(self, key: int, *, stable: bool = False) -> list[Symbol]:
        found = []
        for number, layer in enumerate(self.layers):
            for symbol in layer.segment.symbols_keyed(key, stable=stable):
                file = layer.segment.file_of_symbol(symbol)
                if layer.shows(file):
                    found.append(Symbol(number, file, symbol))
        return sorted(found, key=self._place) if len(found) > 1 else found

    def named(self, name: str) -> list[Symbol]:
        """Symbols of code with this simple name."""
        wanted, found = name.encode(), []
        for number, layer in enumerate(self.layers):
            segment = layer.segment
            order, names = segment.name_order, segment.names
            low, high = 0, len(order)
            while low < high:
                middle = (low + high) // 2
                if names.raw(int(order[middle])) < wanted:
                    low = middle + 1
                else:
                    high = middle
            while low < len(order) and names.raw(int(order[low])) == wanted:
                symbol = int(order[low])
                file = segment.file_of_symbol(symbol)
                if layer.shows(file) and segment.kind[symbol]:
                    found.append(Symbol(number, file, symbol))
                low += 1
        return sorted(found, key=self._place)

    def _place(self, symbol: Symbol) -> tuple[str, int]:
        return self.path(symbol), symbol.number

    def id(self, symbol: Symbol) -> str:
        return self.layers[symbol.layer].segment.ids[symbol.number]

    def name(self, symbol: Symbol) -> str:
        return self.layers[symbol.layer].segment.names[symbol.number]

    def path(self, symbol: Symbol) -> str:
        return self.layers[symbol.layer].segment.paths[symbol.file]

    def kind(self, symbol: Symbol) -> str:
        return SYMBOL_KINDS[int(self.layers[symbol.layer].segment.kind[symbol.number])]

    def span(self, symbol: Symbol) -> tuple[int, int]:
        segment = self.layers[symbol.layer].segment
        return int(segment.start[symbol.number]), int(segment.end[symbol.number])

    def stable(self, symbol: Symbol) -> str:
        return f"sym_{int(self.layers[symbol.layer].segment.stable_key[symbol.number]):016x}"

    def index(self, symbol: Symbol) -> int:
        """Where the symbol is in its file's extract."""
        segment = self.layers[symbol.layer].segment
        return symbol.number - int(segment.symbol_start[symbol.file])

    def at(self, path: str, index: int) -> Symbol | None:
        """The symbol with an index in a file's extract."""
        for number, layer in enumerate(self.layers):
            file = layer.segment.file_number(path)
            if file is not None and layer.shows(file):
                symbol = int(layer.segment.symbol_start[file]) + index
                if index >= 0 and symbol < int(layer.segment.symbol_start[file + 1]):
                    return Symbol(number, file, symbol)
        return None

    # -- links ------------------------------------------------------------------------------

    def links_to(self, key: int) -> list[Links]:
        """Links with a key: of each layer those in files that count, in order of file and line."""
        found = []
        for number, layer in enumerate(self.layers):
            links = layer.segment.links_keyed(key)
            files = layer.segment.files_of_links(links)
            if layer.hidden is not None and len(links):
                shown = ~layer.hidden[files]
                links, files = links[shown], files[shown]
            if len(links):
                found.append(Links(number, layer.segment, links, files))
        return found

    def using(self, links: Links) -> list[Symbol | str]:
        """The symbol each link stands in; the file's path where it stands in none."""
        segment = links.segment
        sources = segment.link_source[links.numbers].tolist()
        starts = segment.symbol_start[links.files].tolist()
        return [
            Symbol(links.layer, file, start + source) if source >= 0 else segment.paths[file]
            for file, start, source in zip(links.files.tolist(), starts, sources, strict=True)
        ]

    def links_of(self, symbol: Symbol) -> Links:
        """What a symbol's own code leads to, in order of lines."""
        segment = self.layers[symbol.layer].segment
        held = segment.links_of(symbol.number)
        numbers = np.arange(held.start, held.stop)
        return Links(symbol.layer, segment, numbers, np.full(len(numbers), symbol.file))

    # -- files ------------------------------------------------------------------------------

    def files_shown(self) -> Iterator[tuple[Segment, int]]:
        for layer in self.layers:
            for file in range(layer.segment.file_count):
                if layer.shows(file):
                    yield layer.segment, file


class Links(NamedTuple):
    """Some links of one layer."""

    layer: int
    segment: Segment
    numbers: Array
    files: Array

    def where(self, chosen: Array) -> Links:
        return Links(self.layer, self.segment, self.numbers[chosen], self.files[chosen])

    def __bool__(self) -> bool:
        return len(self.numbers) > 0


def hiding(base: Segment, paths: set[str]) -> Array:
    hidden = np.zeros(base.file_count, bool)
    for path in paths:
        file = base.file_number(path)
        if file is not None:
            hidden[file] = True
    return hidden


Succeed = Callable[[MapView, MapView, list[str]], None]


class NotAtHand(Exception):
    """The view has to be made first, which is no work for the loop that answers everybody."""


class MapViews:
    """The views of every manifest, made when asked for and kept while they are used."""

    def __init__(self, projections: Projections, cache: Path, succeed: Succeed) -> None:
        """`succeed(older, newer, changed paths)` may hand on what was worked out."""
        self._projections, self._cache = projections, cache
        self.succeed = succeed
        self._segments: dict[str, Segment] = {}
        self._views: dict[tuple[str, int], MapView] = {}
        self._turns: dict[str, threading.Lock] = {}

    # Each of these raises NotAtHand where making the view would take long and `build` is False.

    def live(self, snapshot: Snapshot, repo: RepoRow, *, build: bool = True) -> MapView:
        """The working tree as it is indexed."""
        maps = Maps(snapshot.txn, repo.repo_id)
        newest = maps.newest()
        name = live_name(repo)
        with self._turn(name, build):
            known = self._views.get((name, newest))
            if known is not None:
                return known
            segment = self._segment(name, lambda: live_files(maps), newest, build)
            changed = [] if segment.upto == newest else maps.changed_since(segment.upto)
            if segment.upto > newest or len(changed) > _OVERLAY_MOST:
                if not build:
                    raise NotAtHand
                segment = self._made(name, lambda: live_files(maps), newest)
                changed = []
            files = Files(self._projections, repo.repo_id, None, None)
            layers = [Layer(segment, hiding(segment, set(changed)) if changed else None)]
            over = list(columns_of(changed, lambda path: maps.live_blob("columns", path)))
            if over:
                layers.append(Layer(Segment(*segments.make(over, newest)), None))
            view = MapView(layers, files)
            older = next((key for key in list(self._views) if key[0] == name), None)
            if older is not None and older[1] <= newest:
                self.succeed(self._views[older], view, maps.changed_since(older[1]))
            return self._keep(name, newest, view)

    def baseline(
        self, snapshot: Snapshot, repo: RepoRow, row: BaselineRow, *, build: bool = True
    ) -> MapView:
        """A commit."""
        name = f"{map_name(repo)}/{row.commit}"
        with self._turn(name, build):
            known = self._views.get((name, row.edition))
            if known is not None:
                return known
            segment = self._base(snapshot, repo, row, build)
            files = Files(self._projections, repo.repo_id, row, None)
            return self._keep(name, row.edition, MapView([Layer(segment, None)], files))

    def workspace(
        self,
        snapshot: Snapshot,
        repo: RepoRow,
        base: BaselineRow,
        row: WorkspaceRow,
        *,
        build: bool = True,
    ) -> MapView:
        """A commit with a workspace's overlay over it."""
        if not row.edition:
            return self.baseline(snapshot, repo, base, build=build)
        name = f"{map_name(repo)}/ws/{row.workspace_id}"
        with self._turn(name, build):
            known = self._views.get((name, row.edition))
            if known is not None:
                return known
            segment = self._base(snapshot, repo, base, build)
            maps = Maps(snapshot.txn, repo.repo_id)
            prefix = maps.overlay_prefix(row)
            paths = [file.path for file in maps.files(prefix)]
            over = list(columns_of(paths, lambda path: maps.blob("map_columns", prefix, path)))
            layers = [Layer(segment, hiding(segment, set(paths)))]
            if over:
                layers.append(Layer(Segment(*segments.make(over, row.edition)), None))
            files = Files(self._projections, repo.repo_id, base, row)
            return self._keep(name, row.edition, MapView(layers, files))

    def release(self) -> None:
        """Let go of every view; what is in the cache's files is mapped again when asked for."""
        self._views.clear()
        self._segments.clear()

    def _base(self, snapshot: Snapshot, repo: RepoRow, row: BaselineRow, build: bool) -> Segment:
        maps = Maps(snapshot.txn, repo.repo_id)
        prefix = maps.base_prefix(row)

        def files() -> Iterator[tuple[str, Columns]]:
            paths = sorted(file.path for file in maps.files(prefix))
            yield from columns_of(paths, lambda path: maps.blob("map_columns", prefix, path))

        return self._segment(
            f"{map_name(repo)}/{row.commit}/{row.edition}", files, row.edition, build
        )

    def _segment(
        self,
        name: str,
        files: Callable[[], Iterator[tuple[str, Columns]]],
        upto: int,
        build: bool,
    ) -> Segment:
        known = self._segments.get(name) or segments.load(self._file(name))
        if known is None:
            if not build:
                raise NotAtHand
            return self._made(name, files, upto)
        self._segments[name] = known
        return known

    @contextmanager
    def _turn(self, name: str, build: bool) -> Iterator[None]:
        """One at a time for each manifest; who may not wait is sent away."""
        turn = self._turns.setdefault(name, threading.Lock())
        if not turn.acquire(blocking=build):
            raise NotAtHand
        try:
            yield
        finally:
            turn.release()

    def _made(
        self, name: str, files: Callable[[], Iterator[tuple[str, Columns]]], upto: int
    ) -> Segment:
        arrays, header = segments.make(files(), upto)
        stored = segments.save(self._file(name), arrays, header)
        mapped = segments.load(self._file(name)) if stored else None
        made = self._segments[name] = mapped or Segment(arrays, header)
        return made

    def _file(self, name: str) -> Path:
        return cache_file(self._cache, name)

    def _keep(self, name: str, state: int, view: MapView) -> MapView:
        for key in [key for key in list(self._views) if key[0] == name]:
            self._views.pop(key, None)
        while len(self._views) >= _KEPT:
            self._views.pop(next(iter(list(self._views))), None)
        self._views[name, state] = view
        return view


def missing(symbol: str) -> NotFound:
    """The refusal of a symbol that a view does not have."""
    return NotFound(
        f"there is no symbol {symbol[:200]!r} in this index",
        hint="find its id with symbols_search",
        symbol_id=symbol[:200],
    )
