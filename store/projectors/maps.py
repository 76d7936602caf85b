"""The code map: edges of live files, manifests of commits, overlays of workspaces.

Blobs are stored as they came; nothing is decoded but what a row names. Edges outlive the file they
were made from until the resolver has dropped them: what referred to it is resolved anew first.
"""

from __future__ import annotations

import msgspec

from contracts.events.index import (
    BaselineDropped,
    BaselinePublished,
    EdgesDropped,
    EdgesResolved,
    ManifestPart,
    OverlayPublished,
)
from contracts.events.mapping import WorkspaceRecorded
from contracts.filemap import unpack_entries
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos
from store.rows import BaselineRow, ResolvedRow, WorkspaceRow

_encode = msgspec.msgpack.Encoder().encode
_resolved = msgspec.msgpack.Decoder(ResolvedRow).decode
_workspace = msgspec.msgpack.Decoder(WorkspaceRow).decode
_LIVE_BLOBS = ("edges", "columns", "summaries")
_MANIFEST_TABLES = ("map_files", "map_columns", "map_bodies", "map_edges")

ManifestEvent = ManifestPart | BaselinePublished | BaselineDropped | OverlayPublished


class LiveEdges:
    """Collects the edges of a batch and folds the newest of each file."""

    def __init__(self, txn: WriteTxn, repos: Repos) -> None:
        self._txn, self._repos = txn, repos
        self._newest: dict[tuple[str, str], tuple[int, EdgesResolved | EdgesDropped]] = {}

    def take(self, repo: str, sequence: int, event: EdgesResolved | EdgesDropped) -> None:
        self._newest[repo, event.path] = (sequence, event)

    def finish(self) -> None:
        """Fold everything collected."""
        rows: dict[str, list[tuple[bytes, bytes]]] = {
            name: [] for name in ("resolved", "resolved_order", *_LIVE_BLOBS)
        }
        for (repo, path), (sequence, event) in self._newest.items():
            self._repos.row(repo)  # touched: readers' views are out of date
            repo_key = keys.repo(repo)
            key = keys.file(repo_key, path)
            raw = self._txn.get("resolved", key)
            if raw is not None:
                before = _resolved(raw).sequence
                if before >= sequence:
                    continue
                self._txn.delete("resolved_order", keys.sequence(repo_key, before))
            rows["resolved_order"].append((keys.sequence(repo_key, sequence), path.encode()))
            if isinstance(event, EdgesDropped):
                for table in ("resolved", *_LIVE_BLOBS):
                    self._txn.delete(table, key)
                continue
            row = ResolvedRow(path, event.file_sequence, sequence, event.version)
            rows["resolved"].append((key, _encode(row)))
            rows["edges"].append((key, event.edges))
            rows["columns"].append((key, event.columns))
            rows["summaries"].append((key, event.summary))
        for table, found in rows.items():
            found.sort()
            self._txn.put_many(table, found)


def put_workspace(
    txn: WriteTxn, repos: Repos, repo: str, generation: int, event: WorkspaceRecorded, sequence: int
) -> None:
    """A workspace's newest fact; the overlay it had goes."""
    if generation != repos.generation(repo):
        return
    repos.row(repo)
    repo_key = keys.repo(repo)
    key = keys.workspace(repo_key, event.workspace_id)
    _sweep(txn, repo_key, keys.overlay_name(event.workspace_id))
    if event.state == "deleted":
        txn.delete("workspaces", key)
        return
    row = WorkspaceRow(event.workspace_id, event.commit, sequence, event.created_ms)
    txn.put("workspaces", key, _encode(row))


def put_manifest(txn: WriteTxn, repos: Repos, repo: str, event: ManifestEvent) -> None:
    """A part of a manifest, or the head that makes its parts count."""
    repo_key = keys.repo(repo)
    match event:
        case ManifestPart():
            _put_part(txn, repo_key, event)
        case BaselinePublished():
            repos.row(repo)
            _put_baseline(txn, repo_key, event)
        case BaselineDropped():
            repos.row(repo)
            _drop_baseline(txn, repo_key, event.commit)
        case OverlayPublished():
            repos.row(repo)
            _put_overlay(txn, repo_key, event)


def _put_part(txn: WriteTxn, repo_key: bytes, event: ManifestPart) -> None:
    prefix = keys.manifest(repo_key, event.manifest, event.edition)
    txn.put("editions", keys.edition(repo_key, event.manifest, event.edition), prefix)
    rows: dict[str, list[tuple[bytes, bytes]]] = {name: [] for name in _MANIFEST_TABLES}
    for entry in unpack_entries(event.entries):
        key = keys.file(prefix, entry.file.path)
        values = (_encode(entry.file), entry.columns, entry.body, entry.edges)
        for table, value in zip(_MANIFEST_TABLES, values, strict=True):
            rows[table].append((key, value))
    for table, found in rows.items():
        txn.put_many(table, sorted(found))


def _put_baseline(txn: WriteTxn, repo_key: bytes, event: BaselinePublished) -> None:
    _sweep(txn, repo_key, keys.base_name(event.commit), before=event.edition)
    row = BaselineRow(
        event.commit, event.edition, event.files, event.symbols, event.references, event.full,
        event.partial, event.created_ms, event.elapsed_ms, event.from_cache, event.pseudo,
    )  # fmt: skip
    txn.put("baselines", keys.commit(repo_key, event.commit), _encode(row))


def _drop_baseline(txn: WriteTxn, repo_key: bytes, commit: str) -> None:
    _sweep(txn, repo_key, keys.base_name(commit))
    txn.delete("baselines", keys.commit(repo_key, commit))


def _put_overlay(txn: WriteTxn, repo_key: bytes, event: OverlayPublished) -> None:
    key = keys.workspace(repo_key, event.workspace_id)
    name = keys.overlay_name(event.workspace_id)
    raw = txn.get("workspaces", key)
    row = None if raw is None else _workspace(raw)
    if row is None or row.log_sequence != event.log_sequence:
        _sweep(txn, repo_key, name, before=event.edition + 1)
        return
    _sweep(txn, repo_key, name, before=event.edition)
    row.revision, row.edition, row.changed = event.revision, event.edition, event.changed
    row.symbols, row.facts = event.symbols, event.facts
    row.full, row.partial, row.refreshed_ms = event.full, event.partial, event.at_ms
    txn.put("workspaces", key, _encode(row))


def _sweep(txn: WriteTxn, repo_key: bytes, name: str, before: int = 1 << 63) -> None:
    """Drop the editions of a manifest below one; later ones may still be on their way."""
    found = list(txn.items("editions", keys.editions(repo_key, name)))
    for key, prefix in [(key, bytes(raw)) for key, raw in found]:
        if keys.sequence_of(key) < before:
            for table in _MANIFEST_TABLES:
                txn.sweep(table, prefix)
            txn.delete("editions", key)
