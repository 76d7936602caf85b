"""How does one manifest look to a question: the live tree, a commit, or a workspace over one?

A view is one segment, and for a workspace, or a live tree that has moved on since its segment was
made, further ones of the files that are different, which hide those of the first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from contracts.errors import NotFound
from contracts.extract import Body, decompressed, unpack_body
from contracts.filemap import SYMBOL_KINDS, FileFacts, key_of
from services.query.codemap.layers import (
    AT_ONCE,
    Layer,
    NotAtHand,
    Second,
    hiding,
    is_worn,
    layered,
)
from services.query.codemap.making import Order, made, ordered
from services.resolution.edges import FileEdges
from services.resolution.edges import decode as decode_edges
from store.map_segment import (
    Array,
    Segment,
    cache_file,
    columns_of,
    live_name,
    load,
    make,
    map_name,
)
from store.read.live import Projections, Snapshot
from store.read.maps import Maps
from store.rows import BaselineRow, RepoRow, WorkspaceRow

_RENEW_S = 30.0  # between two orders of a first segment
_KEPT = 6  # views at hand
LIVE = "live"


class Symbol(NamedTuple):
    """A symbol of a view."""

    layer: int
    file: int
    number: int  # in its segment


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

    def declarations(self, symbol: Symbol) -> list[Symbol]:
        """Every declaration of the thing that a symbol declares, in order of paths."""
        return self.keyed(int(self.layers[symbol.layer].segment.id_key[symbol.number]))

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

    def parent(self, symbol: Symbol) -> Symbol | None:
        """The symbol right around one."""
        segment = self.layers[symbol.layer].segment
        parent = int(segment.parent[symbol.number])
        if parent < 0:
            return None
        return Symbol(symbol.layer, symbol.file, int(segment.symbol_start[symbol.file]) + parent)

    def file(self, path: str) -> tuple[int, int] | None:
        """The layer and number of a file; None when there is none of that path."""
        for number, layer in enumerate(self.layers):
            file = layer.segment.file_number(path)
            if file is not None and layer.shows(file):
                return number, file
        return None

    def at(self, path: str, index: int) -> Symbol | None:
        """The symbol with an index in a file's extract."""
        found = self.file(path)
        if found is None or index < 0:
            return None
        number, file = found
        starts = self.layers[number].segment.symbol_start
        symbol = int(starts[file]) + index
        return Symbol(number, file, symbol) if symbol < int(starts[file + 1]) else None

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


Succeed = Callable[[MapView, MapView, list[str]], None]


class MapViews:
    """The views of every manifest, made when asked for and kept while they are used."""

    def __init__(self, projections: Projections, root: Path, cache: Path, succeed: Succeed) -> None:
        """`root` holds the projections; `succeed(older, newer, changed paths)` may hand on what was
        worked out."""
        self._projections, self._root, self._cache = projections, root, cache
        self.succeed = succeed
        self._segments: dict[str, Segment] = {}
        self._seconds: dict[str, Second] = {}
        self._views: dict[tuple[str, int], MapView] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._renewed: dict[str, float] = {}  # when a first segment was last ordered anew

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
            order = self._order(name, repo)
            first = self._segment(order, name, maps, build, newest)
            layers, second = layered(first, self._seconds.get(name), maps, newest, build=build)
            if second is None:
                self._seconds.pop(name, None)
            else:
                self._seconds[name] = second
            if is_worn(layers):
                self._renew(order, name)
            view = MapView(layers, Files(self._projections, repo.repo_id, None, None))
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
            paths = {file.path for file in maps.files(prefix)}
            if len(paths) > AT_ONCE and not build:
                raise NotAtHand
            over = list(columns_of(paths, lambda path: maps.blob("map_columns", prefix, path)))
            layers = [Layer(segment, hiding(segment, paths))]
            if over:
                layers.append(Layer(Segment(*make(over, row.edition)), None))
            files = Files(self._projections, repo.repo_id, base, row)
            return self._keep(name, row.edition, MapView(layers, files))

    @property
    def held(self) -> bool:
        """Whether there is anything to let go of."""
        return bool(self._segments)

    def release(self) -> None:
        """Let go of every view; what is in the cache's files is mapped again when asked for."""
        self._views.clear()
        self._segments.clear()
        self._seconds.clear()

    # -- segments ---------------------------------------------------------------------------

    def _order(self, name: str, repo: RepoRow, commit: str = "", edition: int = 0) -> Order:
        file = cache_file(self._cache, name)
        return Order(str(self._root), repo.repo_id, str(file), commit, edition)

    def _base(self, snapshot: Snapshot, repo: RepoRow, row: BaselineRow, build: bool) -> Segment:
        name = f"{map_name(repo)}/{row.commit}/{row.edition}"
        order = self._order(name, repo, row.commit, row.edition)
        return self._segment(order, name, Maps(snapshot.txn, repo.repo_id), build, row.edition)

    def _segment(self, order: Order, name: str, maps: Maps, build: bool, newest: int) -> Segment:
        """A manifest's segment: as it was used last, as the cache has it, or made."""
        known = self._segments.get(name) or load(Path(order.file))
        # One from after the snapshot: of projections that were made anew, or just now by the resolver.
        if known is None or known.upto > newest:
            if not build:
                raise NotAtHand
            known = made(order, maps)
        self._segments[name] = known
        return known

    def _renew(self, order: Order, name: str) -> None:
        """Have a first segment made beside the questions, which go on with what there is.

        The resolver may have left a newer one meanwhile.
        """
        now = time.monotonic()
        if now - self._renewed.get(name, -_RENEW_S) < _RENEW_S:
            return
        self._renewed[name] = now
        patient = msgspec.structs.replace(order, patient=True)

        def renew() -> None:
            before = self._segments.get(name)
            upto = 0 if before is None else before.upto
            found = load(Path(order.file))
            if found is None or found.upto <= upto:
                found = load(Path(order.file)) if ordered(patient) else None
            if found is not None and found.upto > upto:
                with self._turn(name, build=True):
                    self._segments[name] = found

        threading.Thread(target=renew, name="code map", daemon=True).start()

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
