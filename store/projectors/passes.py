"""The newest pass of each repository."""

from __future__ import annotations

import msgspec

from contracts.events.index import PassChanged
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos
from store.rows import PassRow

_encode = msgspec.msgpack.Encoder().encode


def put_pass(txn: WriteTxn, repos: Repos, repo: str, event: PassChanged) -> None:
    """Replace the pass row; a completed pass stamps the repository as ingested."""
    fields = {name: getattr(event, name) for name in PassRow.__struct_fields__}
    txn.put("passes", keys.repo(repo), _encode(PassRow(**fields)))
    row = repos.row(repo)
    if event.status == "Completed" and event.reason != "reset":
        row.last_ingested_ms = max(row.last_ingested_ms, event.completed_ms)
