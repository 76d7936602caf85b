"""Commits of a repository: the parts of the newest edition."""

from __future__ import annotations

import msgspec

from contracts.events.index import HistoryStored
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos
from store.rows import HistoryRow

_encode = msgspec.msgpack.Encoder().encode


def put_history(txn: WriteTxn, repos: Repos, repo: str, event: HistoryStored) -> None:
    """Keep a part unless a newer edition is there; a newer one clears the older."""
    prefix = keys.repo(repo)
    own = keys.part(prefix, event.edition, 0)
    held = list(txn.keys("history", prefix))
    if held and keys.edition_of(held[-1]) > event.edition:
        return
    for key in held:
        if key < own:
            txn.delete("history", key)
    fields = {name: getattr(event, name) for name in HistoryRow.__struct_fields__}
    txn.put("history", keys.part(prefix, event.edition, event.part), _encode(HistoryRow(**fields)))
    repos.row(repo)
