"""Who holds a state directory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from contracts.errors import StateHeld
from ops.node import lock, process
from ops.node.lock import Holder
from ops.node.state import State


@pytest.fixture
def state(tmp_path: Path) -> State:
    state = State(tmp_path / "state")
    state.prepare()
    return state


def nothing() -> None:
    """There is nothing to clear."""


def me(**more: object) -> Holder:
    return Holder(pid=os.getpid(), started_ms=1_700_000_000_000, **more)  # type: ignore[arg-type]


def test_the_second_is_told_who_holds_it_where_it_serves_and_what_to_do(state: State) -> None:
    held = lock.acquire(state, nothing)
    held.tell(me(roots=("/tree",), url="http://127.0.0.1:1/mcp"))

    with pytest.raises(StateHeld) as caught:
        lock.acquire(state, nothing)

    assert f"process {os.getpid()}" in caught.value.message
    assert "/tree" in caught.value.message
    assert "http://127.0.0.1:1/mcp" in caught.value.message
    assert f"kill {os.getpid()}" in caught.value.hint
    held.release()


def test_a_released_lock_can_be_taken_again(state: State) -> None:
    lock.acquire(state, nothing).release()

    assert lock.holder(state) is None
    lock.acquire(state, nothing).release()


def test_what_a_dead_process_wrote_is_no_obstacle(state: State) -> None:
    gone = process.start(lambda: 0, process.Pipes())
    os.waitpid(gone, 0)
    state.info.write_bytes(b'{"pid": %d, "started_ms": 1, "url": "http://127.0.0.1:1/mcp"}' % gone)

    assert lock.holder(state) is None
    lock.acquire(state, nothing).release()


def test_what_makes_no_sense_in_the_info_file_is_no_obstacle(state: State) -> None:
    state.info.write_bytes(b"\xff not json")

    lock.acquire(state, nothing).release()


def test_the_holder_is_seen_without_disturbing_it(state: State) -> None:
    held = lock.acquire(state, nothing)
    held.tell(me(nats_url="nats://127.0.0.1:4"))

    seen = lock.holder(state)

    assert seen is not None
    assert seen.pid == os.getpid()
    assert seen.nats_url == "nats://127.0.0.1:4"
    held.release()


def test_the_lock_is_free_only_when_the_last_process_of_the_node_is_gone(state: State) -> None:
    held = lock.acquire(state, nothing)
    reading, writing = os.pipe()
    child = process.start(
        lambda: len(os.read(0, 1)), process.Pipes(lifeline=reading, keep=held.descriptor)
    )
    held.tell(me())
    held.release()

    with pytest.raises(StateHeld):
        lock.acquire(state, nothing)
    os.close(writing)
    os.waitpid(child, 0)

    lock.acquire(state, nothing).release()
    os.close(reading)


def test_leftovers_of_a_killed_node_are_cleared_before_its_directory_is_taken(state: State) -> None:
    held = lock.acquire(state, nothing)
    reading, writing = os.pipe()
    leftover = process.start(
        lambda: len(os.read(0, 1)), process.Pipes(lifeline=reading, keep=held.descriptor)
    )
    gone = process.start(lambda: 0, process.Pipes())
    os.waitpid(gone, 0)
    held.tell(Holder(pid=gone, started_ms=1))
    held.release()

    def clear() -> None:
        os.kill(leftover, signal.SIGKILL)
        os.waitpid(leftover, 0)

    lock.acquire(state, clear).release()
    os.close(reading)
    os.close(writing)
