"""How is what live files mean kept in step with what they hold?

`LiveMap` knows from which version of each file its edges were made, as stored. Whatever is older
than its file is pending. The order in which results are stored makes a kill at any moment harmless:
first the files that only depend on a change, then the changed ones, then the drops. Until the last
of them is stored the change is still pending, and is worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from contracts.errors import Unavailable
from contracts.extract import EXTRACTOR_VERSION, Body, compressed
from contracts.filemap import COLUMNS_VERSION, pack_columns
from services.resolution import edges as edge_format
from services.resolution.resolver import Resolved, Resolver
from services.resolution.summary import SUMMARY_VERSION, decode
from services.resolver import recall
from services.resolver.columns import ResolvedFile, columns_of_each
from services.resolver.recall import RecalledIndex
from store import keys, map_segment
from store.read.live import Projections, Snapshot
from store.read.maps import Maps
from store.rows import FileRow

VERSION = f"{EXTRACTOR_VERSION}.{SUMMARY_VERSION}.{COLUMNS_VERSION}"
_RECALL_FILES = 500  # with fewer, all summaries are read at once
_NEWER_MOST = 400
_NO_BODY = Body((), (), None, (), ())


class Pending(Struct, frozen=True):
    """What is to be resolved."""

    changed: tuple[FileRow, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


class Result(Struct, frozen=True):
    """One file as it is to be stored."""

    path: str
    file_sequence: int
    edges: bytes
    columns: bytes
    summary: bytes


class LiveMap:
    """One repository's live edges. Not for several threads at once."""

    def __init__(self, projections: Projections, repo_id: str, cache: Path) -> None:
        self._projections, self.repo_id, self._cache = projections, repo_id, cache
        self.generation = 0
        self.known: dict[
            str, int
        ] = {}  # path -> file sequence that its stored edges were made from
        self._rows: dict[str, FileRow] = {}  # live files that take part, as last looked at
        self._paths: dict[int, str] = {}
        self._seen = 0  # file sequences up to this were looked at
        self._position = 0  # INDEX position of the last look
        self._epoch = -1
        self._resolver: Resolver | None = None
        self._recalled: RecalledIndex | None = None  # what the resolver came back from

    @property
    def rows(self) -> dict[str, FileRow]:
        """The live files as last looked at; those without an extract left out."""
        return self._rows

    def release(self) -> None:
        """Let go of the resolver; the next change loads it again from the summaries."""
        self._resolver = self._recalled = None

    def look(self) -> Pending:
        """What is pending now."""
        with self._projections.read() as snapshot:
            row = snapshot.repo(self.repo_id)
            if row is None or row.state != "registered":
                self._forget(0)
                return Pending((), ())
            position = snapshot.positions().index
            same = (
                row.index_generation == self.generation and self._epoch == self._projections.epoch
            )
            if same and row.changes_from <= self._position:
                self._follow(snapshot)
            else:
                self._forget(row.index_generation)
                self._scan(snapshot)
            self._position = position
        changed = [row for path, row in self._rows.items() if self.known.get(path) != row.sequence]
        gone = [path for path in self.known if path not in self._rows]
        return Pending(tuple(changed), tuple(gone))

    def _forget(self, generation: int) -> None:
        self.generation, self._epoch = generation, self._projections.epoch
        self.known, self._rows, self._paths, self._seen = {}, {}, {}, 0
        self.release()

    def _scan(self, snapshot: Snapshot) -> None:
        for row in snapshot.files(self.repo_id):
            self._take(row.path, row)
        maps = Maps(snapshot.txn, self.repo_id)
        self.known = {
            row.path: row.file_sequence if row.version == VERSION else -1 for row in maps.resolved()
        }

    def _follow(self, snapshot: Snapshot) -> None:
        key = keys.repo(self.repo_id)
        touched = {
            self._paths[change.file_sequence]
            for _, change in snapshot.changes(self.repo_id, self._position)
            if change.op == "-" and change.file_sequence in self._paths
        }
        start = keys.sequence(key, self._seen + 1)
        touched.update(bytes(raw).decode() for _, raw in snapshot.txn.items("paths", key, start))
        for path in touched:
            self._take(path, snapshot.file(self.repo_id, path))

    def _take(self, path: str, row: FileRow | None) -> None:
        before = self._rows.pop(path, None)
        if before is not None:
            self._paths.pop(before.sequence, None)
        if row is None:
            return
        self._seen = max(self._seen, row.sequence)
        self._paths[row.sequence] = path
        if not row.skipped:
            self._rows[path] = row

    # -- resolving --------------------------------------------------------------------------

    def resolver(self) -> Resolver:
        """The resolver as the stored edges know the files; comes back when it was let go."""
        if self._recalled is not None and self._recalled.broken:
            self.release()
        if self._resolver is None:
            self._resolver = self._come_back() or self._loaded()
        return self._resolver

    def check(self) -> None:
        """Raise Unavailable when what the resolver reads has moved on: what it yields is void."""
        if self._recalled is not None and self._recalled.broken:
            raise Unavailable("the stored summaries have moved on", hint="it is tried again")

    def _come_back(self) -> Resolver | None:
        """A resolver that reads what it is asked for; None where reading all is as well."""
        if len(self.known) < _RECALL_FILES:
            return None
        with self._projections.read() as snapshot:
            repo = snapshot.repo(self.repo_id)
            if repo is None:
                return None
            maps = Maps(snapshot.txn, self.repo_id)
            file = map_segment.cache_file(self._cache, map_segment.recall_name(repo))
            index = recall.recalled(self._projections, self.repo_id, file)
            newer = None if index is None else self._newer(maps, index)
            if newer is None:
                recall.make(maps, file)
                index = recall.recalled(self._projections, self.repo_id, file)
                newer = None if index is None else self._newer(maps, index)
            if index is None or newer is None:
                return None
            for path in newer:
                blob = maps.summary(path)
                summary = None if blob is None else decode(blob)
                if blob is not None and summary is None:
                    self.known[path] = -1
                index.take(path, summary)
        found = Resolver(self.body)
        found._index = self._recalled = index  # noqa: SLF001 - the same files, read later
        return found

    @staticmethod
    def _newer(maps: Maps, index: RecalledIndex) -> list[str] | None:
        """Files whose edges came after the index was kept; None when it is too old."""
        newest = maps.newest()
        newer = maps.changed_since(index.upto) if index.upto <= newest else []
        return newer if index.upto <= newest and len(newer) <= _NEWER_MOST else None

    def _loaded(self) -> Resolver:
        found = Resolver(self.body)
        if self.known:
            with self._projections.read() as snapshot:
                maps = Maps(snapshot.txn, self.repo_id)
                stored = ((path, maps.summary(path)) for path in self.known)
                summaries = {path: summary for path, summary in stored if summary is not None}
            for path in found.load(summaries):
                self.known[path] = -1
        return found

    def body(self, path: str) -> Body:
        """The body of a live file; empty when it is being replaced, which makes it pending again."""
        row = self._rows.get(path)
        if row is None:
            return _NO_BODY
        with self._projections.read() as snapshot:
            return snapshot.body(self.repo_id, row.sequence) or _NO_BODY

    def resolved(self, pending: Pending) -> Iterator[Result]:
        """Resolve what is pending and whatever depends on it. Read to its end or let go."""
        resolver = self.resolver()
        changes: list[tuple[str, str, Body | None]] = [(path, "", None) for path in pending.gone]
        changes += [(row.path, row.language, self.body(row.path)) for row in pending.changed]
        yield from made(self._checked(resolver.apply(changes)), self._rows, self.body)

    def _checked(self, resolved: Iterable[Resolved]) -> Iterator[Resolved]:
        for one in resolved:
            self.check()
            if one[0] in self._rows:
                yield one


def made(
    resolved: Iterable[Resolved], rows: Mapping[str, FileRow], read: Callable[[str], Body]
) -> Iterator[Result]:
    """Bring what was resolved of each file into the form that is stored; `read` gives its body."""
    files = (
        ResolvedFile(path, rows[path].language, rows[path].quality, read(path), edges, summary)
        for path, edges, summary in resolved
    )
    for file, columns in columns_of_each(files):
        yield Result(
            file.path,
            rows[file.path].sequence,
            compressed(edge_format.encode(file.edges)),
            pack_columns(columns),
            compressed(file.summary),
        )


def parted(results: Iterable[Result], changed: frozenset[str]) -> tuple[list[Result], list[Result]]:
    """Results of files that only depend on a change, and of the changed files."""
    dependent: list[Result] = []
    own: list[Result] = []
    for result in results:
        (own if result.path in changed else dependent).append(result)
    return dependent, own
