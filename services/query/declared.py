"""Which symbols are declared, one after the other? Each file's body is unpacked once, not once a symbol."""

from __future__ import annotations

from functools import lru_cache

from contracts.extract import Symbol
from contracts.ids import RepoId
from contracts.tools.repocontext import EntryView
from services.query import entries
from store import keys
from store.read.live import Snapshot

_FILES_KEPT = 32  # names in order come from few files at a time


class Declared:
    """The symbols of a repository as one snapshot shows them."""

    def __init__(self, snapshot: Snapshot, repo_id: RepoId) -> None:
        self._snapshot, self._repo_id = snapshot, repo_id
        self._symbols = lru_cache(_FILES_KEPT)(self._read)

    def entry(self, fq_name: str) -> EntryView | None:
        """The entry of a symbol by its fully qualified name."""
        sequences = self._snapshot.declaring(self._repo_id, fq_name)
        paths = {self._snapshot.path(self._repo_id, sequence): sequence for sequence in sequences}
        declaring = sorted(path for path in paths if path is not None)
        for path in declaring:
            row = self._snapshot.file(self._repo_id, path)
            symbol = self.at(paths[path], mark_of(fq_name))
            if row is not None and symbol is not None:
                return entries.of_symbol(self._repo_id, row, symbol, declaring)
        return None

    def at(self, sequence: int, mark: bytes) -> Symbol | None:
        """The symbol of that mark in one file."""
        return self._symbols(sequence).get(mark)

    def _read(self, sequence: int) -> dict[bytes, Symbol]:
        body = self._snapshot.body(self._repo_id, sequence)
        symbols = () if body is None else body.symbols
        return {mark_of(symbol.fq_name): symbol for symbol in reversed(symbols)}


def mark_of(fq_name: str) -> bytes:
    """What stands for a name in the keys of the symbol table, and orders it."""
    return keys.name_prefix(b"", fq_name)[:-1]
