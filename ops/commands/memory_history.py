"""`repofold memory history ID|KEY`: who changed a memory or a note, when, and how.

Read from the log, where every change stays for ever, deleted records included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from contracts import subjects
from contracts.envelope import Envelope
from contracts.errors import NotFound
from contracts.events.memory import NoteRecorded
from contracts.ids import parse_key
from contracts.notes import MEMORY_TOPIC, Note
from contracts.subjects import LOG
from ops.ask import Asker
from ops.node.events import moment
from ops.node.options import add_place, any_broker
from ops.terminal import Terminal
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.query.notebook.scope import scope_of
from services.source.free_text import visible

_decode = msgspec.msgpack.Decoder(Envelope[NoteRecorded]).decode
_SHOWN_CHARS = 120
_COMPARED = ("title", "body", "tags", "expires_ms", "kind", "author")
_COMPARED_FACTS = (
    "context", "tags_text", "memory_type", "certainty", "status", "superseded_by",
    "expires_after_days",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", metavar="ID|KEY", help="a memory's id, or repo/…/mem/topic/id")
    parser.add_argument("--repo", metavar="SLUG", help="of the id (default: the one here)")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line for each change, oldest first. Raises NotFound when there was none."""
    places = _places(args)
    with any_broker(args) as settings:
        changes = asyncio.run(read(settings, places))
    if not changes:
        raise NotFound(
            f"nothing was ever recorded under {args.record}",
            hint="`repofold memory list` shows the ids there are",
        )
    if args.json:
        print(json.dumps(changes, indent=2))
    else:
        _print(changes)
    return 0


def _places(args: argparse.Namespace) -> list[str]:
    """The log subjects that the record may be under."""
    if not args.record.isdigit():
        key = parse_key(args.record)
        return [subjects.note_log(key.repo_id, key.name, key.item)]
    asker = Asker(args)
    with asker.host.read() as snapshot:
        scope = scope_of(snapshot, args.repo or asker.repository(None))
    return [subjects.note_log(repo_id, MEMORY_TOPIC, args.record) for repo_id in scope.repo_ids]


async def read(settings: Settings, places: list[str]) -> list[dict[str, Any]]:
    """Every change under these subjects of LOG, oldest first."""
    bus = Bus(settings, "ops")
    await bus.start(patience_s=10.0)
    try:
        changes: list[dict[str, Any]] = []
        for subject in places:
            before: Note | None = None
            sequence = 0
            while (
                found := await bus.message_from(subject, LOG, sequence=sequence + 1)
            ) is not None:
                sequence = found[0]
                try:
                    envelope = _decode(found[2])
                except msgspec.MsgspecError:
                    changes.append({"sequence": sequence, "change": "undecodable"})
                    continue
                changes.append(_change(sequence, envelope, before))
                before = envelope.event.note
        return changes
    finally:
        await bus.stop()


def _change(sequence: int, envelope: Envelope[NoteRecorded], before: Note | None) -> dict[str, Any]:
    note, claim = envelope.event.note, envelope.event.note.claim
    return {
        "sequence": sequence,
        "at": moment(envelope.at_ms),
        "change": envelope.event.change,
        "principal": envelope.event.principal,
        "fencing_token": claim.fence if claim.live else None,
        "claim_owner": claim.owner if claim.live else None,
        "exists": note.exists,
        "update_count": note.facts.update_count if note.facts is not None else None,
        "changed": dict(_differences(before, note)),
    }


def _differences(before: Note | None, note: Note) -> Iterator[tuple[str, Any]]:
    """Fields that are not what they were, with their new values."""
    for name in _COMPARED:
        value = getattr(note, name)
        if value != (getattr(before, name) if before is not None else type(value)()):
            yield name, list(value) if isinstance(value, tuple) else value
    for name in _COMPARED_FACTS:
        if note.facts is None:
            return
        value = getattr(note.facts, name)
        old = before.facts if before is not None else None
        if value != (getattr(old, name) if old is not None else None) and value not in (None, ""):
            yield name, value


def _print(changes: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("when", "change", "by", "token", "what"):
        table.add_column(title, no_wrap=title != "what", overflow="fold")
    for change in changes:
        told = ", ".join(
            f"{name}: {visible(str(value))[:_SHOWN_CHARS]}"
            for name, value in change.get("changed", {}).items()
        )
        table.add_row(
            change.get("at", ""), change["change"], Text(change.get("principal", "")),
            str(change.get("fencing_token") or ""), Text(told),
        )  # fmt: skip
    Terminal().print(table)
