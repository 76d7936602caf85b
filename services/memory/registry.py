"""What does a registry command mean, given what is registered? Pure decisions."""

from __future__ import annotations

from msgspec import Struct

from contracts.events.commands import AddRepo, RemoveRepo, ResetIndex
from contracts.events.log import AnyRepoFact, IndexReset, RepoRegistered, RepoRemoved, WalkFilters
from contracts.ids import RepoId


class Registered(Struct, kw_only=True):
    """One repository as LOG tells it."""

    repo_id: RepoId
    state: str = "unknown"  # unknown registered reset removed
    root: str = ""
    filters: WalkFilters = WalkFilters()
    aliases: tuple[str, ...] = ()
    index_generation: int = 0
    memory_generation: int = 0
    sequence: int = 0  # LOG sequence of the last fact; 0 for none


def apply(state: Registered, event: AnyRepoFact, sequence: int) -> Registered:
    """Fold one fact; idempotent by sequence."""
    if sequence <= state.sequence:
        return state
    match event:
        case RepoRegistered():
            return Registered(
                repo_id=event.repo_id,
                state="registered",
                root=event.root,
                filters=event.filters,
                aliases=event.aliases,
                index_generation=event.index_generation,
                memory_generation=event.memory_generation,
                sequence=sequence,
            )
        case IndexReset():
            state.state = "reset"
            state.index_generation = event.index_generation
            state.memory_generation = event.memory_generation
        case RepoRemoved():
            state.state = "removed"
            state.index_generation = event.index_generation
            state.memory_generation = event.memory_generation
    state.sequence = sequence
    return state


def decide(
    state: Registered, command: AddRepo | RemoveRepo | ResetIndex, *, has_notes: bool = False
) -> AnyRepoFact | None:
    """The fact that the command brings about; None when everything is already as it asks.

    `has_notes`: facts of notes were stored since the newest fact. A repository may have memory
    without being registered, and its removal drops it.
    """
    match command:
        case AddRepo():
            return _add(state, command)
        case RemoveRepo():
            if state.state in ("unknown", "removed") and not has_notes:
                return None
            return RepoRemoved(
                repo_id=state.repo_id,
                index_generation=state.index_generation + 1,
                memory_generation=state.memory_generation + 1,
            )
        case ResetIndex():
            if state.state in ("unknown", "removed"):
                return None
            return IndexReset(
                repo_id=state.repo_id,
                index_generation=state.index_generation + 1,
                memory_generation=state.memory_generation,
                reason="requested",
            )


def _add(state: Registered, command: AddRepo) -> RepoRegistered | None:
    same = (
        state.state == "registered"
        and state.root == command.root
        and state.filters == command.filters
        and state.aliases == command.aliases
    )
    if same:
        return None
    # Another root under the same id is another tree: what was indexed of the old one is void. And a
    # registration after a reset or removal must not be mistaken for what came before it.
    renewed = state.state != "registered" or state.root != command.root
    return RepoRegistered(
        repo_id=command.repo_id,
        root=command.root,
        filters=command.filters,
        display_name=command.repo_id,
        aliases=command.aliases,
        index_generation=state.index_generation + renewed,
        memory_generation=state.memory_generation,
    )


def registered_again(state: Registered) -> RepoRegistered:
    """The registration as it is, as a fact of its own: what is older than it counts no more."""
    return RepoRegistered(
        repo_id=state.repo_id,
        root=state.root,
        filters=state.filters,
        display_name=state.repo_id,
        aliases=state.aliases,
        index_generation=state.index_generation,
        memory_generation=state.memory_generation,
    )
