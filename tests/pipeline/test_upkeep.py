"""An index that heals itself: whatever is lost, wrong or failed is made good without a call."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Unavailable
from contracts.events.commands import AddRepo, ResetIndex
from contracts.events.index import PassChanged
from contracts.events.log import WalkFilters
from contracts.events.progress import WorkerState
from contracts.ids import RepoId
from contracts.tools.repocontext import IndexStatus
from ops import cli
from services.kernel.bus import Msg
from services.kernel.consumer import Delivery, Outbox
from services.memory.main import Registry
from services.walker.main import Walker
from store import keys, location
from store.digest import digest_of
from store.read.live import Snapshot
from store.rows import PassRow
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

FILES = {f"part{number}.py": f"def part{number}():\n    return {number}\n" for number in range(5)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ws" / "demo"
    root.mkdir(parents=True)
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    # An audit is due at every cycle; cycles come when a test moves the clock.
    async with node(
        broker, tmp_path / "state", tree.parent, mode="workspace", audit_seconds=1
    ) as started:
        await started.add(tree)
        await started.indexed()
        yield started


def walker(running: Node) -> Walker:
    found = running.parts["walker"].services[0]
    assert isinstance(found, Walker)
    return found


async def tick(running: Node, seconds: float = 15.0) -> None:
    """Let time pass for the maintainer, then have it look."""
    maintainer = walker(running).maintainer
    then = maintainer.clock() + seconds
    maintainer.clock = lambda: then
    await walker(running).look_after_all()


def newest(running: Node) -> PassRow:
    with running.host.read() as snapshot:
        state = snapshot.newest_pass("demo")
    assert state is not None
    return state


async def passed(running: Node, reason: str) -> PassRow:
    """The end of a pass that was begun for this reason."""

    def over(snapshot: Snapshot) -> bool:
        state = snapshot.newest_pass("demo")
        return state is not None and state.reason == reason and state.status != "Running"

    await running.until(over)
    await running.indexed()
    return newest(running)


def digest(running: Node) -> str:
    with running.host.read() as snapshot:
        return digest_of(snapshot.txn)


async def purge(running: Node, pattern: str) -> None:
    await running.bus.api("STREAM.PURGE.INDEX", {"filter": pattern})


async def replay(running: Node) -> None:
    await running.bus.request(subjects.replay_request(running.settings.node), b"", 20)


async def test_vectors_lost_with_a_machine_are_made_again_without_reading_a_file(
    running: Node, tree: Path
) -> None:
    before = digest(running)
    jobs: list[str] = []

    async def issued(message: Any) -> None:
        jobs.append(message.subject)

    await running.bus.subscribe("work.extract.>", issued)
    await purge(running, "index.demo.vec.>")
    await replay(running)
    await running.until(lambda s: s.repo("demo").counters.embedded == 0)  # type: ignore[union-attr]

    await tick(running)  # seen once it may be on its way
    assert newest(running).attempt == 1
    await tick(running)

    assert (await passed(running, "gap")).attempt == 2
    assert digest(running) == before
    assert jobs == []


async def test_a_body_and_a_text_that_are_gone_come_back_from_the_stream(running: Node) -> None:
    before = digest(running)
    environment = running.parts["projector"].services[0]._env
    with running.host.read() as snapshot:
        sequences = [row.sequence for row in snapshot.files("demo")]
    with environment.write() as txn:
        for table, sequence in (("bodies", sequences[0]), ("texts", sequences[1])):
            assert txn.delete(table, keys.sequence(keys.repo("demo"), sequence))
        assert txn.sweep("symbols", keys.repo("demo"))
    assert digest(running) != before

    await running.add(Path(walker(running)._watched["demo"].row.root))
    await running.until(lambda s: s.newest_pass("demo").attempt == 2)  # type: ignore[union-attr]
    await running.indexed()

    assert digest(running) == before


async def test_a_run_that_failed_before_its_first_record_is_driven_again_by_itself(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    away = tree.with_name("away")
    tree.rename(away)
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.add(tree)
        await started.until(
            lambda s: (state := s.newest_pass("demo")) is not None and state.status == "Failed"
        )
        assert started.paths() == []
        away.rename(tree)

        await tick(started)

        assert (await passed(started, "failed")).status == "Completed"
        assert started.paths() == sorted(FILES)


async def test_a_pass_whose_job_was_lost_is_resumed_under_its_own_number(running: Node) -> None:
    lost = PassChanged(
        pass_id="lost", reason="onboard", status="Running", phase="Pending", attempt=7,
        started_ms=now_ms() - 600_000, updated_ms=now_ms() - 600_000,
    )  # fmt: skip
    with running.host.read() as snapshot:
        generation = snapshot.repo("demo").index_generation  # type: ignore[union-attr]
    envelope = Envelope(
        id=new_id(), repo=RepoId("demo"), generation=generation, at_ms=now_ms(),
        producer="memory", event=lost,
    )  # fmt: skip
    await (await running.bus.put(subjects.repo_pass("demo"), encode(envelope)))
    await running.until(lambda s: s.newest_pass("demo").pass_id == "lost")  # type: ignore[union-attr]

    await tick(running)

    done = await passed(running, "resume")
    assert (done.pass_id, done.attempt, done.status) == ("lost", 7, "Completed")


async def test_an_edit_that_left_size_and_time_alone_is_found_by_the_audit(
    running: Node, tree: Path
) -> None:
    victim = tree / "part3.py"
    status = victim.stat()
    victim.write_text(FILES["part3.py"].replace("part3", "trap3"))
    os.utime(victim, ns=(status.st_atime_ns, status.st_mtime_ns))
    await running.add(tree)
    await running.until(lambda s: s.newest_pass("demo").attempt == 2)  # type: ignore[union-attr]
    await running.indexed()
    with running.host.read() as snapshot:
        assert not snapshot.declaring("demo", "part3.trap3")

    await tick(running, 10_000)

    done = await passed(running, "audit")
    assert (done.files_updated, done.files_unchanged, done.files_scanned) == (1, 4, 5)
    assert "differed" in done.notice
    assert done.audited_ms > 0
    with running.host.read() as snapshot:
        assert snapshot.declaring("demo", "part3.trap3")


async def test_an_audit_of_a_sound_index_changes_nothing_and_is_remembered(
    broker: Broker, tmp_path: Path, running: Node, tree: Path
) -> None:
    before = digest(running)
    with running.host.read() as snapshot:
        position = snapshot.positions().index

    await tick(running, 10_000)
    done = await passed(running, "audit")
    with running.host.read() as snapshot:
        written = snapshot.positions().index - position
    await running.add(tree)
    await running.until(lambda s: s.newest_pass("demo").attempt == 3)  # type: ignore[union-attr]
    await running.indexed()

    assert (done.files_updated, done.notice) == (0, "")
    assert written <= 8  # states of the pass; no record and no anchor of any file
    assert digest(running) == before
    assert newest(running).audited_ms == done.audited_ms


async def test_a_record_that_the_stream_lost_is_made_again_by_the_audit(running: Node) -> None:
    before = digest(running)
    subject = subjects.file_record("demo", "part1.py")
    await purge(running, subject)

    await tick(running, 10_000)
    await passed(running, "audit")

    assert await running.bus.last_message(subject, "INDEX") is not None
    await replay(running)
    await running.indexed()
    assert digest(running) == before


async def test_a_failed_extract_is_tried_again_by_the_audit(
    running: Node, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import services.extractor.main as extractor

    good = extractor.extract_files

    def poisoned(files: Any, packed: Any) -> Any:
        if any(path == "odd.py" for path, _ in files):
            raise ValueError("poison")
        return good(files, packed)

    monkeypatch.setattr(extractor, "extract_files", poisoned)
    consumer = running.parts["extractor"].services[0]
    consumer._policy = type(consumer._policy)(batch=32, max_deliver=1)
    (tree / "odd.py").write_text("def odd(): ...\n")
    await running.add(tree)
    await running.until(lambda s: s.file("demo", "odd.py") is not None)
    await running.indexed()
    with running.host.read() as snapshot:
        assert snapshot.file("demo", "odd.py").skipped == "extract_failed"  # type: ignore[union-attr]
    monkeypatch.setattr(extractor, "extract_files", good)

    await tick(running, 10_000)
    await passed(running, "audit")

    with running.host.read() as snapshot:
        assert snapshot.declaring("demo", "odd.odd")


async def test_a_damaged_projection_is_waited_for_and_then_looked_after_again(
    running: Node, tree: Path
) -> None:
    workers = ("walker", "reconciler", "projector")
    running.host.projections.close()
    await running.stop(*workers, "resolver")
    for data in running.settings.projections.glob("env-*/data.mdb"):
        with data.open("r+b") as file:
            file.write(b"\xff" * 16384)
    (tree / "part1.py").write_text("def changed_meanwhile():\n    return 1\n")

    await running.start("walker", "reconciler")
    assert not walker(running)._watched
    damaged = location.current(running.settings.projections)
    await running.start("projector")
    async with asyncio.timeout(30):
        while location.current(running.settings.projections) == damaged:
            folded = running.host.folded
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(folded.wait(), 0.5)

    def is_changed(snapshot: Snapshot) -> bool:
        file = snapshot.file("demo", "part1.py")
        body = None if file is None else snapshot.body("demo", file.sequence)
        return body is not None and body.symbols[0].name == "changed_meanwhile"

    await running.until(is_changed)


async def test_what_was_removed_or_reset_is_looked_after_no_more(running: Node, tree: Path) -> None:
    await running.call("repocontext_reset_index", repoId="demo")
    await running.until(lambda s: s.repo("demo").state == "reset")  # type: ignore[union-attr]
    while "demo" in walker(running)._watched:
        await walker(running)._sync()
    for _ in range(3):
        await tick(running, 100_000)
    assert newest(running).reason == "reset"

    await running.add(tree)
    await running.until(lambda s: len(list(s.files("demo"))) == len(FILES))
    await running.indexed()
    await tick(running, 100_000)
    assert (await passed(running, "audit")).status == "Completed"


async def test_a_reset_tells_what_it_swept(running: Node, tree: Path) -> None:
    answer = await running.call("repocontext_reset_index", repoId="demo")

    status = await running.call("repocontext_index_status", repoId="demo")
    assert (status.status, status.phase, status.pacing) == ("Completed", "Done", None)
    assert status.trees_swept == answer.trees_swept
    assert {"files", "texts", "symbols", "vectors"} <= set(status.trees_swept)
    assert status.entries_deleted == answer.entries_deleted > 0
    assert (status.chunks_total, status.files_embedded, status.attempt) == (0, 0, 1)

    await running.add(tree)
    await running.until(lambda s: s.newest_pass("demo").attempt == 2)  # type: ignore[union-attr]
    await running.indexed()
    after = await running.call("repocontext_index_status", repoId="demo")
    assert (after.trees_swept, after.entries_deleted, after.files_added) == ((), 0, 5)


class Failing:
    """The bus of a worker that is cut off at its n-th operation, once."""

    def __init__(self, bus: Any, at: int) -> None:
        self._bus, self._left = bus, at

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise Unavailable("cut off here")

    async def put(self, *arguments: Any, **named: Any) -> Any:
        self._step()
        return await self._bus.put(*arguments, **named)

    async def api(self, *arguments: Any, **named: Any) -> Any:
        self._step()
        return await self._bus.api(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)


def delivered(command: Any, number: str, sequence: int = 10) -> Any:
    """A command as the broker hands it over."""
    envelope = Envelope(
        id=number, repo=RepoId("demo"), at_ms=now_ms(), producer="query", event=command
    )
    reply = f"$JS.ACK.CMD.memory.1.{sequence}.1.{now_ms() * 1_000_000}.0"
    return Delivery(envelope, Msg(cast("Any", None), "cmd.repo.demo", reply), sequence, 1)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 9, 14])
async def test_a_reset_cut_off_at_any_step_is_finished_by_its_second_delivery(
    step: int, running: Node
) -> None:
    bus = running.parts["memory"].bus
    registry = Registry(Failing(bus, step))  # type: ignore[arg-type]
    command = delivered(ResetIndex(repo_id=RepoId("demo"), principal="test"), f"reset-{step}")

    with pytest.raises(Unavailable):
        await registry.handle([command], Outbox(bus))
    await registry.handle([command], Outbox(bus))
    await registry.handle([command], Outbox(bus))
    told = await running.bus.last(subjects.repo_pass("demo"))
    assert told is not None

    def over(snapshot: Snapshot) -> bool:
        state = snapshot.newest_pass("demo")
        is_told = snapshot.positions().index >= told[0]
        return is_told and (
            state is not None and (state.reason, state.status) == ("reset", "Completed")
        )

    await running.until(over)
    with running.host.read() as snapshot:
        row = snapshot.repo("demo")
    assert row is not None
    assert (row.index_generation, list(running.paths())) == (2, [])
    for family in ("file", "anchor", "vec"):
        pattern = f"index.demo.{family}.>"
        info = await running.bus.api("STREAM.INFO.INDEX", {"subjects_filter": pattern})
        assert not info["state"].get("subjects")
    status = await running.call("repocontext_index_status", repoId="demo")
    assert (status.status, status.phase) == ("Completed", "Done")


async def test_a_reset_that_is_delivered_again_after_a_new_onboarding_changes_nothing(
    running: Node, tree: Path
) -> None:
    bus = running.parts["memory"].bus
    registry = Registry(bus)
    command = delivered(ResetIndex(repo_id=RepoId("demo"), principal="test"), "reset-late")
    await registry.handle([command], Outbox(bus))
    added = AddRepo(repo_id=RepoId("demo"), root=str(tree), filters=WalkFilters(), principal="test")
    await registry.handle([delivered(added, "add-late", 11)], Outbox(bus))

    def again(snapshot: Snapshot) -> bool:
        row = snapshot.repo("demo")
        return row is not None and (row.index_generation, row.counters.files) == (3, len(FILES))

    await running.until(again)
    await running.indexed()
    before = digest(running)

    await registry.handle([command], Outbox(bus))

    found = await running.bus.last_message(subjects.repo_log("demo"), "LOG")
    assert found is not None
    assert found[1]["Nats-Msg-Id"] == "add-late"
    await replay(running)
    assert digest(running) == before


async def test_a_reset_that_a_new_onboarding_overtook_is_not_carried_out_any_more(
    running: Node, tree: Path
) -> None:
    """Its worker died with it in hand; it comes again when the node has long been up."""
    registry = Registry(running.parts["memory"].bus)
    registry._may_overtake = _yes  # type: ignore[method-assign]
    out = Outbox(running.parts["memory"].bus)
    added = AddRepo(repo_id=RepoId("demo"), root=str(tree), filters=WalkFilters(), principal="test")
    await registry.handle([delivered(added, "add-11", 11)], out)
    await running.until(lambda s: s.newest_pass("demo").attempt == 2)  # type: ignore[union-attr]
    await running.indexed()
    before = digest(running)
    reset = ResetIndex(repo_id=RepoId("demo"), principal="test")

    await registry.handle([delivered(reset, "reset-10", 10)], out)

    found = await running.bus.last_message(subjects.repo_log("demo"), "LOG")
    assert found is not None
    assert found[1]["Nats-Msg-Id"] == "add-11"
    await replay(running)
    assert digest(running) == before


async def _yes() -> bool:
    return True


async def test_the_status_of_a_running_pass_tells_its_pace(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.stop("walker")
        await started.add(tree)
        status = await started.call("repocontext_index_status", repoId="demo")
        assert (status.status, status.phase, status.pacing.state) == ("Running", "Pending", "Idle")

        await started.start("walker")
        await started.indexed()
        with started.host.foreground.request():
            await started.call("repocontext_search", repoId="demo", query="part")
        heard = walker(started).foreground
        while not heard.lately():
            await started.bus.client.flush()
            await started.parts["walker"].bus.client.flush()
        status = await started.call("repocontext_index_status", repoId="demo")
        assert (status.status, status.pacing) == ("Completed", None)
        assert "extractor" in started.host.paces._heard


async def test_pacing_that_is_switched_off_says_so(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent, pacing=False) as started:
        await started.stop("walker")
        await started.add(tree)
        status = await started.call("repocontext_index_status", repoId="demo")
    assert status.pacing.state == "Disabled"


async def test_a_pass_waits_for_vectors_that_are_still_to_be_made(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.stop("embedder")
        await started.add(tree)
        await started.until(
            lambda s: (state := s.newest_pass("demo")) is not None and state.phase == "Vectorising"
        )
        status = await started.call("repocontext_index_status", repoId="demo")
        assert (status.status, status.files_embedded, status.chunks_total) == ("Running", 0, 5)

        await started.start("embedder")
        await started.indexed()

        done = await started.call("repocontext_index_status", repoId="demo")
        assert (done.status, done.files_embedded, done.chunks_committed) == ("Completed", 5, 5)
        assert newest(started).notice == ""


async def test_a_pass_does_not_wait_for_an_embedder_that_is_down_and_loses_no_count(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.reconciler.main.STUCK_S", 0.0)
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.stop("embedder")
        down = WorkerState(worker="embedder", state="down", detail="refused")
        told = encode(Envelope(id="down", at_ms=now_ms(), producer="embedder", event=down))
        await (await started.bus.put(subjects.progress("", "embedder"), told))
        await started.add(tree)
        await started.until(
            lambda s: (state := s.newest_pass("demo")) is not None and state.status == "Completed"
        )
        status = await started.call("repocontext_index_status", repoId="demo")
        assert (status.files_added, status.chunks_total, status.chunks_committed) == (5, 5, 0)
        assert newest(started).notice == "5 files wait for their vectors"
        told_health = await started.call("repocontext_health", repoId="demo")
        assert (told_health.retrieval_phase, told_health.repository.vector_coverage.pending) == (
            "building",
            True,
        )

        await started.start("embedder")  # A17: it comes back, and nobody calls
        await started.indexed()

        status = await started.call("repocontext_index_status", repoId="demo")
        assert (status.files_added, status.chunks_committed, status.files_embedded) == (5, 5, 5)


async def test_a_client_that_leaves_right_after_asking_does_not_stop_the_pass(
    running: Node, tree: Path
) -> None:
    other = tree.parent / "other"
    other.mkdir()
    (other / "lone.py").write_text("def lone(): ...\n")
    heard = asyncio.Event()

    async def asked(_: Any) -> None:
        heard.set()

    await running.bus.subscribe("cmd.repo.other", asked)
    call = asyncio.create_task(running.call("repocontext_add_repo", path="other"))
    await heard.wait()
    call.cancel()

    await running.until(lambda s: s.repo("other") is not None)
    await running.indexed("other")
    assert running.paths("other") == ["lone.py"]


async def test_the_command_line_tells_the_numbers_of_the_tools(
    running: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    async def printed(*command: str) -> Any:
        capsys.readouterr()
        line = [*command, "--state", running.settings.state_dir, "--json"]
        assert await asyncio.to_thread(cli.main, line) == 0
        lines = capsys.readouterr().out.splitlines()
        return json.loads("".join(line for line in lines if not line.startswith("20")))  # log lines

    (status,) = await printed("status")
    one = await printed("health", "--repo", "demo")
    host = await printed("health")

    told = await running.call("repocontext_index_status", repoId="demo")
    assert msgspec.convert(status["index"], IndexStatus) == told
    assert status["health"]["retrievalPhase"] == "serving"
    assert one["repository"]["verdict"] == "Serving"
    assert (host["retrievalPhase"], host["repository"]) == ("serving", None)
