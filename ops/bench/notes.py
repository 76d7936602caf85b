"""How long do questions to a memory of ten thousand records take?

The records are made of sentences of the tree's own documents, folded into projections of their own
and embedded with the model that ships, so no node is needed. Tools are called in this process.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from contracts.envelope import Envelope, encode, now_ms
from contracts.events.index import NoteVectorsStored
from contracts.events.memory import NoteRecorded
from contracts.ids import RepoId
from contracts.note_text import note_text, text_digest
from contracts.notes import MEMORY_TOPIC, Facts, Note
from contracts.tools.memory import CERTAINTIES, MEMORY_TYPES
from services.kernel import logs
from services.kernel.settings import Settings
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View
from services.source.passages import passages
from services.source.static_model import StaticModel
from services.source.terms import FileWords, build_terms_many
from store import location
from store.fold import Folder, Message, open_writable

RECORDS = 10_000
_QUESTIONS = 100
_SLUG = "bench/notes"
_DAY_MS = 86_400_000
_SENTENCE = re.compile(r"[A-Z][^.!?\n]{40,160}[.!?]")
_DOCUMENTS = (".md", ".rst", ".txt", ".py", ".go", ".ts", ".java")
_MOST_FILES = 2_000


def measure(path: Path, state: Path) -> dict[str, Any]:
    """Milliseconds of each kind of question."""
    logs.configure("error", as_json=False, worker="bench")
    state = state / "notes"
    notes = _notes(_sentences(path))
    settings = Settings(state_dir=str(state))
    _fold(settings, notes)
    host = Host(settings, None, "")
    try:
        return asyncio.run(_ask(View(host, LOCAL), notes))
    finally:
        host.retrieval.close()
        host.notebooks.close()
        host.projections.close()


def _sentences(path: Path) -> list[str]:
    found: dict[str, None] = {}
    files = (each for each in sorted(path.rglob("*")) if each.suffix in _DOCUMENTS)
    for number, file in enumerate(files):
        if number > _MOST_FILES or len(found) >= RECORDS:
            break
        if file.is_file():
            text = file.read_text(errors="ignore")
            found.update(dict.fromkeys(" ".join(each.split()) for each in _SENTENCE.findall(text)))
    return list(found) or ["There is no document in this tree that has a sentence to remember."]


def _notes(sentences: Sequence[str]) -> list[Note]:
    choose = random.Random(1)  # noqa: S311  # the same records each time
    now = now_ms()
    return [
        Note(
            repo_id=RepoId(_SLUG), topic=MEMORY_TOPIC, id=str(number), kind="Memory",
            body=" ".join(choose.sample(sentences, min(2, len(sentences))))[:440],
            created_ms=now, updated_ms=now - int(choose.random() * 200 * _DAY_MS),
            facts=Facts(
                number=number, memory_type=choose.choice(MEMORY_TYPES),
                certainty=choose.choice(CERTAINTIES),
                tags_text=f"area:{number % 20},topic:{number % 700},kind:decision",
            ),
        )
        for number in range(1, RECORDS + 1)
    ]  # fmt: skip


def _fold(settings: Settings, notes: Sequence[Note]) -> None:
    target = location.fresh(settings.projections)
    env = open_writable(target)
    location.swap(settings.projections, target)
    model = StaticModel.load()
    words = [FileWords("", pieces, [()] * len(pieces)) for pieces in map(_pieces, notes)]
    vectors = [rows.tobytes() for rows in model.embed_many(build_terms_many(words))]
    facts = (NoteRecorded(change="created", note=note, principal="bench") for note in notes)
    stored = (
        NoteVectorsStored(
            topic=note.topic, id=note.id, log_sequence=at, text_digest=text_digest(note),
            space=model.space, dimension=model.dimension, vectors=rows,
        )
        for at, (note, rows) in enumerate(zip(notes, vectors, strict=True), 1)
    )  # fmt: skip
    Folder(env).fold(_messages(facts), _messages(stored), log_complete=True)
    env.close()


def _pieces(note: Note) -> list[str]:
    return passages(note_text(note))


def _messages(events: Iterable[Any]) -> list[Message]:
    return [
        Message(
            at,
            encode(
                Envelope(
                    id=str(at), repo=RepoId(_SLUG), at_ms=now_ms(), producer="bench", event=event
                )
            ),
        )
        for at, event in enumerate(events, 1)
    ]


async def _ask(view: View, notes: Sequence[Note]) -> dict[str, Any]:
    from ops.bench.memory import spread

    choose = random.Random(2)  # noqa: S311  # the same questions each time

    async def seconds(tool: str, **arguments: Any) -> float:
        declared = TOOLS[tool]
        request = declared.arguments.read(arguments)
        began = time.perf_counter()
        await declared.body(view, request)
        return time.perf_counter() - began

    first = await seconds("memory_query", repository=_SLUG, query="first question", mode="keyword")
    await seconds("memory_query", repository=_SLUG, query="read the vectors")
    figures: dict[str, Any] = {"notes": RECORDS, "first_question_ms": round(first * 1000, 1)}
    for mode in ("keyword", "semantic", "hybrid"):
        times = []
        for note in choose.choices(notes, k=_QUESTIONS):
            query = " ".join(choose.sample(note.body.split(), 5))
            times.append(await seconds("memory_query", repository=_SLUG, query=query, mode=mode))
        figures |= spread(f"query_{mode}_ms", times)
    await seconds("repocontext_search", repoId=_SLUG, query="read the words")
    times = []
    for note in choose.choices(notes, k=_QUESTIONS):
        query = " ".join(choose.sample(note.body.split(), 5))
        times.append(await seconds("repocontext_search", repoId=_SLUG, query=query))
    figures |= spread("search_ms", times)
    for tool in ("memory_doctor", "memory_stats", "memory_gc", "memory_list"):
        taken = await seconds(tool, repository=_SLUG)
        figures[f"{tool.removeprefix('memory_')}_ms"] = round(taken * 1000, 1)
    return figures
