"""How does a tool get at the notes of the repository it was asked about?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from contracts.errors import NotFound
from contracts.notes import Note
from services.query.host import View
from services.query.notebook.book import NoteBook
from services.query.notebook.scope import Scope, scope_of
from store.read.live import Snapshot

T = TypeVar("T")


class Desk:
    """An open book, and the moment it is read at. For the time of one `consult` only."""

    def __init__(self, view: View, snapshot: Snapshot, scope: Scope, book: NoteBook) -> None:
        self.snapshot = snapshot
        self.scope = scope
        self.book = book
        self.now_ms = view.host.notebooks.clock()

    def record(self, number: int) -> Note:
        """The memory_* record of that number; raises NotFound."""
        note = self.book.find(number)
        if note is None:
            raise absent(number, self.scope.slug)
        return note


def absent(number: int, slug: str) -> NotFound:
    return NotFound(
        f"no memory with id {number} in repository {slug!r}",
        hint="memory_list shows the ids there are, list_repositories the repositories",
        reason="unknown_memory",
    )


async def consult(
    view: View, repository: str, ask: Callable[[Desk], T], *, in_thread: bool = False
) -> T:
    """Ask the book of a repository, in a thread where it takes long.

    A repository that nobody ever heard of has an empty book. What `ask` returns must not hold on to
    the book or the snapshot.
    """
    books = view.host.notebooks

    def answer() -> T:
        with view.read() as snapshot:
            scope = scope_of(snapshot, repository)
            with books.open(snapshot, scope) as book:
                return ask(Desk(view, snapshot, scope, book))

    with view.read() as snapshot:
        quick = not in_thread and books.is_quick(snapshot, scope_of(snapshot, repository))
    return answer() if quick else await asyncio.to_thread(answer)
