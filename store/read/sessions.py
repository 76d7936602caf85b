"""What has a session been given, as far as it is folded?"""

from __future__ import annotations

import msgspec

from store import keys
from store.read.live import Snapshot
from store.rows import SessionRow

_decode = msgspec.msgpack.Decoder(SessionRow).decode


def session_row(snapshot: Snapshot, repo_id: str, session: str) -> SessionRow | None:
    """The newest delivery of a session, expired or not; None when there was none."""
    raw = snapshot.txn.get("sessions", keys.session(keys.repo(repo_id), session))
    return None if raw is None else _decode(raw)
