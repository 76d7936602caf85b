"""What registry commands mean, and that a fold of their facts agrees."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.events.commands import AddRepo, RemoveRepo, ResetIndex
from contracts.events.log import IndexReset, RepoRegistered, RepoRemoved, WalkFilters
from contracts.ids import RepoId
from services.memory.registry import Registered, apply, decide

REPO = RepoId("demo")


def add(root: str = "/tree", **filters: bool) -> AddRepo:
    return AddRepo(repo_id=REPO, root=root, filters=WalkFilters(**filters), principal="t")


RESET = ResetIndex(repo_id=REPO, principal="t")
REMOVE = RemoveRepo(repo_id=REPO, principal="t")


def after(*commands: AddRepo | RemoveRepo | ResetIndex) -> Registered:
    state = Registered(repo_id=REPO)
    for number, command in enumerate(commands):
        event = decide(state, command)
        if event is not None:
            state = apply(state, event, number + 1)
    return state


def test_adding_the_same_tree_again_is_no_new_fact() -> None:
    assert decide(after(add()), add()) is None


def test_other_filters_keep_the_index_and_another_root_voids_it() -> None:
    state = after(add())

    changed = decide(state, add(respect_gitignore=False))
    moved = decide(state, add("/elsewhere"))

    assert isinstance(changed, RepoRegistered)
    assert isinstance(moved, RepoRegistered)
    assert changed.index_generation == state.index_generation
    assert moved.index_generation == state.index_generation + 1


def test_reset_and_removal_of_what_is_unknown_are_no_facts() -> None:
    assert decide(Registered(repo_id=REPO), RESET) is None
    assert decide(Registered(repo_id=REPO), REMOVE) is None
    assert decide(after(add(), REMOVE), REMOVE) is None


def test_a_reset_keeps_memory_and_a_removal_does_not() -> None:
    reset, gone = decide(after(add()), RESET), decide(after(add()), REMOVE)

    assert isinstance(reset, IndexReset)
    assert isinstance(gone, RepoRemoved)
    assert (reset.memory_generation, gone.memory_generation) == (0, 1)


@given(st.lists(st.sampled_from([add(), add("/other"), RESET, REMOVE]), max_size=12))
def test_generations_only_rise_and_every_registration_of_a_dropped_index_has_its_own(
    commands: list[AddRepo | RemoveRepo | ResetIndex],
) -> None:
    state = Registered(repo_id=REPO)
    used: set[int] = set()
    for number, command in enumerate(commands):
        before = (state.index_generation, state.memory_generation, state.state)
        event = decide(state, command)
        if event is None:
            continue
        state = apply(state, event, number + 1)
        assert state.index_generation >= before[0]
        assert state.memory_generation >= before[1]
        if isinstance(event, RepoRegistered) and before[2] != "registered":
            assert event.index_generation not in used
        used.add(state.index_generation)
        assert apply(state, event, number + 1) is state
