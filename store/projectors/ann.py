"""FAISS generations: parts arrive first, the head makes them visible and retires the one before."""

from __future__ import annotations

import msgspec

from contracts.events.index import AnnPart, AnnPublished
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos
from store.rows import AnnHead

_encode = msgspec.msgpack.Encoder().encode


class Generations:
    """Folds parts and heads of the repositories' vector indexes."""

    def __init__(self, txn: WriteTxn, repos: Repos) -> None:
        self._txn, self._repos = txn, repos

    def part(self, repo: str, event: AnnPart) -> None:
        key = keys.part(keys.repo(repo), event.generation, event.part)
        self._txn.put("ann_parts", key, event.data)
        self._repos.row(repo)

    def published(self, repo: str, event: AnnPublished) -> None:
        fields = {name: getattr(event, name) for name in AnnHead.__struct_fields__}
        repo_key = keys.repo(repo)
        self._txn.put("ann_heads", repo_key, _encode(AnnHead(**fields)))
        self._repos.row(repo)
        current = keys.part(repo_key, event.generation, 0)
        stale = [key for key in self._txn.keys("ann_parts", repo_key) if key < current]
        for key in stale:
            self._txn.delete("ann_parts", key)
