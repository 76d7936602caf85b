"""Links of notes to what is indexed, and patches over it; on a whole node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.errors import Forbidden, InvalidArgument, NotFound
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
KEY = "repo/demo/mem/t/1"
FILE, SYMBOL = "repo/demo/file/a.py", "repo/demo/symbol/a.hello"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ws" / "demo"
    root.mkdir(parents=True)
    (root / "a.py").write_text("def hello():\n    return 1\n")
    (root / "b.py").write_text("def other():\n    return 2\n")
    return root


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    changes = {"mode": "workspace", "embed_provider": "none"}
    async with node(broker, tmp_path / "state", tree.parent, **changes) as started:
        await started.add(tree)
        await reindexed(started, tree)
        yield started


async def reindexed(running: Node, tree: Path) -> None:
    """Wait until a pass over the tree as it is now is over."""

    def over() -> bool:
        with running.host.read() as snapshot:
            state = snapshot.newest_pass("demo")
            recorded = {row.path for row in snapshot.files("demo")}
        return (
            state is not None
            and state.status != "Running"
            and recorded == {path.name for path in tree.iterdir()}
        )

    await running.until(lambda _: over())


async def link(running: Node, *targets: str) -> None:
    await running.call(
        "repocontext_remember", repoId="demo", topic="t", id="1", addLinks={"about": list(targets)}
    )


async def links_of(running: Node) -> tuple[bool, tuple[str, ...] | None, tuple[str, ...] | None]:
    entry = await running.call("repocontext_recall", key=KEY)
    return entry.stale, entry.stale_links, entry.dangling_links


async def test_a_link_goes_stale_with_its_file_and_holds_again_once_it_is_made_anew(
    running: Node, tree: Path
) -> None:
    await link(running, FILE, SYMBOL, "repo/demo/file/b.py", "repo/demo/mem/t/none")
    assert await links_of(running) == (False, None, None)

    (tree / "a.py").write_text("def hello():\n    return 3\n")
    await running.add(tree)
    await reindexed(running, tree)

    assert await links_of(running) == (True, (FILE, SYMBOL), None)
    page = await running.call("repocontext_scan", repoId="demo", scope="Memory")
    assert [(entry.stale, entry.stale_links) for entry in page.entries] == [(None, None)]
    await link(running, FILE, SYMBOL)
    assert await links_of(running) == (False, None, None)


async def test_a_link_to_nothing_dangles_until_it_is_indexed_and_is_stale_until_made_anew(
    running: Node, tree: Path
) -> None:
    late = "repo/demo/file/late.py"
    await link(running, late)
    assert await links_of(running) == (True, (late,), (late,))

    (tree / "late.py").write_text("def late():\n    return 4\n")
    await running.add(tree)
    await reindexed(running, tree)
    assert await links_of(running) == (True, (late,), None)

    await running.call("repocontext_update", key=KEY, removeLinks={"about": [late]})
    assert await links_of(running) == (False, None, None)
    await link(running, late)
    assert await links_of(running) == (False, None, None)
    walked = await running.call("repocontext_neighbors", key=KEY)
    assert [(entry.key, entry.exists) for entry in walked.neighbors] == [(late, True)]
    beyond = await running.call("repocontext_neighbors", key=late)
    assert (beyond.exists, beyond.neighbors, beyond.truncated) == (True, (), False)


async def test_what_was_written_over_a_file_holds_until_it_is_indexed_anew(
    running: Node, tree: Path
) -> None:
    done = await running.call(
        "repocontext_update", key=FILE, fields={"LANGUAGE": "python-2", "sizeBytes": "7"},
        addTags=["hot", "legacy"],
    )  # fmt: skip
    await running.call("repocontext_update", key=FILE, removeTags=["legacy"])
    assert (done.kind, done.fields_updated, done.tags_added) == ("File", 2, 2)
    shown = await running.call("repocontext_recall", key=FILE)
    assert (shown.fields["language"], shown.fields["sizeBytes"]) == ("python-2", "7")
    assert "hot" in shown.tags
    assert "legacy" not in shown.tags

    (tree / "a.py").write_text("def hello():\n    return 33\n")
    await running.add(tree)
    await reindexed(running, tree)

    again = await running.call("repocontext_recall", key=FILE)
    assert (again.fields["language"], again.fields["sizeBytes"]) == ("python", "27")
    assert "hot" in again.tags


async def test_fields_that_a_family_does_not_have_are_refused(running: Node) -> None:
    await running.call(
        "repocontext_update", key="repo/demo", fields={"defaultBranch": "main", "displayName": "D"}
    )
    assert (await running.call("repocontext_recall", key="repo/demo")).fields["defaultBranch"] == "main"  # fmt: skip
    await running.call("repocontext_update", key=SYMBOL, fields={"startLine": "12"})
    assert (await running.call("repocontext_recall", key=SYMBOL)).fields["startLine"] == "12"

    for key, arguments in (
        (FILE, {"fields": {"title": "x"}}),
        (FILE, {"fields": {"sizeBytes": "many"}}),
        (FILE, {"addLinks": {"see": [KEY]}}),
        (FILE, {"fencingToken": 1, "addTags": ["x"]}),
        ("repo/demo/content/a.py", {"fields": {"digest": "x"}}),
    ):
        with pytest.raises(Forbidden):
            await running.call("repocontext_update", key=key, **arguments)
    for endless in (
        {"fields": {"language": "x" * 5_000}},
        {"addTags": ["x" * 201]},
        {"addTags": [str(number) for number in range(1_001)]},
    ):
        with pytest.raises(InvalidArgument):
            await running.call("repocontext_update", key=FILE, **endless)
    with pytest.raises(NotFound):
        await running.call("repocontext_update", key="repo/demo/file/none", addTags=["x"])
    with pytest.raises(Forbidden):
        await running.call("repocontext_forget", key=FILE)
    with pytest.raises(Forbidden):
        await running.call("repocontext_forget", key="repo/demo/file/none", fencingToken=1)
    assert (await running.call("repocontext_forget", key="repo/demo/file/none")).existed is False


async def test_a_reset_keeps_notes_and_drops_what_was_written_over_records(
    running: Node, tree: Path
) -> None:
    await link(running, FILE)
    await running.call("repocontext_update", key=FILE, addTags=["hot"])

    await running.call("repocontext_reset_index", repoId="demo")
    assert await links_of(running) == (True, (FILE,), (FILE,))
    await running.add(tree)
    await reindexed(running, tree)

    assert await links_of(running) == (False, None, None)
    assert "hot" not in (await running.call("repocontext_recall", key=FILE)).tags
