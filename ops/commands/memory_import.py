"""`repofold memory import FILE`: bring exported notes back."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from contracts.events.memory import ImportNotes
from contracts.ids import RepoId
from contracts.notes import Note
from ops.node.options import add_broker, add_place, running_node
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.query.host import Host
from store import archive

_CHUNK = 200  # notes of one command
_CHUNK_CHARS = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Ids, times and tokens are kept; a note that is there already stays as it is, so importing a file\n"
        "twice changes nothing. The node must run."
    )
    parser.add_argument("file", metavar="FILE", help="an export; - for standard input")
    parser.add_argument("--repo", help="notes of one repository only")
    add_place(parser)
    add_broker(parser)


def run(args: argparse.Namespace) -> int:
    """Import and tell how many notes came back; 0 unless the file or the node is no good."""
    logs.configure("warning", as_json=False, worker="import")
    found = archive.parsed(sys.stdin.buffer) if args.file == "-" else archive.read(Path(args.file))
    by_repo: dict[RepoId, list[Note]] = {}
    for note in found:
        if args.repo in (None, note.repo_id):
            by_repo.setdefault(note.repo_id, []).append(note)
    imported, kept = asyncio.run(_import(running_node(args), by_repo))
    if args.json:
        print(json.dumps({"file": args.file, "imported": imported, "kept": kept}))
    else:
        print(f"{imported} notes imported, {kept} kept as they are")
    return 0


async def _import(settings: Settings, by_repo: dict[RepoId, list[Note]]) -> tuple[int, int]:
    bus = Bus(settings, "ops")
    await bus.start(patience_s=10.0)
    host = Host(settings, bus, "")
    imported = kept = 0
    try:
        await host.start()
        for repo_id, notes in by_repo.items():
            for chunk in _chunks(notes):
                command = ImportNotes(repo_id=repo_id, notes=tuple(chunk), principal="ops")
                reply = await host.note_command(command)
                imported, kept = imported + reply.imported, kept + reply.skipped
    finally:
        await host.stop()
    return imported, kept


def _chunks(notes: Iterable[Note]) -> Iterator[list[Note]]:
    chunk: list[Note] = []
    size = 0
    for note in notes:
        size += len(note.body) + 1_000
        if chunk and (len(chunk) == _CHUNK or size > _CHUNK_CHARS):
            yield chunk
            chunk, size = [], len(note.body) + 1_000
        chunk.append(note)
    if chunk:
        yield chunk
