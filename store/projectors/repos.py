"""Registry facts: which repositories there are, in which generation, and their totals."""

from __future__ import annotations

import msgspec

from contracts.events import AnyRepoFact
from contracts.events.log import IndexReset, RepoRegistered, RepoRemoved, WalkFilters
from contracts.ids import RepoId
from store import keys
from store.env import WriteTxn
from store.rows import Counters, Positions, RepoRow

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RepoRow).decode
_INDEX_TABLES = (
    "passes", "files", "paths", "bodies", "texts", "vectors", "symbols", "segments",
    "segment_dead", "changes", "ann_parts", "ann_heads", "sessions", "patches", "history",
    "resolved", "resolved_order", "edges", "columns", "summaries", "baselines", "workspaces",
    "editions",     "map_files", "map_columns", "map_bodies", "map_edges",
)  # fmt: skip
_MEMORY_TABLES = ("notes", "note_order", "note_vectors", "note_vector_order")


class Repos:
    """Repository rows touched by one batch; written once at its end."""

    def __init__(self, txn: WriteTxn) -> None:
        self._txn = txn
        self._rows: dict[str, RepoRow | None] = {}
        self.touched: set[str] = set()

    def get(self, repo: str) -> RepoRow | None:
        """The row, for reading."""
        if repo not in self._rows:
            raw = self._txn.get("repos", keys.repo(repo))
            self._rows[repo] = None if raw is None else _decode(raw)
        return self._rows[repo]

    def row(self, repo: str) -> RepoRow:
        """The row of a known repository, for changing."""
        row = self.get(repo)
        if row is None:
            raise KeyError(repo)
        self.touched.add(repo)
        return row

    def generation(self, repo: str) -> int:
        """The index generation in force; 0 for a repository never heard of."""
        row = self.get(repo)
        return 0 if row is None else row.index_generation

    def apply(self, event: AnyRepoFact, at_ms: int) -> None:
        known = self.get(event.repo_id)
        if known is not None and event.index_generation < known.index_generation:
            return
        self.touched.add(event.repo_id)
        match event:
            case RepoRegistered():
                self._register(event, known, at_ms)
            case IndexReset():
                if known is not None and event.index_generation > known.index_generation:
                    self._drop_index(known, event.index_generation, "reset")
            case RepoRemoved():
                if known is None:  # it had memory and was never registered
                    known = self._rows[event.repo_id] = _unregistered(event.repo_id)
                if event.index_generation > known.index_generation:
                    self._drop_index(known, event.index_generation, "removed")
                    for table in _MEMORY_TABLES:
                        self._txn.sweep(table, keys.repo(event.repo_id))
                    known.memory_generation = event.memory_generation
                    known.root = ""

    def _register(self, event: RepoRegistered, known: RepoRow | None, at_ms: int) -> None:
        if known is None:
            self._rows[event.repo_id] = RepoRow(
                repo_id=event.repo_id,
                state="registered",
                root=event.root,
                filters=event.filters,
                display_name=event.display_name,
                aliases=event.aliases,
                index_generation=event.index_generation,
                memory_generation=event.memory_generation,
                registered_ms=at_ms,
                counters=Counters(),
            )
            return
        if event.index_generation > known.index_generation:
            self._drop_index(known, event.index_generation, "registered")
        known.state = "registered"
        known.root, known.filters = event.root, event.filters
        known.display_name, known.aliases = event.display_name, event.aliases
        known.index_generation = event.index_generation
        known.memory_generation = event.memory_generation

    def _drop_index(self, row: RepoRow, generation: int, state: str) -> None:
        prefix = keys.repo(row.repo_id)
        for table in _INDEX_TABLES:
            self._txn.sweep(table, prefix)
        row.state = state
        row.index_generation = generation
        row.counters = Counters()
        row.last_ingested_ms = 0

    def finish(self, position: Positions) -> None:
        """Write every touched row."""
        for repo in self.touched:
            row = self._rows[repo]
            if row is not None:
                row.stamp = max(row.stamp + 1, position.index)
                self._txn.put("repos", keys.repo(repo), _encode(row))


def _unregistered(repo_id: RepoId) -> RepoRow:
    return RepoRow(
        repo_id=repo_id, state="removed", root="", filters=WalkFilters(), display_name=repo_id,
        index_generation=0, memory_generation=0, counters=Counters(),
    )  # fmt: skip
