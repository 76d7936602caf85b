"""Notes folded into an environment without a broker, and the memory tools over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contracts.envelope import Envelope, encode
from contracts.events.index import NoteVectorsStored
from contracts.events.memory import Change, NoteRecorded
from contracts.ids import RepoId
from contracts.note_text import text_digest
from contracts.notes import MEMORY_TOPIC, Facts, Note
from services.kernel.settings import Settings
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View
from services.query.notebook.scoring import DAY_MS
from store import location
from store.fold import Folder, Message, open_writable
from tests import facts

SLUG = "owner/demo"
NOW = 1_800_000_000_000  # Unix milliseconds
VECTOR_SPACE = "test/4"


def memory(  # one keyword per field
    number: int,
    content: str,
    *,
    tags: str = "",
    repo: str = SLUG,
    days_ago: float = 0,
    created_days_ago: float | None = None,
    expires_ms: int = 0,
    exists: bool = True,
    **fields: Any,
) -> Note:
    """A memory_* record, last updated so many days before NOW."""
    updated = NOW - int(days_ago * DAY_MS)
    created = updated if created_days_ago is None else NOW - int(created_days_ago * DAY_MS)
    return Note(
        repo_id=RepoId(repo), topic=MEMORY_TOPIC, id=str(number), exists=exists, kind="Memory", body=content,
        tags=tuple(sorted({tag.strip().lower() for tag in tags.split(",") if tag.strip()})),
        created_ms=created, updated_ms=updated, expires_ms=expires_ms,
        facts=Facts(number=number, tags_text=tags, **fields),
    )  # fmt: skip


class FoldedNotes:
    """One state directory whose projections are folded by hand."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.settings = Settings(state_dir=str(folder), **{"embed_provider": "none", **settings})
        root = self.settings.projections
        target = location.fresh(root)
        self._env = open_writable(target)
        location.swap(root, target)
        self._folder = Folder(self._env)
        self._log, self._index = 0, 0
        self.now_ms = NOW
        self.host = Host(self.settings, None, "test")
        self.host.notebooks.clock = lambda: self.now_ms

    def close(self) -> None:
        self.host.retrieval.close()
        self.host.notebooks.close()
        self.host.projections.close()
        self._env.close()

    def log(self, *payloads: bytes) -> None:
        messages = [Message(self._log + at, data) for at, data in enumerate(payloads, 1)]
        self._log += len(payloads)
        self._folder.fold(messages, [], log_complete=True)

    def index(self, *payloads: bytes) -> None:
        messages = [Message(self._index + at, data) for at, data in enumerate(payloads, 1)]
        self._index += len(payloads)
        self._folder.fold([], messages, log_complete=True)

    def put(self, *notes: Note, change: Change = "created", generation: int = 0) -> None:
        self.log(
            *(
                encode(
                    Envelope(
                        id="t", repo=note.repo_id, generation=generation, at_ms=NOW, producer="test",
                        event=NoteRecorded(change=change, note=note, principal="test"),
                    )
                )
                for note in notes
            )
        )  # fmt: skip

    def vectors(
        self, note: Note, *rows: tuple[int, int, int, int], space: str = VECTOR_SPACE
    ) -> None:
        event = NoteVectorsStored(
            topic=note.topic, id=note.id, log_sequence=1, text_digest=text_digest(note), space=space,
            dimension=4, vectors=b"".join(bytes(value & 0xFF for value in row) for row in rows),
        )  # fmt: skip
        self.index(facts.wrap(event, repo=note.repo_id, generation=0))

    async def call(self, tool: str, **arguments: Any) -> Any:
        declared = TOOLS[tool]
        return await declared.body(View(self.host, LOCAL), declared.arguments.read(arguments))
