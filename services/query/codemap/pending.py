"""How many live files are not resolved as they are? Kept in step by what changed since the last look."""

from __future__ import annotations

import threading

from services.query.codemap.layers import NotAtHand
from store import keys
from store.read.live import Snapshot
from store.read.maps import Maps
from store.rows import RepoRow


class Unresolved:
    """One repository's live files whose references are still to come."""

    def __init__(self) -> None:
        self._state = (-1, -1)  # epoch of the environment and index generation
        self._position = 0  # INDEX position of the last look
        self._seen = 0  # file sequences up to this were looked at
        self._edges = 0  # changes of edges up to this were looked at
        self._paths: dict[int, str] = {}  # live files by their sequence
        self._pending: set[str] = set()
        self._turn = threading.Lock()

    def count(self, snapshot: Snapshot, repo: RepoRow, epoch: int, *, build: bool = True) -> int:
        """How many there are in this snapshot.

        Raises NotAtHand where every file has to be looked at and `build` is False.
        """
        if not self._turn.acquire(blocking=build):
            raise NotAtHand
        try:
            self._look(snapshot, repo, epoch, build)
        finally:
            self._turn.release()
        return len(self._pending)

    def _look(self, snapshot: Snapshot, repo: RepoRow, epoch: int, build: bool) -> None:
        position = snapshot.positions().index
        maps = Maps(snapshot.txn, repo.repo_id)
        state = (epoch, repo.index_generation)
        if state != self._state or repo.changes_from > self._position:
            if not build:
                raise NotAtHand
            self._scan(snapshot, repo.repo_id, maps)
            self._state = state
        elif position < self._position:
            return  # somebody has looked later
        else:
            self._follow(snapshot, repo.repo_id, maps)
        self._position = position
        self._edges = maps.newest()

    def _scan(self, snapshot: Snapshot, repo_id: str, maps: Maps) -> None:
        resolved = {row.path: row.file_sequence for row in maps.resolved()}
        self._paths, self._pending, self._seen = {}, set(), 0
        for row in snapshot.files(repo_id):
            self._paths[row.sequence] = row.path
            self._seen = max(self._seen, row.sequence)
            if not row.skipped and resolved.pop(row.path, 0) != row.sequence:
                self._pending.add(row.path)
        self._pending.update(resolved)  # gone, and not dropped yet

    def _follow(self, snapshot: Snapshot, repo_id: str, maps: Maps) -> None:
        key = keys.repo(repo_id)
        touched = set(maps.changed_since(self._edges))
        for _, change in snapshot.changes(repo_id, self._position):
            gone = self._paths.pop(change.file_sequence, None) if change.op == "-" else None
            if gone is not None:
                touched.add(gone)
        start = keys.sequence(key, self._seen + 1)
        for found, raw in snapshot.txn.items("paths", key, start):
            self._seen = keys.sequence_of(found)
            path = self._paths[self._seen] = bytes(raw).decode()
            touched.add(path)
        for path in touched:
            row, resolved = snapshot.file(repo_id, path), maps.resolved_file(path)
            wanted = 0 if row is None or row.skipped else row.sequence
            if wanted == (0 if resolved is None else resolved.file_sequence):
                self._pending.discard(path)
            else:
                self._pending.add(path)
