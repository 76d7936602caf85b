"""Which notes does a repository have at this moment?

A `NoteBook` holds the decoded notes of one scope and follows the projection by what is new in it.
Deleted notes are not in it, and expired ones are gone the moment their time is over, whatever the
projection still holds.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from contracts.ids import RepoId
from contracts.notes import Note
from services.query.notebook.marks import Marks
from services.query.notebook.meanings import Meanings
from services.query.notebook.shelf import Shelf
from services.query.notebook.words import tokens
from services.source.words import tokenise
from store import keys
from store.read.live import Snapshot
from store.rows import NoteRow

_decode = msgspec.msgpack.Decoder(NoteRow).decode
NEAR = 64  # facts that are read at once without being noticed


class Entry(Struct):
    """One live note."""

    note: Note
    sequence: int  # LOG sequence of its newest fact
    text_digest: str


def _record_words(note: Note) -> list[str]:
    facts = note.facts
    if facts is None:
        return []
    return [*tokens(note.body), *tokens(facts.tags_text), *tokens(facts.context)]


def _search_words(note: Note) -> list[str]:
    context = note.facts.context if note.facts is not None else ""
    # The title once more than the rest: it says what the note is about.
    parts = (note.topic, note.id, note.title, note.title, " ".join(note.tags), note.body, context)
    return tokenise("\n".join(parts))


class NoteBook:
    """The live notes of one scope. Hold `lock` while asking."""

    def __init__(self, repo_ids: tuple[RepoId, ...]) -> None:
        self._prefixes = {repo_id: keys.repo(repo_id) for repo_id in repo_ids}
        self._seen = dict.fromkeys(repo_ids, 0)
        self._generation = dict.fromkeys(repo_ids, 0)
        self._entries: dict[bytes, Entry] = {}
        self._by_number: dict[int, bytes] = {}
        self._expiries: list[tuple[int, int, bytes]] = []
        self._pages: list[Note] | None = None
        self._texts: Shelf | None = None
        self.records = Shelf(_record_words)  # of the memory_* tools
        self.meanings = Meanings()
        self.marks = Marks()
        self.revision = 0  # rises with every change
        self.lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._entries)

    # -- following ---------------------------------------------------------------------------

    def is_near(self, snapshot: Snapshot) -> bool:
        """Whether there is little to catch up with."""
        new = 0
        for repo_id, prefix in self._prefixes.items():
            after = keys.sequence(prefix, self._seen[repo_id] + 1)
            for _ in snapshot.txn.keys("note_order", prefix, after):
                new += 1
                if new > NEAR:
                    return False
        return True

    def follow(self, snapshot: Snapshot, now_ms: int) -> None:
        """Take over what is new in the projection, and drop what has expired."""
        for repo_id, prefix in self._prefixes.items():
            row = snapshot.repo(repo_id)
            generation = 0 if row is None else row.memory_generation
            if generation != self._generation[repo_id]:
                self._forget(prefix)
                self._generation[repo_id], self._seen[repo_id] = generation, 0
            after = keys.sequence(prefix, self._seen[repo_id] + 1)
            for order, key in snapshot.txn.items("note_order", prefix, after):
                self._seen[repo_id] = keys.sequence_of(order)
                raw = snapshot.txn.get("notes", bytes(key))
                if raw is not None:
                    self._take(bytes(key), _decode(raw), now_ms)
        self.expire(now_ms)

    def expire(self, now_ms: int) -> None:
        """Drop the notes whose time is over."""
        while self._expiries and self._expiries[0][0] <= now_ms:
            expires_ms, _, key = heapq.heappop(self._expiries)
            entry = self._entries.get(key)
            if entry is not None and entry.note.expires_ms == expires_ms:
                self._drop(key)

    def _take(self, key: bytes, row: NoteRow, now_ms: int) -> None:
        note = row.note
        self._drop(key)
        if not note.is_live(now_ms):
            return
        self.revision += 1
        self._pages = None
        self._entries[key] = Entry(note, row.sequence, row.text_digest)
        self.meanings.want(key)
        if note.expires_ms:
            heapq.heappush(self._expiries, (note.expires_ms, row.sequence, key))
        if note.facts is not None:
            self._by_number[note.facts.number] = key
            self.records.put(key, note)
        if self._texts is not None:
            self._texts.put(key, note)

    def _drop(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self.revision += 1
        self._pages = None
        self.meanings.drop(key)
        if entry.note.facts is not None:
            self._by_number.pop(entry.note.facts.number, None)
            self.records.drop(key)
        if self._texts is not None:
            self._texts.drop(key)

    def _forget(self, prefix: bytes) -> None:
        for key in [key for key in self._entries if key.startswith(prefix)]:
            self._drop(key)

    # -- asking ------------------------------------------------------------------------------

    def find(self, number: int) -> Note | None:
        """The memory_* record of that number."""
        key = self._by_number.get(number)
        return None if key is None else self._entries[key].note

    def entry(self, key: bytes) -> Entry | None:
        return self._entries.get(key)

    def newest_first(self) -> list[Note]:
        """The memory_* records by their last update, then number, both descending."""
        if self._pages is None:
            found = [self._entries[key].note for key in self._by_number.values()]
            self._pages = sorted(found, key=_by_update, reverse=True)
        return self._pages

    def active(self) -> Iterator[Note]:
        """The active memory_* records, newest update first."""
        return (
            note for note in self.newest_first() if note.facts and note.facts.status == "active"
        )

    @property
    def texts(self) -> Shelf:
        """All notes, indexed as files are."""
        if self._texts is None:
            self._texts = Shelf(_search_words)
            for key, entry in self._entries.items():
                self._texts.put(key, entry.note)
        return self._texts

    @property
    def is_indexed(self) -> bool:
        """Whether `texts` is at hand, so that asking for it takes no time."""
        return self._texts is not None or len(self._entries) <= NEAR


def _by_update(note: Note) -> tuple[int, int]:
    return note.updated_ms, note.facts.number if note.facts is not None else 0
