"""The tools' rules, on an indexed tree: bounds, refusals, routes, readiness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from contracts import subjects
from contracts.errors import Fault, Forbidden, InvalidArgument, Unavailable
from services.query.access import LOCAL
from services.query.calls import Calls
from services.query.catalogue import TOOLS
from services.query.host import View
from services.query.metrics import Metrics
from services.query.visibility import Policy
from store.digest import digest_of
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

SERVICE = "class OrderService:\n    def place(self, basket):\n        return basket.total\n"
RARE = "def quokka_feeder():\n    return 'quokka'\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ws" / "demo"
    root.mkdir(parents=True)
    (root / "service.py").write_text(SERVICE)
    (root / "quokka.py").write_text(RARE)
    (root / "long.txt").write_text("é" * 70_000)
    for number in range(6):
        (root / f"common{number}.py").write_text(
            f"def common{number}(value):\n    return value + {number}\n"
        )
    return root


def workspace(tree: Path, **changes: Any) -> dict[str, Any]:
    return {"mode": "workspace", **changes}


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    async with node(broker, tmp_path / "state", tree.parent, mode="workspace") as started:
        await started.add(tree)
        await started.indexed()
        yield started


async def refused(running: Node, tool: str, **arguments: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        await running.call(tool, **arguments)
    return caught.value


async def test_page_size_and_k_are_clamped(running: Node) -> None:
    page = await running.call("repocontext_scan", repoId="demo", scope="Files", pageSize=0)
    assert len(page.entries) == 9
    assert (
        await running.call("repocontext_scan", repoId="demo", scope="Files", pageSize=9999)
    ).has_more is False

    few = await running.call("repocontext_search", repoId="demo", query="value", k=0)
    many = await running.call("repocontext_search", repoId="demo", query="value", k=999)
    assert 0 < len(few.hits) <= 10
    assert len(many.hits) <= 100


async def test_scope_is_case_insensitive_and_an_unknown_one_is_refused(running: Node) -> None:
    page = await running.call("repocontext_scan", repoId="demo", scope="files")
    assert page.entries
    assert isinstance(
        await refused(running, "repocontext_scan", repoId="demo", scope="Everything"),
        InvalidArgument,
    )


async def test_scan_refuses_what_does_not_go_together(running: Node) -> None:
    prefixed = await refused(
        running, "repocontext_scan", repoId="demo", scope="Symbols", pathPrefix="src"
    )
    assert "pathPrefix" in prefixed.message
    assert (
        "topic"
        in (await refused(running, "repocontext_scan", repoId="demo", scope="MemoryTopic")).message
    )
    assert (
        "topic"
        in (
            await refused(
                running, "repocontext_scan", repoId="demo", scope="MemoryTopic", topic=" "
            )
        ).message
    )


async def test_a_continuation_token_is_bound_to_its_arguments(running: Node) -> None:
    first = await running.call("repocontext_scan", repoId="demo", scope="Files", pageSize=1)
    token = first.continuation_token
    assert token

    for arguments in ({"scope": "Symbols"}, {"scope": "Files", "pathPrefix": "src"}):
        fault = await refused(
            running, "repocontext_scan", repoId="demo", continuationToken=token, **arguments
        )
        assert fault.details["reason"] == "continuation_token"
    for damaged in ("x", token[:-2], token + "AA", "é"):
        assert isinstance(
            await refused(
                running, "repocontext_scan", repoId="demo", scope="Files", continuationToken=damaged
            ),
            InvalidArgument,
        )


async def test_a_malformed_key_is_refused_and_a_missing_record_is_not(running: Node) -> None:
    for key in (
        "file/a.py",
        "repo/",
        "repo/demo/nothing/a",
        "repo/demo/mem/topic",
        "repo/demo/file/",
    ):
        assert isinstance(await refused(running, "repocontext_recall", key=key), InvalidArgument)

    missing = await running.call("repocontext_recall", key="repo/demo/file/none.py")
    assert (missing.exists, missing.fields, missing.tags, missing.links) == (False, {}, (), {})
    assert (await running.call("repocontext_recall", key="repo/other/file/a.py")).exists is False


async def test_the_content_record_is_the_first_65536_characters(running: Node) -> None:
    entry = await running.call("repocontext_recall", key="repo/demo/content/long.txt")
    text, left_off = entry.fields["text"], entry.fields["textLeftOff"].split()[0]
    assert text == "é" * (65_536 - int(left_off))  # as much of it as an answer holds


async def test_health_of_the_host_and_of_a_repository(running: Node) -> None:
    host = await running.call("repocontext_health")
    one = await running.call("repocontext_health", repoId="demo")

    assert (
        host.group,
        host.available,
        host.retrieval_ready,
        host.retrieval_phase,
        host.repository,
    ) == ("repocontext", True, True, "serving", None)
    assert (one.retrieval_phase, one.repository.verdict, one.repository.authoritative) == (
        "serving",
        "Serving",
        False,
    )
    assert one.repository.ingest.status == "Completed"
    assert isinstance(await refused(running, "repocontext_health", repoId="  "), InvalidArgument)


async def test_an_unknown_repository_is_no_error_where_the_spec_says_so(running: Node) -> None:
    status = await running.call("repocontext_index_status", repoId="none")
    assert (status.status, status.error, status.files_scanned) == ("None", None, 0)
    assert (await running.call("repocontext_scan", repoId="none", scope="Files")).entries == ()
    assert (await running.call("repocontext_outline", repoId="none", path="a.py")).exists is False
    assert (await running.call("repocontext_related", repoId="none", path="a.py")).exists is False
    assert (await running.call("repocontext_remove_repo", repoId="none")).entries_deleted == 0
    assert (await running.call("repocontext_reset_index", repoId="none")).entries_deleted == 0
    health = await running.call("repocontext_health", repoId="none")
    assert (health.retrieval_ready, health.retrieval_phase) == (False, "nothing_registered")
    listed = await running.call("repocontext_list_repos")
    assert [repo.repo_id for repo in listed.repos] == ["demo"]


async def test_add_repo_answers_running_at_once(running: Node, tree: Path) -> None:
    other = tree.parent / "other"
    other.mkdir()
    (other / "a.py").write_text("a = 1\n")

    answer = await running.call("repocontext_add_repo", path="other")

    assert (answer.repo_id, answer.status) == ("other", "Running")
    await running.indexed("other")
    done = await running.call("repocontext_index_status", repoId="other")
    assert (done.status, done.phase, done.files_scanned, done.attempt) == (
        "Completed",
        "Done",
        1,
        1,
    )


async def test_a_path_that_leaves_the_workspace_is_refused(
    running: Node, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tree.parent / "link").symlink_to(tmp_path / "outside")

    for path in ("../outside", str(tmp_path / "outside"), "link", "demo/../../outside"):
        fault = await refused(running, "repocontext_add_repo", path=path)
        assert isinstance(fault, Forbidden)
    assert isinstance(
        await refused(running, "repocontext_changed", repoId="demo", path=str(tree.parent)),
        Forbidden,
    )
    assert (await running.call("repocontext_list_repos")).count == 1


async def test_a_large_file_is_recorded_with_the_reason_and_found_by_its_path(
    running: Node, tree: Path
) -> None:
    (tree / "ginormous.py").write_text("x = 1\n" * 200_000)
    await running.add(tree)
    await running.until(lambda s: s.file("demo", "ginormous.py") is not None)

    entry = await running.call("repocontext_recall", key="repo/demo/file/ginormous.py")
    assert entry.fields["skipped"] == "too_large"
    assert "1,200,000" in entry.fields["skippedDetail"]
    found = await running.call("repocontext_search", repoId="demo", query="ginormous")
    assert found.hits[0].entry.path == "ginormous.py"


async def test_without_an_embedder_answers_are_by_keyword_and_ready(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent, embed_provider="none") as started:
        await started.add(tree)
        await started.until(
            lambda s: (state := s.newest_pass("demo")) is not None and state.status == "Completed"
        )

        by_name = await started.call("repocontext_search", repoId="demo", query="quokka")
        by_body = await started.call("repocontext_search", repoId="demo", query="basket")
        health = await started.call("repocontext_health", repoId="demo")

    assert health.repository.vector_coverage.pending is False  # nobody makes any
    assert (by_name.mode, by_name.retrieval_path) == ("keyword", "keyword.no_embedder")
    assert by_name.hits[0].entry.path == "quokka.py"
    assert by_name.hits[0].reasons[0] == "path-name-match"
    assert "content-match" in by_body.hits[0].reasons
    assert (health.retrieval_ready, health.retrieval_phase) == (True, "keyword_only")


async def test_an_unreachable_embedder_is_told_and_keyword_answers_go_on(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    remote = {"embed_provider": "http", "embed_url": "http://127.0.0.1:9/v1", "embed_model": "m"}
    async with node(broker, tmp_path / "state", tree.parent, **remote) as started:
        await started.add(tree)
        await started.until(lambda s: len(list(s.files("demo"))) == 9)
        found = await started.call("repocontext_search", repoId="demo", query="basket")
        health = await started.call("repocontext_health", repoId="demo")

    assert (found.mode, found.retrieval_path) == ("keyword", "keyword.vector_plane_unavailable")
    assert found.hits[0].entry.path == "service.py"
    assert (health.retrieval_ready, health.retrieval_phase) == (False, "building")


async def test_a_part_of_a_name_finds_it(running: Node) -> None:
    found = await running.call("repocontext_search", repoId="demo", query="order")
    assert found.hits[0].entry.path == "service.py"


async def test_the_same_query_gives_the_same_answer(running: Node) -> None:
    first = await running.call("repocontext_search", repoId="demo", query="common value return")
    again = await running.call("repocontext_search", repoId="demo", query="common value return")

    assert first == again
    paths = [hit.entry.path for hit in first.hits]
    assert len(paths) == len(set(paths))


async def test_an_empty_repository_is_not_ready_and_the_host_is(
    broker: Broker, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    async with node(broker, tmp_path / "state", tmp_path, mode="workspace") as started:
        assert (await started.call("repocontext_health")).retrieval_ready
        await started.add(tmp_path / "empty", "empty")
        await started.indexed("empty")
        health = await started.call("repocontext_health", repoId="empty")
        found = await started.call("repocontext_search", repoId="empty", query="anything")

    assert (health.retrieval_ready, health.retrieval_phase) == (False, "nothing_registered")
    assert (found.mode, found.hits) == ("empty", ())


async def test_two_mistakes_raise_the_client_error_counter_by_two(running: Node) -> None:
    metrics = Metrics(running.host)
    for _ in range(2):
        metrics.on_call("repocontext_scan", 0.001, "mistake", "path_prefix")

    text = metrics.exposition().decode()

    assert (
        'repocontext_client_errors_total{reason="path_prefix",tool="repocontext_scan"} 2.0' in text
    )
    assert 'repofold_files{repository="demo"} 9.0' in text


async def test_a_poison_job_is_parked_and_the_rest_goes_on(running: Node, tree: Path) -> None:
    await (await running.bus.put(subjects.extract_job("demo", "poison.py"), b"\xc1 no job at all"))
    (tree / "after.py").write_text("after = True\n")
    await running.add(tree)

    await running.until(lambda s: s.file("demo", "after.py") is not None)
    async with asyncio.timeout(20):
        while (await running.bus.api("STREAM.INFO.DEAD", {}))["state"]["messages"] != 1:
            await asyncio.sleep(0.02)


async def test_a_failed_pass_is_told_and_the_next_one_heals_it(running: Node, tree: Path) -> None:
    moved = tree.with_name("away")
    tree.rename(moved)
    await running.add(tree)
    await running.until(
        lambda s: (state := s.newest_pass("demo")) is not None and state.status == "Failed"
    )
    status = await running.call("repocontext_index_status", repoId="demo")
    assert status.error
    assert len(running.paths()) == 9  # what cannot be seen is not taken for deleted

    moved.rename(tree)
    await running.add(tree)
    await running.until(
        lambda s: (state := s.newest_pass("demo")) is not None and state.status == "Completed"
    )


async def test_every_message_doubled_and_late_changes_nothing(running: Node, tree: Path) -> None:
    before: list[tuple[str, bytes]] = []
    for path in running.paths():
        for subject in (subjects.file_record("demo", path), subjects.file_vectors("demo", path)):
            found = await running.bus.last_message(subject, "INDEX")
            if found is not None:
                before.append((subject, found[2]))
    (tree / "service.py").write_text(SERVICE.replace("place", "submit"))
    await running.add(tree)
    await running.until(lambda s: bool(s.declaring("demo", "service.OrderService.submit")))
    await running.indexed()
    with running.host.read() as snapshot:
        content = digest_of(snapshot.txn)
        end = snapshot.positions().index

    extractor, embedder = running.parts["extractor"].bus, running.parts["embedder"].bus
    for subject, data in before:
        if ".file." in subject:
            with pytest.raises(Fault):
                await extractor.append_newer(subject, data, version=1, expected=0)
        else:
            await (await embedder.put(subject, data))
    await running.host.wait_for(0, end + 1)
    await running.indexed()

    with running.host.read() as snapshot:
        assert digest_of(snapshot.txn) == content


async def test_who_refers_to_a_name_can_be_recalled(running: Node, tree: Path) -> None:
    (tree / "shop.py").write_text(
        "from service import OrderService\n\ndef sell(basket):\n    return OrderService().place(basket)\n"
    )
    (tree / "test_service.py").write_text(
        "from service import OrderService\n\nclass OrderServiceTests:\n    def test_place(self):\n        OrderService()\n"
    )
    await running.add(tree)
    await running.until(
        lambda s: (
            s.file("demo", "shop.py") is not None and s.file("demo", "test_service.py") is not None
        )
    )

    entry = await running.call("repocontext_recall", key="repo/demo/xref/OrderService")

    assert (entry.exists, entry.kind) == (True, "CrossReference")
    assert "shop.sell (shop.py)" in entry.fields["dependents"].splitlines()
    assert "test_service.OrderServiceTests (test_service.py)" in entry.fields["tests"].splitlines()
    assert entry.fields["dependentCount"] == str(len(entry.fields["dependents"].splitlines()))
    assert (
        await running.call("repocontext_recall", key="repo/demo/xref/NobodyKnowsThis")
    ).exists is False


async def test_a_file_is_found_however_its_path_is_written(running: Node, tree: Path) -> None:
    (tree / "src").mkdir()
    (tree / "src" / "inner.py").write_text("def inner():\n    return 1\n")
    (tree / "back\\slash.py").write_text("def odd():\n    return 1\n")
    await running.add(tree)
    await running.until(
        lambda s: (
            s.file("demo", "src/inner.py") is not None
            and s.file("demo", "back\\slash.py") is not None
        )
    )

    for written in (
        "src/inner.py",
        "./src/inner.py",
        "/src/inner.py",
        "src//inner.py",
        "src/./inner.py",
        "src/../src/inner.py",
        "src\\inner.py",
        str(tree / "src" / "inner.py"),
    ):
        outline = await running.call("repocontext_outline", repoId="demo", path=written)
        assert (outline.exists, outline.path) == (True, "src/inner.py"), written
        assert (
            await running.call("repocontext_related", repoId="demo", path=written)
        ).path == "src/inner.py"
    odd = await running.call("repocontext_outline", repoId="demo", path="back\\slash.py")
    assert [symbol.signature for symbol in odd.symbols] == ["def odd()"]
    for written in ("src", "src/", "/src", "./src", "src/.", "src/../src", str(tree / "src")):
        page = await running.call(
            "repocontext_scan", repoId="demo", scope="Files", pathPrefix=written
        )
        assert [entry.path for entry in page.entries] == ["src/inner.py"], written
    first = await running.call(
        "repocontext_scan", repoId="demo", scope="Files", pathPrefix="/", pageSize=1
    )
    rest = await running.call(
        "repocontext_scan", repoId="demo", scope="Files", continuationToken=first.continuation_token
    )
    everything = await running.call("repocontext_scan", repoId="demo", scope="Files")
    assert first.entries + rest.entries == everything.entries
    for written in ("", ".", "/", "src/..", str(tree)):
        page = await running.call(
            "repocontext_scan", repoId="demo", scope="Files", pathPrefix=written
        )
        assert page == everything, written
    for elsewhere in ("..", "sr", "src/inner.py", str(tree.parent)):
        page = await running.call(
            "repocontext_scan", repoId="demo", scope="Files", pathPrefix=elsewhere
        )
        assert page.entries == (), elsewhere
    for elsewhere in ("../src/inner.py", str(tree.parent / "src" / "inner.py"), "src", "."):
        assert (
            await running.call("repocontext_outline", repoId="demo", path=elsewhere)
        ).exists is False


async def test_drift_is_told_below_any_directory_even_one_that_is_gone(
    running: Node, tree: Path
) -> None:
    for folder in ("kept", "gone"):
        (tree / folder).mkdir()
        (tree / folder / "a.py").write_text("value = 1\n")
    await running.add(tree)
    await running.until(
        lambda s: (
            s.file("demo", "kept/a.py") is not None and s.file("demo", "gone/a.py") is not None
        )
    )
    (tree / "gone" / "a.py").unlink()
    (tree / "gone").rmdir()
    (tree / "kept" / "a.py").write_text("value = 2  # other\n")
    (tree / "kept" / "b.py").write_text("value = 3\n")

    async def drift(path: str) -> tuple[tuple[str, ...], ...]:
        found = await running.call("repocontext_changed", repoId="demo", path=path)
        return found.added, found.updated, found.removed

    assert await drift("gone") == ((), (), ("gone/a.py",))
    assert await drift("kept") == (("kept/b.py",), ("kept/a.py",), ())
    assert await drift("kept/a.py") == ((), ("kept/a.py",), ())
    (tree.parent / "gone").mkdir()  # of that name below the workspace, and nobody's
    assert await drift("gone") == ((), (), ("gone/a.py",))
    everything = (("kept/b.py",), ("kept/a.py",), ("gone/a.py",))
    assert await drift(".") == await drift("demo") == await drift(str(tree)) == everything
    assert (
        "nothing at 'never'"
        in (await refused(running, "repocontext_changed", repoId="demo", path="never")).message
    )
    tree.rename(tree.parent / "moved")
    assert (
        f"no folder at {tree}"
        in (await refused(running, "repocontext_changed", repoId="demo", path=".")).message
    )


async def test_a_question_of_unknown_words_does_not_make_a_repository_unready(
    running: Node,
) -> None:
    found = await running.call("repocontext_search", repoId="demo", query="zqxjkv")
    health = await running.call("repocontext_health", repoId="demo")

    assert (found.mode, found.retrieval_path) == ("empty", "keyword.vector_plane_unavailable")
    assert (health.retrieval_ready, health.retrieval_phase) == (True, "serving")


async def test_a_question_asked_too_early_does_not_make_a_repository_unready_for_good(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent, mode="workspace") as started:
        await started.stop("embedder")
        await started.add(tree)
        await started.until(lambda s: len(list(s.files("demo"))) == 9)
        early = await started.call("repocontext_search", repoId="demo", query="place the order")
        before = await started.call("repocontext_health", repoId="demo")
        await started.start("embedder")
        await started.indexed()
        after = await started.call("repocontext_health", repoId="demo")

    assert early.retrieval_path == "keyword.vector_plane_unavailable"
    assert (before.retrieval_ready, before.retrieval_phase) == (False, "building")
    assert (after.retrieval_ready, after.retrieval_phase) == (True, "serving")


async def test_a_proven_repository_stays_ready_for_a_while_after_a_fault(running: Node) -> None:
    embedder = running.host.retrieval.embedder
    await running.call("repocontext_search", repoId="demo", query="common value return")
    embedder.fault = Unavailable("the model went away")
    await running.call("repocontext_search", repoId="demo", query="zqxjkv")  # no vector to be had

    held = await running.call("repocontext_health", repoId="demo")
    running.host.retrieval.last["demo"].faulty_since_ms -= 31_000
    later = await running.call("repocontext_health", repoId="demo")
    embedder.fault = None
    await running.call("repocontext_search", repoId="demo", query="common value return")
    healed = await running.call("repocontext_health", repoId="demo")

    assert held.retrieval_ready
    assert "keyword.vector_plane_unavailable" in held.repository.reason
    assert (later.retrieval_ready, later.retrieval_phase) == (False, "building")
    assert (healed.retrieval_ready, healed.repository.reason) == (True, None)


async def test_a_repository_whose_last_file_is_deleted_keeps_nobody_waiting(
    broker: Broker, tmp_path: Path
) -> None:
    root = tmp_path / "one"
    root.mkdir()
    (root / "only.py").write_text("def only():\n    return 1\n")
    async with node(broker, tmp_path / "state", tmp_path, mode="workspace", watch=True) as started:
        await started.add(root, "one")
        await started.indexed("one")
        (root / "only.py").unlink()
        await started.until(lambda s: not list(s.files("one")))
        health = await started.call("repocontext_health", repoId="one")

    assert (health.retrieval_ready, health.retrieval_phase) == (False, "nothing_registered")


async def test_a_repository_of_binaries_only_has_nothing_registered(
    broker: Broker, tmp_path: Path
) -> None:
    (tmp_path / "binaries").mkdir()
    (tmp_path / "binaries" / "logo.bin").write_bytes(b"\0\1\2")
    async with node(broker, tmp_path / "state", tmp_path, mode="workspace") as started:
        await started.add(tmp_path / "binaries", "binaries")
        await started.indexed("binaries")
        health = await started.call("repocontext_health", repoId="binaries")

    assert (health.retrieval_ready, health.retrieval_phase) == (False, "nothing_registered")


async def test_a_reset_repository_says_how_to_go_on(running: Node) -> None:
    await running.call("repocontext_reset_index", repoId="demo")
    health = await running.call("repocontext_health", repoId="demo")

    assert (health.retrieval_ready, health.retrieval_phase) == (False, "building")
    assert "repocontext_add_repo" in health.status
    assert (
        "repocontext_add_repo"
        in (await refused(running, "repocontext_changed", repoId="demo", path=".")).hint
    )


async def test_what_cannot_be_onboarded_is_refused_at_once(running: Node) -> None:
    for globs in ({"includeGlobs": ["["]}, {"excludeGlobs": [""]}):
        fault = await refused(running, "repocontext_add_repo", path="demo", **globs)
        assert fault.details["reason"] == "dead_glob"
    for globs in ({"includeGlobs": ["x" * 1_001]}, {"excludeGlobs": ["*.py"] * 501}):
        fault = await refused(running, "repocontext_add_repo", path="demo", **globs)
        assert fault.details["reason"] == "globs"
    for repo_id in ("x" * 201, "a\nb", "\u202e"):
        fault = await refused(running, "repocontext_add_repo", path="demo", repoId=repo_id)
        assert fault.details["reason"] == "repo_id"
    status = await running.call("repocontext_index_status", repoId="demo")
    assert (status.status, status.attempt) == ("Completed", 1)


async def test_the_workspace_itself_is_named_after_its_folder(running: Node, tree: Path) -> None:
    for path in (".", "./", "demo/.."):
        answer = await running.call("repocontext_add_repo", path=path)
        assert answer.repo_id == tree.parent.name


async def test_only_a_symbol_that_most_of_the_passage_belongs_to_is_shown_with_a_hit(
    running: Node, tree: Path
) -> None:
    (tree / "pair.py").write_text(
        "def first_wombat():\n    return 'stone'\n\n\ndef second_wombat():\n    return 'gravel'\n"
    )
    await running.add(tree)
    await running.until(lambda s: s.file("demo", "pair.py") is not None)
    await running.indexed()

    found = await running.call("repocontext_search", repoId="demo", query="gravel stone")

    hit = next(hit for hit in found.hits if hit.entry.path == "pair.py")
    assert hit.entry.fields["matchLines"] == "1-6"
    assert "matchSymbol" not in hit.entry.fields


async def test_a_path_that_leads_outside_counts_as_the_callers_mistake(running: Node) -> None:
    metrics = Metrics(running.host)
    calls = Calls(lambda caller: View(running.host, caller), Policy(mode="workspace"), metrics)

    for tool, arguments in (
        ("repocontext_add_repo", {"path": "../outside"}),
        ("repocontext_changed", {"repoId": "demo", "path": ".."}),
    ):
        result = await calls.run(TOOLS[tool], arguments, LOCAL)
        assert result["isError"]

    text = metrics.exposition().decode()
    for tool, reason in (("add_repo", "outside"), ("changed", "path_outside_root")):
        counted = (
            f'repocontext_client_errors_total{{reason="{reason}",tool="repocontext_{tool}"}} 1.0'
        )
        assert counted in text


async def test_what_thousands_refer_to_is_told_in_short_with_its_count(
    running: Node, tree: Path
) -> None:
    uses = "".join(f"def use{number}():\n    return OrderService()\n\n\n" for number in range(60))
    for name in ("many_a.py", "many_b.py", "test_many.py"):
        (tree / name).write_text(f"from service import OrderService\n\n\n{uses}")
    await running.add(tree)
    await running.until(lambda s: len(list(s.files("demo"))) == 12)

    related = await running.call("repocontext_related", repoId="demo", path="service.py")
    entry = await running.call("repocontext_recall", key="repo/demo/xref/OrderService")

    assert (related.dependent_count, len(related.dependents)) == (180, 100)
    assert {each.path for each in related.dependents} == {"many_a.py", "many_b.py"}
    order = [(each.path, each.symbol) for each in related.dependents]
    assert order == sorted(order)
    assert (related.test_count, len(related.tests)) == (60, 60)
    assert entry.fields["dependentCount"] == "180"
    assert len(entry.fields["dependents"].splitlines()) == 100
