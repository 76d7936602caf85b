"""What one line says that two environments hold the same code map?

Beside the digest of the content (store/digest.py), because references are resolved after the content
is complete: of two nodes on the same tree one may still be at it. Times and sequences are left out.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import xxhash

from store import keys, location
from store.env import Env, ReadTxn
from store.read.live import Snapshot
from store.read.maps import Maps

_MANIFEST_TABLES = ("map_columns", "map_bodies", "map_edges")


def map_digest_line(projections: Path) -> str:
    """`xx128:<hex> edges=N baselines=N workspaces=N`; raises NotFound when nothing was folded yet."""
    env = Env(location.current(projections), writable=False)
    try:
        with env.read() as txn:
            return map_digest_of(txn)
    finally:
        env.close()


def map_digest_of(txn: ReadTxn) -> str:
    """The line of one snapshot."""
    total = xxhash.xxh3_128()
    edges = baselines = workspaces = 0
    for repo in Snapshot(txn).repos():
        if repo.state != "registered":
            continue
        maps = Maps(txn, repo.repo_id)
        total.update(f"repo\0{repo.repo_id}\0".encode())
        for row in maps.resolved():
            edges += 1
            total.update(f"{row.path}\0{row.version}\0".encode())
            key = keys.file(keys.repo(repo.repo_id), row.path)
            for table in ("edges", "columns"):
                total.update(txn.get(table, key) or b"")
        for base in sorted(maps.baselines(), key=lambda row: row.commit):
            baselines += 1
            total.update(f"base\0{base.commit}\0{base.files}\0{base.symbols}\0".encode())
            _add(total, maps, maps.base_prefix(base))
        for own in sorted(maps.workspaces(), key=lambda row: row.workspace_id):
            workspaces += 1
            total.update(f"ws\0{own.workspace_id}\0{own.commit}\0{own.revision}\0".encode())
            _add(total, maps, maps.overlay_prefix(own))
    return f"xx128:{total.hexdigest()} edges={edges} baselines={baselines} workspaces={workspaces}"


def _add(total: xxhash.xxh3_128, maps: Maps, prefix: bytes) -> None:
    for file in maps.files(prefix):
        total.update(msgspec.msgpack.encode(file))
        for table in _MANIFEST_TABLES:
            total.update(maps.blob(table, prefix, file.path))
