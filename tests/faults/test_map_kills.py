"""kill -9 of the resolver at any moment: the code map converges to that of a clean run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from contracts.errors import Fault
from services.resolver.live import LiveMap, Pending
from store.read.live import Projections
from store.read.maps import Maps
from tests.faults import node as nodes
from tests.faults.trees import grow

pytestmark = [pytest.mark.slow, pytest.mark.broker]
FILES = 500  # enough to be resolved in processes of their own


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return grow(tmp_path_factory.mktemp("tree") / "shop", FILES)


@pytest.fixture(scope="module")
def clean(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    with nodes.running(tree, tmp_path_factory.mktemp("clean") / "state") as node:
        nodes.settled_digest(node)
        node.client.call("index_ensure_baseline", repo_path=str(tree))
        return nodes.settled_map(node)


def test_a_killed_resolver_costs_nothing_but_time(tree: Path, clean: str, tmp_path: Path) -> None:
    with nodes.running(tree, tmp_path / "state") as node:
        for share in (5, 60):
            _wait_resolved(node, FILES * share // 100)
            nodes.kill(nodes.processes(node).get("resolver", []))
        nodes.settled_digest(node)
        node.client.call("index_ensure_baseline", repo_path=str(tree))
        assert nodes.settled_map(node) == clean
        assert nodes.processes(node)["resolver"]
        assert _stored(node) == _resolved_here(node)

        done = nodes.cli("replay", "--state", str(tmp_path / "state"))
        assert done.returncode == 0, done.stderr
        assert nodes.settled_map(node) == clean


def _stored(node: nodes.Node) -> dict[str, tuple[bytes, bytes]]:
    projections = Projections(node.state / "projections")
    with projections.read() as snapshot:
        maps = Maps(snapshot.txn, node.repo_id)
        found = {
            row.path: (maps.live_blob("edges", row.path), maps.live_blob("columns", row.path))
            for row in maps.resolved()
        }
    projections.close()
    return found


def _resolved_here(node: nodes.Node) -> dict[str, tuple[bytes, bytes]]:
    """What one process makes of all files, instead of several that share them."""
    projections = Projections(node.state / "projections")
    live = LiveMap(projections, node.repo_id, node.state / "cache" / "maps")
    live.look()
    live.known = {}
    everything = Pending(tuple(live.rows.values()), ())
    found = {result.path: (result.edges, result.columns) for result in live.resolved(everything)}
    projections.close()
    return found


def _wait_resolved(node: nodes.Node, files: int) -> None:
    """Wait until the edges of at least so many files are stored."""
    end = time.monotonic() + nodes.PATIENCE_S
    while time.monotonic() < end:
        try:
            status = node.client.call("repo_status", repo_path=str(node.root))["data"]
            recorded = node.client.call("repocontext_index_status", repoId=node.repo_id)
        except Fault:  # nothing is registered yet
            time.sleep(0.02)
            continue
        extracted = int(recorded["filesContentProjected"])
        if extracted and extracted - int(status["live_pending_files"]) >= files:
            return
        time.sleep(0.01)
    raise AssertionError("nothing was resolved")
