"""What was written over records of the tree: the newest fact of each, whole."""

from __future__ import annotations

import msgspec

from contracts.events.patches import RecordPatched
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos

_encode = msgspec.msgpack.Encoder().encode


def put_patch(txn: WriteTxn, repos: Repos, event: RecordPatched, generation: int) -> None:
    """Replace the record's patch. Void when the index was reset since it was decided."""
    row = repos.get(event.repo_id)
    if row is None or generation < row.index_generation:
        return
    repos.touched.add(event.repo_id)
    key = keys.patch(keys.repo(event.repo_id), event.family, event.name)
    txn.put("patches", key, _encode(event))
