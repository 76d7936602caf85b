"""Earlier commits: read after the pass, again when another commit is checked out, gone with the index."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.walker import history as reader
from store.read.history import HistoryStanding, commits_of, standing_of
from store.read.live import Snapshot
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
_ENV = {
    **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, env=_ENV, text=True
    )
    return done.stdout.strip()


def commit(root: Path, message: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for name in ("alpha", "beta", "gamma"):
        (root / f"{name}.py").write_text(f"def {name}(value):\n    return value + 1\n")
    commit(root, "start")
    (root / "beta.py").write_text("def beta(value):\n    return value + 2\n")
    commit(root, "Fix the quokka overflow in ledgers")
    git(root, "mv", "beta.py", "delta.py")
    commit(root, "Rename")
    return root


@pytest.fixture
async def running(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Node]:
    monkeypatch.setattr(reader, "_SETTLE_S", 0.0)
    monkeypatch.setattr(reader, "_LOOK_S", 0.05)
    async with node(broker, tmp_path / "state", tree) as started:
        await started.add(tree)
        await started.indexed()
        yield started


async def read(running: Node, head: str) -> HistoryStanding:
    def done(snapshot: Snapshot) -> bool:
        standing = standing_of(snapshot.txn, "demo")
        return standing.complete and standing.head == head

    await running.until(done)
    with running.host.read() as snapshot:
        return standing_of(snapshot.txn, "demo")


def first(running: Node, query: str) -> str:
    found = running.host.retrieval.search("demo", query, 3)  # type: ignore[arg-type]
    return found.hits[0].file.path


async def test_commits_are_read_after_the_pass_and_followed(running: Node, tree: Path) -> None:
    standing = await read(running, git(tree, "rev-parse", "HEAD"))
    assert (standing.commits, standing.parts) == (3, 1)
    # The message speaks of a word that no file holds, and the file has another name since.
    assert first(running, "value quokka overflow") == "delta.py"

    (tree / "gamma.py").write_text("def gamma(value):\n    return value + 3\n")
    after = await read(running, commit(tree, "Teach the wombat about caches"))
    assert (after.edition, after.commits, after.parts) == (standing.edition, 4, 2)
    assert first(running, "value wombat caches") == "gamma.py"
    status = await running.call("repocontext_index_status", repoId="demo")
    assert (status.history_commits, status.history_notice) == (4, None)


async def test_rewritten_history_is_read_anew(running: Node, tree: Path) -> None:
    before = await read(running, git(tree, "rev-parse", "HEAD"))
    git(tree, "reset", "-q", "--hard", "HEAD~2")
    after = await read(running, git(tree, "rev-parse", "HEAD"))
    assert after.edition > before.edition
    assert after.commits == 1


async def test_a_reset_clears_it_and_the_next_pass_brings_it_back(
    running: Node, tree: Path
) -> None:
    head = git(tree, "rev-parse", "HEAD")
    await read(running, head)
    await running.call("repocontext_reset_index", repoId="demo")
    with running.host.read() as snapshot:
        assert standing_of(snapshot.txn, "demo") == HistoryStanding()
    await running.add(tree)
    await read(running, head)


async def test_a_replay_gives_the_same_history(running: Node, tree: Path) -> None:
    await read(running, git(tree, "rev-parse", "HEAD"))
    (tree / "new.py").write_text("x = 1\n")
    head = commit(tree, "One more")
    await read(running, head)
    with running.host.read() as snapshot:
        before = commits_of(snapshot.txn, "demo")
    await running.stop("projector")
    for file in (Path(running.settings.state_dir) / "projections").rglob("*.mdb"):
        file.unlink()
    await running.start("projector")
    await read(running, head)
    with running.host.read() as snapshot:
        assert commits_of(snapshot.txn, "demo") == before
    assert first(running, "value quokka overflow") == "delta.py"


async def test_without_git_it_says_so(
    running: Node, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await read(running, git(tree, "rev-parse", "HEAD"))
    monkeypatch.setattr("services.source.gitrepo.shutil.which", lambda _name: None)
    (tree / "new.py").write_text("x = 1\n")
    commit(tree, "One more")
    await read(running, "")
    status = await running.call("repocontext_index_status", repoId="demo")
    assert status.history_commits == 0
    assert "no git" in status.history_notice
