"""Which notes does a repository's name mean?

A name that a registered repository answers to (its id, or an alias such as owner/name) means that
repository. Any other name is a namespace of its own, for memory needs no registered repository.
Notes that were kept under an alias before the repository was registered stay visible: a scope reads
all of its namespaces and writes to the first.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from contracts.errors import InvalidArgument
from contracts.ids import RepoId
from store.read.live import Snapshot
from store.rows import RepoRow

MAX_BYTES = 64  # of a repository's name


class Scope(Struct, frozen=True):
    """Where the notes of one repository are."""

    slug: str  # how the repository is shown
    repo_ids: tuple[RepoId, ...]  # namespaces; new notes go to the first

    @property
    def home(self) -> RepoId:
        return self.repo_ids[0]


def checked_name(repository: str) -> str:
    """The name, trimmed; raises InvalidArgument for one that no repository can have."""
    name = repository.strip()
    if not name or len(name.encode(errors="replace")) > MAX_BYTES or not name.isprintable():
        raise InvalidArgument(
            f"a repository's name has 1 to {MAX_BYTES} bytes of printable text",
            hint="owner/name; list_repositories shows what there is",
            reason="repository_name",
        )
    return name


def scope_of(snapshot: Snapshot | None, repository: str) -> Scope:
    """What a name means. Without a snapshot (nothing was folded yet) it is its own namespace."""
    rows = [] if snapshot is None else registered(snapshot)
    return _scope(rows, checked_name(repository))


def scope_of_repo(snapshot: Snapshot, repo_id: RepoId) -> Scope:
    """The notes of a repository known by its id, or of a namespace of that name."""
    return _scope(registered(snapshot), repo_id)


def registered(snapshot: Snapshot) -> list[RepoRow]:
    return [row for row in snapshot.repos() if row.state != "removed"]


def slug_of(row: RepoRow) -> str:
    """How a registered repository is shown: owner/name where that is known, else its id."""
    for alias in row.aliases:
        if "/" in alias and not alias.startswith("/"):
            return alias
    return row.repo_id


def _scope(rows: Iterable[RepoRow], name: str) -> Scope:
    known = list(rows)
    own = [row for row in known if row.repo_id == name]
    named = own or [row for row in known if name in row.aliases]
    if not named:
        return Scope(name, (RepoId(name),))
    if len(named) > 1:  # clones of one origin: what is kept under its name belongs to all of them
        return Scope(name, (RepoId(name), *(row.repo_id for row in named)))
    (row,) = named
    ids = {row.repo_id: None, **{RepoId(alias): None for alias in row.aliases if _is_name(alias)}}
    return Scope(slug_of(row), tuple(ids))


def _is_name(alias: str) -> bool:
    return "/" in alias and len(alias.encode(errors="replace")) <= MAX_BYTES
