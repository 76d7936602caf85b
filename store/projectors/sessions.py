"""What each session has been given."""

from __future__ import annotations

import msgspec

from contracts.events.index import SessionDelivered
from store import keys
from store.env import WriteTxn
from store.rows import SessionRow

_encode = msgspec.msgpack.Encoder().encode


def put_session(txn: WriteTxn, repo: str, event: SessionDelivered) -> None:
    """Replace the session's row."""
    row = SessionRow(event.session, event.receipts, event.possessions, event.expires_ms)
    txn.put("sessions", keys.session(keys.repo(repo), event.session), _encode(row))
