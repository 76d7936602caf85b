"""What does ranking need of a repository, and how is it kept in step with the index?

A `Plane` is one state of a repository ready to be ranked: the lexical segments laid out, file facts,
vectors. It reads segments in place, so it pins its snapshot. It is made when a question comes and
the repository has changed since, out of the parts of the one before that are still good, and is let
go as soon as the projector tells of a newer state.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from msgspec import Struct

from services.kernel import logs
from services.kernel.instruments import counted
from services.query.fallback import INDEX_FAULTS
from services.query.ranking.corpus import Corpus
from services.query.ranking.dense import DensePlane, VectorTable
from services.query.ranking.facts import FileFacts
from services.query.ranking.history import FileHistory, History
from store.ann import AnnGenerations, Overlay
from store.read import history
from store.read.live import Projections, Snapshot
from store.rows import RepoRow

log = logs.get(__name__)


class Vectors(Struct, frozen=True):
    """The vectors of a repository up to an INDEX sequence."""

    space: str
    upto: int
    table: VectorTable


class Commits(Struct, frozen=True):
    """The earlier commits of a repository."""

    stamp: tuple[bytes, ...]
    history: History


class Plane:
    """One state of one repository."""

    def __init__(
        self,
        key: tuple[int, int],
        pinned: AbstractContextManager[Snapshot],
        snapshot: Snapshot,
        row: RepoRow,
        older: Plane | None,
        space: str,
    ) -> None:
        self.key = key  # (environment epoch, repository stamp)
        self.row = row
        self._pinned = pinned
        self.snapshot = snapshot
        self.corpus = Corpus(snapshot.segment_views(row.repo_id))
        known: dict[int, str] = {} if older is None else older.path_by_sequence
        self.path_by_sequence: dict[int, str] = {
            sequence: known.get(sequence) or snapshot.path(row.repo_id, sequence) or ""
            for sequence in map(int, self.corpus.file_sequence)
        }
        self.facts = FileFacts(self.corpus, list(self.path_by_sequence.values()))
        self.commits = _commits(snapshot, row, older)
        self._history: FileHistory | None = None
        self.vector_fault = ""  # why stored vectors cannot be read
        try:
            self.vectors = _vectors(snapshot, row, older, space)
        except INDEX_FAULTS as error:
            self.vectors = None
            self.vector_fault = repr(error)[:300]
        self._dense: DensePlane | None = None
        self._overlay: Overlay | None = None
        self._other_space = False  # the published generation is of another one
        self.closed = False

    @property
    def dense(self) -> DensePlane | None:
        """Vectors laid under the files; None when there are none."""
        if self._dense is None and self.vectors is not None and self.vectors.table.rows:
            self._dense = DensePlane(self.corpus, self.vectors.table)
        return self._dense

    @property
    def history(self) -> FileHistory | None:
        """Earlier commits laid under the files; None when there are none."""
        if self._history is None and self.commits is not None:
            self._history = FileHistory(self.commits.history, self.facts.paths)
        return self._history

    def overlay(self, generations: AnnGenerations) -> Overlay | None:
        """The published generation laid over the live vectors; None when there is none to use."""
        if self._overlay is None and self.vectors is not None:
            index = generations.get(self.snapshot.txn, self.row.repo_id).index
            if index is not None and index.space == self.vectors.space:
                self._overlay = Overlay(index, self.vectors.table)
            elif index is not None and not self._other_space:
                self._other_space = True
                counted.add("repocontext.ann.index.load", "discarded", "embedding_space_change")
        return self._overlay

    def close(self) -> None:
        """Unpin the snapshot. Vectors and paths stay for the plane that comes after this one."""
        if not self.closed:
            self.closed = True
            self._dense = self._overlay = self._history = None
            del self.corpus, self.facts
            self._pinned.__exit__(None, None, None)


class Planes:
    """The newest plane of each repository that was asked about. Safe to use from threads."""

    def __init__(self, projections: Projections, space: Callable[[], str]) -> None:
        """`space()` names the embedding space that questions are asked in, "" while it is unknown."""
        self._projections = projections
        self._space = space
        self._planes: dict[str, Plane] = {}
        self._users: dict[int, int] = {}  # id(plane) -> borrowers
        self._retired: dict[int, Plane] = {}  # to be closed by the last borrower
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, repo_id: str) -> Iterator[Plane | None]:
        """The plane of the present state, for the block; None for an unknown repository."""
        with self._lock:
            plane = self._newest(repo_id)
            if plane is not None:
                self._users[id(plane)] = self._users.get(id(plane), 0) + 1
        try:
            yield plane
        finally:
            if plane is not None:
                with self._lock:
                    self._give_back(plane)

    def chunks(self, repo_id: str) -> int:
        """Chunks of the newest plane; 0 when none was made yet."""
        plane = self._planes.get(repo_id)
        return 0 if plane is None or plane.closed else plane.corpus.chunk_count

    def _newest(self, repo_id: str) -> Plane | None:
        pinned = self._projections.read()
        snapshot = pinned.__enter__()
        row = snapshot.repo(repo_id)
        if row is None or row.state == "removed":
            pinned.__exit__(None, None, None)
            return None
        key = (self._projections.epoch, row.stamp)
        plane = self._planes.get(repo_id)
        if plane is not None and plane.key == key and not plane.closed:
            pinned.__exit__(None, None, None)
            return plane
        older = plane if plane is not None and plane.key[0] == key[0] else None
        fresh = Plane(key, pinned, snapshot, row, older, self._space())
        if plane is not None:
            self._retire(plane)
        self._planes[repo_id] = fresh
        return fresh

    def _give_back(self, plane: Plane) -> None:
        users = self._users.pop(id(plane)) - 1
        if users:
            self._users[id(plane)] = users
        elif self._retired.pop(id(plane), None) is not None:
            plane.close()

    def _retire(self, plane: Plane) -> None:
        if id(plane) in self._users:
            self._retired[id(plane)] = plane
        else:
            plane.close()

    def unpin(self) -> None:
        """Close what nobody is using: a pinned snapshot keeps the writer from reusing its pages."""
        with self._lock:
            for plane in self._planes.values():
                self._retire(plane)

    def close(self) -> None:
        self.unpin()
        self._planes.clear()


def _commits(snapshot: Snapshot, row: RepoRow, older: Plane | None) -> Commits | None:
    """The stored commits, as the older plane has them when they are the same; damaged ones count not."""
    stamp = history.stamp_of(snapshot.txn, row.repo_id)
    if not stamp:
        return None
    if older is not None and older.commits is not None and older.commits.stamp == stamp:
        return older.commits
    try:
        parts = history.commits_of(snapshot.txn, row.repo_id)
        return Commits(stamp, History(parts)) if parts else None
    except INDEX_FAULTS as error:
        log.warning("history_unreadable", repo=row.repo_id, error=repr(error)[:300])
        return None


def _vectors(snapshot: Snapshot, row: RepoRow, older: Plane | None, space: str) -> Vectors | None:
    """Vectors of the present state, by way of the changes since the older plane where possible."""
    position = snapshot.positions().index
    before = None if older is None else older.vectors
    same = older is not None and older.row.index_generation == row.index_generation
    if (
        before is None
        or not same
        or before.upto < row.changes_from
        or before.space != (space or before.space)
    ):
        return _loaded(snapshot, row, position, space)
    gone: set[int] = set()
    come: set[int] = set()
    for _, change in snapshot.changes(row.repo_id, before.upto):
        (come if change.op == "+" else gone).add(change.file_sequence)
    if not gone and not come:
        return Vectors(before.space, position, before.table)
    added = []
    for sequence in sorted(come - gone):
        stored = snapshot.vector(row.repo_id, sequence)
        if stored is not None and stored.space == before.space:
            added.append((sequence, stored.vectors))
    return Vectors(before.space, position, before.table.changed(added, gone))


def _loaded(snapshot: Snapshot, row: RepoRow, position: int, space: str) -> Vectors | None:
    """All vectors of one space: the one asked for or, where that is not known, the most common one."""
    rows = list(snapshot.vectors(row.repo_id))
    if not space and rows:
        space = Counter(stored.space for _, stored in rows).most_common(1)[0][0]
    chosen = [(sequence, stored) for sequence, stored in rows if stored.space == space]
    if not chosen:
        return None
    table = VectorTable(chosen[0][1].dimension)
    return Vectors(
        space, position, table.changed([(sequence, stored.vectors) for sequence, stored in chosen])
    )
