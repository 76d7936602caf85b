"""Which notebooks are held between calls?

Those of the repositories asked about lately. What was not asked for a while, or does not fit beside
the others, is let go of and made anew when it is asked for again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from contracts.ids import RepoId
from services.query.notebook.book import NoteBook
from services.query.notebook.scope import Scope, registered, slug_of
from store import keys
from store.read.live import Projections, Snapshot
from store.rows import NoteRow

_decode = msgspec.msgpack.Decoder(NoteRow).decode
_IDLE_S = 600.0
_MOST_NOTES = 200_000  # in all books together
_REPO_KEY_BYTES = 8


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class NoteBooks:
    """Notebooks by scope. Safe to use from threads."""

    def __init__(self, projections: Projections, clock: Callable[[], int] = wall_ms) -> None:
        """`clock()` is the time in Unix milliseconds."""
        self._projections = projections
        self.clock = clock
        self._books: OrderedDict[tuple[RepoId, ...], tuple[NoteBook, float]] = OrderedDict()
        self._epoch = -1
        self._lock = threading.Lock()
        self._census = Census()
        self._counting = threading.Lock()

    @contextmanager
    def open(self, snapshot: Snapshot, scope: Scope) -> Iterator[NoteBook]:
        """The book of a scope as the snapshot has it, for the block."""
        book = self._book(scope)
        with book.lock:
            book.follow(snapshot, self.clock())
            yield book

    def is_quick(self, snapshot: Snapshot, scope: Scope, *, texts: bool = False) -> bool:
        """Whether opening the book, and its `texts`, takes no time worth a thread."""
        with self._lock:
            held = self._books.get(scope.repo_ids) if self._same_epoch() else None
        if held is None:
            return NoteBook(scope.repo_ids).is_near(snapshot)
        book = held[0]
        if not book.lock.acquire(blocking=False):
            return False
        try:
            return book.is_near(snapshot) and (book.is_indexed or not texts)
        finally:
            book.lock.release()

    def counts(self, snapshot: Snapshot) -> list[Counts]:
        """How many memory_* records each repository has, by slug."""
        with self._counting:
            return self._census.take(snapshot, self.clock(), self._projections.epoch)

    def sweep(self) -> None:
        """Let go of what nobody asked for lately."""
        with self._lock:
            self._let_go(time.monotonic())

    def close(self) -> None:
        with self._lock:
            self._books.clear()

    def _book(self, scope: Scope) -> NoteBook:
        now = time.monotonic()
        with self._lock:
            if not self._same_epoch():
                self._books.clear()
                self._epoch = self._projections.epoch
            held = self._books.pop(scope.repo_ids, None)
            book = NoteBook(scope.repo_ids) if held is None else held[0]
            self._books[scope.repo_ids] = (book, now)
            self._let_go(now)
            return book

    def _same_epoch(self) -> bool:
        return self._epoch == self._projections.epoch

    def _let_go(self, now: float) -> None:
        total = sum(len(book) for book, _ in self._books.values())
        for scope, (book, used) in list(self._books.items())[:-1]:
            if now - used > _IDLE_S or total > _MOST_NOTES:
                total -= len(book)
                del self._books[scope]
        for scope, (_, used) in list(self._books.items()):
            if now - used > _IDLE_S:
                del self._books[scope]


class Counts(Struct):
    """Records of one repository by status."""

    slug: str
    total: int = 0
    active: int = 0
    deprecated: int = 0
    superseded: int = 0

    def add(self, status: str) -> None:
        self.total += 1
        self.active += status == "active"
        self.deprecated += status == "deprecated"
        self.superseded += status == "superseded_by"


class _Tally(Struct):
    """What was counted in one namespace, and for how long it holds."""

    repo_id: str
    sequence: int
    until_ms: int  # when the next record expires; 0 for never
    statuses: dict[str, int]


class Census:
    """Counts every namespace once for each change of it."""

    def __init__(self) -> None:
        self._tallies: dict[bytes, _Tally] = {}
        self._epoch = -1

    def take(self, snapshot: Snapshot, now_ms: int, epoch: int) -> list[Counts]:
        """Counts by repository, ascending by slug; only those with a record."""
        if epoch != self._epoch:
            self._tallies.clear()
            self._epoch = epoch
        slugs = _slugs(snapshot)
        found: dict[str, Counts] = {}
        tallies: dict[bytes, _Tally] = {}
        for prefix in _namespaces(snapshot):
            tally = self._tally(snapshot, prefix, now_ms)
            tallies[prefix] = tally
            slug = slugs.get(tally.repo_id, tally.repo_id)
            for status, count in tally.statuses.items():
                counts = found.setdefault(slug, Counts(slug))
                for _ in range(count):
                    counts.add(status)
        self._tallies = tallies
        return [found[slug] for slug in sorted(found)]

    def _tally(self, snapshot: Snapshot, prefix: bytes, now_ms: int) -> _Tally:
        newest = next(snapshot.txn.items("note_order", prefix, reverse=True))[0]
        known = self._tallies.get(prefix)
        if (
            known is not None
            and known.sequence == keys.sequence_of(newest)
            and not (known.until_ms and known.until_ms <= now_ms)
        ):
            return known
        tally = _Tally("", keys.sequence_of(newest), 0, {})
        for _, raw in snapshot.txn.items("notes", prefix):
            note = _decode(raw).note
            tally.repo_id = note.repo_id
            if note.facts is None or not note.is_live(now_ms):
                continue
            tally.statuses[note.facts.status] = tally.statuses.get(note.facts.status, 0) + 1
            if note.expires_ms:
                tally.until_ms = min(tally.until_ms or note.expires_ms, note.expires_ms)
        return tally


def _namespaces(snapshot: Snapshot) -> Iterator[bytes]:
    """The repo key of every namespace that ever had a note."""
    start = b""
    while (first := next(snapshot.txn.keys("note_order", b"", start), None)) is not None:
        prefix = first[:_REPO_KEY_BYTES]
        yield prefix
        after = int.from_bytes(prefix, "big") + 1
        if after >> (8 * _REPO_KEY_BYTES):
            return
        start = after.to_bytes(_REPO_KEY_BYTES, "big")


def _slugs(snapshot: Snapshot) -> dict[str, str]:
    """Namespace -> slug of the repository it belongs to; shared names stay on their own."""
    slugs: dict[str, str] = {}
    owners: dict[str, int] = {}
    rows = registered(snapshot)
    for row in rows:
        for alias in set(row.aliases):
            owners[alias] = owners.get(alias, 0) + 1
    for row in rows:
        slug = slug_of(row)
        slugs[row.repo_id] = slug if owners.get(slug, 1) == 1 else row.repo_id
        slugs.update({alias: slug for alias in row.aliases if owners[alias] == 1})
    return slugs
