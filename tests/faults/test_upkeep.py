"""kill -9 in the middle of a reset, with real processes: what was begun is finished, once."""

from __future__ import annotations

import threading
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from contracts.errors import Fault
from tests.faults import node as nodes
from tests.faults.trees import grow

pytestmark = [pytest.mark.slow, pytest.mark.broker]


def test_a_node_killed_while_it_resets_ends_with_the_content_of_a_clean_run(tmp_path: Path) -> None:
    tree, state = grow(tmp_path / "ws" / "shop", 40), tmp_path / "state"
    workspace = ("--workspace-root", str(tree.parent))
    first = nodes.Node(tree, state, *workspace)
    try:
        clean = nodes.settled_digest(first)
        client = type(first.client).of_state(first.url, state)

        def reset() -> None:
            with suppress(OSError, HTTPException, Fault):
                client.call("repocontext_reset_index", repoId="shop")

        asking = threading.Thread(target=reset)
        asking.start()
        asking.join(0.02)  # the command is under way, or just stored, or carried out
        nodes.kill_everything(first)
        asking.join()
    finally:
        first.stop()

    with nodes.running(tree, state, *workspace) as second:
        assert nodes.settled_digest(second) == clean
        status = second.client.call("repocontext_index_status", repoId="shop")
        done = nodes.cli("replay", "--state", str(state))
        assert done.returncode == 0, done.stderr
        assert nodes.settled_digest(second) == clean
    assert (status["status"], status["filesContentProjected"]) == ("Completed", 41)
