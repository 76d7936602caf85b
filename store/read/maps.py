"""What does the projection say about the code map: live edges, baselines, workspaces?"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from contracts.extract import decompressed
from contracts.filemap import FileFacts
from store import keys
from store.env import ReadTxn
from store.rows import BaselineRow, ResolvedRow, WorkspaceRow

_resolved = msgspec.msgpack.Decoder(ResolvedRow).decode
_baseline = msgspec.msgpack.Decoder(BaselineRow).decode
_facts = msgspec.msgpack.Decoder(FileFacts).decode
_workspace = msgspec.msgpack.Decoder(WorkspaceRow).decode


class Maps:
    """The code map of one repository in one snapshot."""

    def __init__(self, txn: ReadTxn, repo_id: str) -> None:
        self._txn, self._key = txn, keys.repo(repo_id)

    # -- live -------------------------------------------------------------------------------

    def resolved(self) -> Iterator[ResolvedRow]:
        """Every live file that has edges, in ordinal order of paths."""
        for _, raw in self._txn.items("resolved", self._key):
            yield _resolved(raw)

    def resolved_file(self, path: str) -> ResolvedRow | None:
        raw = self._txn.get("resolved", keys.file(self._key, path))
        return None if raw is None else _resolved(raw)

    def newest(self) -> int:
        """INDEX sequence of the newest change of live edges; 0 for none."""
        for key, _ in self._txn.items("resolved_order", self._key, reverse=True):
            return keys.sequence_of(key)
        return 0

    def changed_since(self, sequence: int) -> list[str]:
        """Paths whose edges came or went after an INDEX sequence."""
        start = keys.sequence(self._key, sequence + 1)
        found = self._txn.items("resolved_order", self._key, start)
        return [bytes(raw).decode() for _, raw in found]

    def live_blob(self, table: str, path: str) -> bytes:
        """A copy of one live file's columns or edges, as stored; b"" for none."""
        raw = self._txn.get(table, keys.file(self._key, path))
        return b"" if raw is None else bytes(raw)

    def summary(self, path: str) -> bytes | None:
        raw = self._txn.get("summaries", keys.file(self._key, path))
        return None if raw is None else decompressed(raw)

    # -- manifests --------------------------------------------------------------------------

    def baselines(self) -> list[BaselineRow]:
        """Every baseline, newest first."""
        rows = [_baseline(raw) for _, raw in self._txn.items("baselines", self._key)]
        return sorted(rows, key=lambda row: (-row.created_ms, row.commit))

    def baseline(self, commit: str) -> BaselineRow | None:
        raw = self._txn.get("baselines", keys.commit(self._key, commit))
        return None if raw is None else _baseline(raw)

    def workspaces(self) -> list[WorkspaceRow]:
        return [_workspace(raw) for _, raw in self._txn.items("workspaces", self._key)]

    def workspace(self, workspace_id: str) -> WorkspaceRow | None:
        raw = self._txn.get("workspaces", keys.workspace(self._key, workspace_id))
        return None if raw is None else _workspace(raw)

    def base_prefix(self, row: BaselineRow) -> bytes:
        """What the keys of a baseline's files start with."""
        return keys.manifest(self._key, keys.base_name(row.commit), row.edition)

    def overlay_prefix(self, row: WorkspaceRow) -> bytes:
        return keys.manifest(self._key, keys.overlay_name(row.workspace_id), row.edition)

    def files(self, prefix: bytes) -> Iterator[FileFacts]:
        """The files of a manifest in order of their keys, those that an overlay hides included."""
        for _, raw in self._txn.items("map_files", prefix):
            yield _facts(raw)

    def file(self, prefix: bytes, path: str) -> FileFacts | None:
        raw = self._txn.get("map_files", keys.file(prefix, path))
        return None if raw is None else _facts(raw)

    def blob(self, table: str, prefix: bytes, path: str) -> bytes:
        """A copy of one file's columns, body or edges ("map_columns" ...); b"" for none."""
        raw = self._txn.get(table, keys.file(prefix, path))
        return b"" if raw is None else bytes(raw)
