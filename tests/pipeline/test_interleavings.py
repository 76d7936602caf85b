"""What else may happen between two lines of a worker: each test holds one up until it has happened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contracts import subjects
from contracts.envelope import Envelope, encode, now_ms
from contracts.errors import NotFound, Poisoned, Unavailable
from contracts.events import AnyCommand
from contracts.events.commands import AddRepo, RemoveRepo, ResetIndex
from contracts.events.index import PassChanged
from contracts.events.jobs import FileRead, PassJob, ReadJob, WalkFinished
from contracts.events.log import WalkFilters
from contracts.events.memory import AddFact, ClaimNote, FactsPatch, RememberNote, UpdateFact
from contracts.events.patches import PatchRecord
from contracts.ids import Digest, RepoId
from contracts.subjects import DURABLES
from services.kernel.bus import FIRST, MESSAGE_ID, Bus, Msg
from services.kernel.consumer import Consumer, Delivery, Outbox
from services.kernel.publisher import Headers, PubAck, Publisher
from services.kernel.reader import StreamReader
from services.kernel.settings import Settings
from services.memory.answers import Answers
from services.memory.archive import Archive
from services.memory.clock import LogClock
from services.memory.decision import Asked
from services.memory.disk import LogDisk
from services.memory.main import Notes
from services.memory.note_worker import NoteWorker
from services.reconciler.main import Reconciler
from services.resolver.reading import read_files
from services.walker.main import Walker
from services.walker.watch import Notice, Rescan
from store import archive
from store.rows import PassRow
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node
from tests.pipeline.memory_node import REPO, MemoryNode, memory_node, token_of

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
MEMORY = next(spec for spec in DURABLES if spec.name == "memory")
FILES = 6


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ws" / "demo"
    root.mkdir(parents=True)
    for number in range(FILES):
        (root / f"part{number}.py").write_text(f"def part{number}():\n    return {number}\n")
    return root


def service_of(running: Node, name: str, kind: type[Any]) -> Any:
    return next(found for found in running.parts[name].services if isinstance(found, kind))


def newest(running: Node) -> PassRow:
    with running.host.read() as snapshot:
        state = snapshot.newest_pass("demo")
    assert state is not None
    return state


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


# -- kernel ---------------------------------------------------------------------------------------


async def test_a_connection_lost_and_back_while_more_is_asked_for_is_noticed(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled, slept = asyncio.Event(), asyncio.Event()

    async def rest(_: Consumer[AnyCommand]) -> None:
        slept.set()

    monkeypatch.setattr(Consumer, "_rest", rest)

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        handled.set()

    consumer = Consumer(bus, MEMORY, AnyCommand, handle)
    publish, lost = Bus.publish, asyncio.Event()

    async def dying(self: Bus, subject: str, data: bytes, reply: str = "") -> None:
        if "MSG.NEXT" not in subject or lost.is_set():
            await publish(self, subject, data, reply)
            return
        lost.set()  # with the connection, which is back before this returns
        consumer._request_lost()

    monkeypatch.setattr(Bus, "publish", dying)
    envelope = Envelope(
        id="c", at_ms=now_ms(), producer="t", event=RemoveRepo(repo_id=REPO, principal="t")
    )
    await (await bus.put("cmd.repo.demo", encode(envelope)))
    await consumer.start()
    await asyncio.wait_for(handled.wait(), 20)
    await consumer.stop()

    assert lost.is_set()
    assert not slept.is_set()


async def test_a_consumer_that_can_no_longer_say_that_it_works_ends(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Consumer[AnyCommand]) -> None:
        raise RuntimeError("no more")

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        raise AssertionError("never called")

    monkeypatch.setattr(Consumer, "_still_working", broken)
    consumer = Consumer(bus, MEMORY, AnyCommand, handle)
    await consumer.start()

    await until(lambda: consumer.crashed)
    await consumer.stop()


async def test_a_publisher_that_fails_is_given_up_with_its_connection(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Publisher) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr(Publisher, "sweep", broken)
    closed = asyncio.Event()
    bus = Bus(Settings(nats_url=broker.url), "test")
    bus.when_closed(closed.set)
    await bus.start()

    await asyncio.wait_for(closed.wait(), 20)
    await bus.stop()


async def test_what_was_confirmed_while_others_were_sent_again_is_not_sent_again() -> None:
    """A copy of it would lie over what was stored since."""
    sent: list[str] = []

    class Slow:
        is_connected = True

        async def publish(
            self, subject: str, payload: bytes, reply: str, headers: Headers | None
        ) -> None:
            sent.append(subject)
            if len(sent) == 3:  # the first again: the others are confirmed before it is through
                publisher.confirmed("inbox.2", b'{"stream":"INDEX","seq":1}', None)

    publisher = Publisher(Slow(), "inbox.")
    first = await publisher.put("first", b"")
    second = await publisher.put("second", b"")
    publisher.reconnected()
    sweeping = asyncio.create_task(publisher.sweep())
    await asyncio.wait_for(second, 20)
    publisher.confirmed("inbox.1", b'{"stream":"INDEX","seq":2}', None)
    await asyncio.wait_for(first, 20)
    sweeping.cancel()

    assert sent == ["first", "second", "first"]


async def test_a_question_whose_answer_died_with_the_broker_is_not_waited_for(
    bus: Bus, broker: Broker
) -> None:
    heard = asyncio.Event()

    async def asked(_: Msg) -> None:
        heard.set()

    await bus.subscribe("somebody.else", asked)
    asking = asyncio.create_task(bus.request("somebody.else", b"", timeout=10_000))
    await asyncio.wait_for(heard.wait(), 20)

    broker.kill()
    await asyncio.wait([asking], timeout=20)

    assert isinstance(asking.exception(), Unavailable)
    await asyncio.to_thread(broker.start)


async def test_headers_count_towards_the_longest_message(bus: Bus) -> None:
    """The broker would end the connection over each one that is too long."""
    data = bytes(bus.client.max_payload)

    with pytest.raises(Poisoned):
        await bus.put("work.pass.x", data, message_id="m")

    room = len(MESSAGE_ID) + 64
    stored = await (await bus.put("work.pass.x", data[:-room], message_id="m"))
    assert stored.seq


# -- walker ---------------------------------------------------------------------------------------


async def test_a_repository_that_is_reset_while_its_watch_is_set_holds_up_no_walk(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = asyncio.Event()

    async def watch(*_: Any, stop: asyncio.Event) -> AsyncGenerator[Notice, None]:
        await free.wait()
        yield Rescan("started")
        await stop.wait()

    monkeypatch.setattr("services.walker.main.watch", watch)
    async with node(broker, tmp_path / "state", tree.parent, watch=True) as running:
        watched = service_of(running, "walker", Walker)._watched
        await running.add(tree)
        await until(lambda: "demo" in watched and watched["demo"].walking)
        before = watched["demo"]

        await running.host.command("demo", ResetIndex(repo_id=RepoId("demo"), principal="test"))
        await until(lambda: watched.get("demo") is not before)
        free.set()
        await running.add(tree)

        await running.until(lambda s: len(list(s.files("demo"))) == FILES)
        await running.indexed()
        assert not watched["demo"].stop.is_set()


async def test_a_watch_that_fails_for_an_unforeseen_reason_is_made_up_for_by_walks(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watch(*_: Any, stop: asyncio.Event) -> AsyncGenerator[Notice, None]:
        if not stop.is_set():
            raise OSError("the disk is odd")
        yield Rescan("started")

    monkeypatch.setattr("services.walker.main.watch", watch)
    async with node(broker, tmp_path / "state", tree.parent, watch=True) as running:
        await running.add(tree)
        await running.indexed()

        assert newest(running).status == "Completed"
        assert "the disk is odd" in newest(running).notice
        assert len(running.paths()) == FILES


async def test_a_lost_notice_of_a_rebuilt_projection_is_made_up_for_by_the_next_tick(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent) as running:
        await running.add(tree)
        await running.indexed()
        walker = service_of(running, "walker", Walker)
        await walker._unwatch("demo")
        walker._blind = True

        await walker.look_after_all()

        assert "demo" in walker._watched


# -- reconciler -----------------------------------------------------------------------------------


async def test_a_batch_that_comes_again_after_its_pass_does_not_begin_another(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Delivery[Any]] = []
    handle = Reconciler.handle

    async def kept(self: Reconciler, batch: Any, out: Outbox) -> None:
        told.extend(batch)
        await handle(self, batch, out)

    monkeypatch.setattr(Reconciler, "handle", kept)
    async with node(broker, tmp_path / "state", tree.parent) as running:
        await running.add(tree)
        await running.indexed()
        reconciler = service_of(running, "reconciler", Reconciler)
        assert isinstance(told[-1].event, WalkFinished)

        await reconciler.handle(list(told), Outbox(reconciler._bus))

        assert reconciler._work["demo"].running is None
        found = await running.bus.message_from("work.pass.demo", "WORK")
        assert found is None


async def test_a_pass_whose_walk_never_ends_falls_silent_so_that_it_is_walked_again(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Delivery[Any]] = []
    handle = Reconciler.handle

    async def without_the_end(self: Reconciler, batch: Any, out: Outbox) -> None:
        told.extend(batch)
        await handle(self, [d for d in batch if not isinstance(d.event, WalkFinished)], out)

    monkeypatch.setattr(Reconciler, "handle", without_the_end)
    async with node(broker, tmp_path / "state", tree.parent) as running:
        await running.add(tree)
        await until(lambda: bool(told) and isinstance(told[-1].event, WalkFinished))
        await running.until(lambda s: len(list(s.files("demo"))) == FILES)
        reconciler = service_of(running, "reconciler", Reconciler)
        work = reconciler._work["demo"]
        records: list[str] = []

        async def record(_row: Any, state: Any) -> None:
            records.append(state.status)

        monkeypatch.setattr(reconciler, "_record", record)
        async with reconciler._lock:
            work.running.told_at -= 100
            await reconciler._settle("demo", work)
            assert records == ["Running"]  # the walk may be under way

            work.running.told_at -= 100
            work.running.heard_at -= 100
            await reconciler._settle("demo", work)
            assert records == ["Running"]


async def test_a_job_that_was_not_stored_is_sent_again_with_its_batch(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Bus.put
    refused: list[str] = []

    async def refusing(self: Bus, subject: str, data: bytes, **more: Any) -> asyncio.Future[PubAck]:
        if subject.startswith("work.extract.") and not refused:
            refused.append(subject)
            failed: asyncio.Future[PubAck] = asyncio.get_running_loop().create_future()
            failed.set_exception(Unavailable("the stream has no leader"))
            return failed
        return await put(self, subject, data, **more)

    monkeypatch.setattr(Bus, "put", refusing)
    async with node(broker, tmp_path / "state", tree.parent) as running:
        await running.add(tree)
        await running.indexed()

        assert refused
        assert len(running.paths()) == FILES
        assert (newest(running).status, newest(running).notice) == ("Completed", "")
        assert newest(running).files_scanned == FILES


async def test_a_pass_whose_end_could_not_be_recorded_is_ended_at_the_next_look(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Reconciler._record
    refused: list[str] = []

    async def refusing(self: Reconciler, row: Any, state: Any) -> None:
        if state.status == "Completed" and not refused:
            refused.append(state.status)
            raise Unavailable("the stream has no leader")
        await record(self, row, state)

    monkeypatch.setattr(Reconciler, "_record", refusing)
    async with node(broker, tmp_path / "state", tree.parent) as running:
        await running.add(tree)
        await running.indexed(seconds=20)

        assert refused
        assert newest(running).status == "Completed"


# -- memory ---------------------------------------------------------------------------------------


def note_worker(running: MemoryNode, number: int = -1) -> NoteWorker:
    memory = [parts for parts in running.workers if parts.name == "memory"][number]
    return next(found for found in memory.services if isinstance(found, Notes))._worker


class Taken:
    """What note workers were given; it can be delivered again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.deliveries: list[Delivery[Any]] = []
        handle = NoteWorker.handle

        async def kept(worker: NoteWorker, batch: Any, out: Outbox) -> None:
            self.deliveries.extend(batch)
            await handle(worker, batch, out)

        monkeypatch.setattr(NoteWorker, "handle", kept)
        self._handle = handle

    async def again(self, worker: NoteWorker, kind: type[Any]) -> None:
        """Deliver the newest command of a kind once more, to a process that knows nothing of it."""
        found = next(d for d in reversed(self.deliveries) if isinstance(d.event, kind))
        second = Delivery(found.envelope, found.message, found.sequence, 2)
        await self._handle(worker, [second], Outbox(worker._bus))


async def facts_of(running: MemoryNode, pattern: str) -> list[Any]:
    """What LOG holds on some subjects, in order."""
    found, sequence = [], 0
    while (held := await running.bus.message_from(pattern, "LOG", sequence=sequence)) is not None:
        found.append(msgspec.msgpack.decode(held[2])["event"])
        sequence = held[0] + 1
    return found


def adding(content: str) -> AddFact:
    return AddFact(repo_id=REPO, patch=FactsPatch(content=content), principal="test")


class Lost:
    """The next answer of a memory worker is lost, and its worker held up until `go`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent, self.go = asyncio.Event(), asyncio.Event()
        send = Answers.send

        async def lost(answers: Answers, reply_to: str, data: bytes, *more: Any) -> None:
            if self.sent.is_set():
                await send(answers, reply_to, data, *more)
                return
            self.sent.set()
            await self.go.wait()

        monkeypatch.setattr(Answers, "send", lost)
        monkeypatch.setattr("services.query.host._REPLY_S", 3600.0)


@pytest.mark.parametrize("known", [True, False], ids=["same-worker", "another-worker"])
@pytest.mark.parametrize("name", ["remember", "add", "claim", "patch", "refused", "register"])
async def test_an_answer_that_was_lost_with_the_broker_is_asked_for_again(
    name: str, known: bool, broker: Broker, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_node(broker) as running:
        await running.remember("1")
        ask: dict[str, Callable[[], Awaitable[Any]]] = {
            "remember": lambda: running.remember("2", title="two"),
            "add": lambda: running.host.note_command(adding("new")),
            "claim": lambda: running.claim("1", "a"),
            "patch": lambda: running.host.note_command(patching("owner", "a")),
            "refused": lambda: running.remember("3", must_exist=True),
            "register": lambda: running.host.command(REPO, registering(tree)),
        }
        lost = Lost(monkeypatch)
        asking = asyncio.create_task(ask[name]())
        await asyncio.wait_for(lost.sent.wait(), 20)
        before = len(await facts_of(running, "log.>"))

        broker.kill()
        await asyncio.to_thread(broker.start)
        if not known:
            note_worker(running)._begun.clear()
        lost.go.set()
        await asyncio.wait([asking], timeout=20)

        assert asking.done()
        if name == "refused":
            assert isinstance(asking.exception(), NotFound)
        else:
            assert asking.result().ok
        assert len(await facts_of(running, "log.>")) == before


def patching(field: str, value: str) -> PatchRecord:
    return PatchRecord(
        repo_id=REPO, family="file", name="a.py", fields={field: value}, principal="test"
    )


def registering(tree: Path) -> AddRepo:
    return AddRepo(repo_id=REPO, root=str(tree), filters=WalkFilters(), principal="test")


async def test_a_reset_that_is_asked_for_again_undoes_nothing_that_came_since(
    broker: Broker, tree: Path
) -> None:
    async with memory_node(broker) as running:
        await running.host.command(REPO, registering(tree))
        reset = ResetIndex(repo_id=REPO, principal="test")
        envelope = Envelope(id="c1", repo=REPO, at_ms=now_ms(), producer="query", event=reset)
        subject = subjects.repo_command(REPO)
        first = await (await running.bus.put(subject, encode(envelope), message_id="c1"))
        await running.host.command(REPO, registering(tree))
        before = await facts_of(running, "log.*.repo")

        again = {MESSAGE_ID: "c1/1", FIRST: f"{first.seq}/1000"}
        await (await running.bus.put(subject, encode(envelope), headers=again))
        await running.host.command(REPO, registering(tree))

        after = await facts_of(running, "log.*.repo")
        assert [fact["type"] for fact in after].count("repo.reset") <= 1
        assert after[: len(before)] == before


async def test_a_patch_that_is_delivered_again_does_not_undo_a_later_one(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken(monkeypatch)
    async with memory_node(broker) as running:
        await running.host.note_command(patching("owner", "a"))
        first = list(taken.deliveries)
        await running.host.note_command(patching("owner", "b"))
        worker = note_worker(running)
        worker._begun.clear()
        taken.deliveries = first

        await taken.again(worker, PatchRecord)

        patches = await facts_of(running, "log.*.patch.>")
        assert [patch["fields"][0][1] for patch in patches] == ["a", "b"]


async def test_a_command_that_changed_nothing_is_not_carried_out_late(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken(monkeypatch)
    async with memory_node(broker) as running:
        await running.remember("1", title="same")
        await running.remember("1", title="same")
        again = list(taken.deliveries)
        await running.remember("1", title="later")
        taken.deliveries = again

        await taken.again(note_worker(running), RememberNote)

        titles = [fact["note"]["title"] for fact in await facts_of(running, "log.*.mem.>")]
        assert titles == ["same", "later"]


async def test_a_late_grant_to_somebody_who_left_is_given_back(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken(monkeypatch)
    async with memory_node(broker) as running:
        await running.remember("1")
        held = token_of(await running.claim("1", "a", lease_s=250))
        assert token_of(await running.claim("1", "b", lease_s=250)) == 0
        lost = list(taken.deliveries)
        await running.release("1", held)
        worker = note_worker(running)
        worker._begun.clear()
        taken.deliveries = lost

        await taken.again(worker, ClaimNote)  # granted now, and nobody listens

        assert token_of(await running.claim("1", "c", wait_s=20)) == held + 2


async def test_a_change_that_was_stored_is_told_as_done_though_another_lies_over_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_node(broker) as running:
        added = await running.host.note_command(adding("one"))
        assert added.note is not None
        number = int(added.note.id)
        send, over = Publisher.put, asyncio.Event()

        async def confirmed_late(publisher: Publisher, *what: Any) -> asyncio.Future[PubAck]:
            """Store; the confirmation is lost, somebody else appends, and the same is sent again."""
            if not str(what[0]).startswith("log.") or over.is_set():
                return await send(publisher, *what)
            over.set()
            await (await send(publisher, *what))
            other = UpdateFact(
                repo_id=REPO, number=number, patch=FactsPatch(context="other"), principal="x"
            )
            await elsewhere._facts.run(other, Asked(id="other", now_ms=now_ms()), 0, 0)
            future = await send(publisher, *what)
            for entry in publisher._waiting.values():
                entry.tries = 2
            return future

        elsewhere = NoteWorker(running.bus, LogDisk(None), LogClock(), max_lease_ms=1_000)
        monkeypatch.setattr(Publisher, "put", confirmed_late)
        reply = await running.host.note_command(
            UpdateFact(
                repo_id=REPO,
                number=number,
                patch=FactsPatch(content="two"),
                seen_update_count=0,
                principal="test",
            )
        )

        assert over.is_set()
        assert reply.note is not None
        assert reply.note.body == "two"
        assert [fact["note"]["body"] for fact in await facts_of(running, "log.*.mem.>")] == [
            "one", "two", "two",
        ]  # fmt: skip


async def test_a_grant_that_was_heard_of_is_not_given_back_by_whoever_was_asked_again(
    broker: Broker,
) -> None:
    async with memory_node(broker) as running:
        await running.remember("1")
        held = token_of(await running.claim("1", "a", lease_s=250))
        first = note_worker(running)
        waiting = asyncio.create_task(running.claim("1", "b", lease_s=250, wait_s=60))
        await until(lambda: first.queues.waiting == 1)
        queue = next(iter(first.queues._queues.values()))
        command = next(iter(queue.members.values())).deliveries[0]
        await running.start_memory()
        second = note_worker(running)
        reply = f"$JS.ACK.CMD.notes.1.1000.1.{now_ms() * 1_000_000}.0"
        again = Msg(running.bus.client, command.subject, reply, headers={FIRST: "1/0"})
        await second.handle([Delivery(command.envelope, again, 1000, 1)], Outbox(second._bus))
        assert second.queues.waiting == 1
        next(iter(running.host._asking)).again = 1

        await running.release("1", held)
        granted = token_of(await asyncio.wait_for(waiting, 20))
        for worker in (first, second):
            await until(lambda: worker.queues.waiting == 0)  # noqa: B023
            await worker._bus.client.flush()
            await asyncio.gather(*worker.queues._tasks)

        assert token_of(await running.renew("1", granted)) == granted


async def test_a_job_whose_worker_died_before_it_was_stored_is_stored_by_the_second_delivery(
    broker: Broker, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, refused = Bus.put, asyncio.Event()

    async def dying(self: Bus, subject: str, *more: Any, **options: Any) -> asyncio.Future[PubAck]:
        if subject.startswith("work.pass.") and not refused.is_set():
            refused.set()
            raise Unavailable("as if the process ended here")
        return await put(self, subject, *more, **options)

    monkeypatch.setattr(Bus, "put", dying)
    async with memory_node(broker) as running:
        await running.host.command(REPO, registering(tree))

        assert refused.is_set()
        assert await running.bus.message_from("work.pass.demo", "WORK") is not None


@pytest.mark.parametrize("lost", ["", "index.demo.pass", "work.pass.demo"])
async def test_other_filters_are_walked_by_though_a_pass_runs(
    broker: Broker, tree: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    put, refused = Bus.put, asyncio.Event()

    async def dying(self: Bus, subject: str, *more: Any, **options: Any) -> asyncio.Future[PubAck]:
        if subject == lost and not refused.is_set():
            refused.set()
            raise Unavailable("as if the process ended here")
        return await put(self, subject, *more, **options)

    async with memory_node(broker) as running:
        await running.host.command(REPO, registering(tree))
        monkeypatch.setattr(Bus, "put", dying)
        other = msgspec.structs.replace(registering(tree), filters=WalkFilters(exclude=("a/**",)))
        await running.host.command(REPO, other)

        assert refused.is_set() == bool(lost)
        told = await running.bus.last_message(subjects.repo_pass(REPO), "INDEX")
        asked = await running.bus.last_message(subjects.pass_job(REPO), "WORK")
        assert told is not None
        assert asked is not None
        shown = msgspec.msgpack.decode(told[2], type=Envelope[PassChanged]).event
        job = msgspec.msgpack.decode(asked[2], type=Envelope[PassJob]).event
        assert job.filters == other.filters
        assert (shown.pass_id, shown.attempt) == (job.pass_id, 2)

        await running.host.command(REPO, other)  # nothing new: the pass that runs suffices
        again = await running.bus.last_message(subjects.pass_job(REPO), "WORK")
        assert again is not None
        assert again[0] == asked[0]


async def test_what_comes_after_a_removal_outlives_its_purge(
    broker: Broker, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_node(broker) as running:
        await running.host.command(REPO, registering(tree))
        before, after = (subjects.note_vectors(REPO, "t", item) for item in ("before", "after"))
        await (await running.bus.put(before, b""))
        api, held_up = Bus.api, asyncio.Event()

        async def late(self: Bus, subject: str, *more: Any, **options: Any) -> Any:
            if subject == "STREAM.PURGE.INDEX":
                held_up.set()
                await (await running.bus.put(after, b""))  # of a note remembered since
            return await api(self, subject, *more, **options)

        monkeypatch.setattr(Bus, "api", late)
        await running.host.command(REPO, RemoveRepo(repo_id=REPO, principal="test"))

        assert held_up.is_set()
        assert await running.bus.last_message(before, "INDEX") is None
        assert await running.bus.last_message(after, "INDEX") is not None


def archive_of(running: MemoryNode, folder: Path) -> Archive:
    settings = msgspec.structs.replace(running.settings, memory_archive_dir=str(folder))
    return Archive(settings, running.bus, note_worker(running))


async def test_an_export_that_ran_out_of_time_says_so_instead_of_leaving_notes_out(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_node(broker) as running:
        await running.remember("1")
        exporter = archive_of(running, tmp_path)
        monkeypatch.setattr(exporter, "_folded", lambda: ({}, 0))
        monkeypatch.setattr(exporter, "_stop_s", 0.0)

        with pytest.raises(Unavailable):
            await exporter.export()

        assert archive.newest(tmp_path) is None


async def test_an_export_that_is_given_up_is_over_before_another_begins(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_node(broker) as running:
        await running.remember("1")
        exporter = archive_of(running, tmp_path)
        write, begun, go = archive.write, threading.Event(), threading.Event()

        def held_up(*what: Any, **more: Any) -> None:
            begun.set()
            assert go.wait(20)
            write(*what, **more)

        monkeypatch.setattr(archive, "write", held_up)
        exporting = asyncio.create_task(exporter.export())
        await asyncio.to_thread(begun.wait, 20)
        exporting.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not exporting.done()

        go.set()
        await asyncio.wait([exporting], timeout=20)
        assert exporting.cancelled()
        assert archive.newest(tmp_path) is not None


async def test_a_reader_that_is_closed_hears_nothing_any_more(bus: Bus) -> None:
    await (await bus.put("index.demo.file.a", b"1"))
    reader = StreamReader(bus, "INDEX", 0)
    async with asyncio.timeout(20):
        while not await reader.ready():
            await reader.wake.wait()
    assert reader.take(1, 1)[0].data == b"1"

    await reader.close()
    await (await bus.put("index.demo.file.b", b"2"))

    assert not reader.take(1, 1)
    assert bus._reconnected == []


# -- resolver -------------------------------------------------------------------------------------


async def test_bytes_whose_reading_was_lost_with_the_broker_are_read_again(
    bus: Bus, broker: Broker
) -> None:
    jobs: asyncio.Queue[Envelope[ReadJob]] = asyncio.Queue()

    async def taken(message: Msg) -> None:
        await jobs.put(msgspec.msgpack.decode(message.data, type=Envelope[ReadJob]))

    await bus.subscribe("work.extract.demo.>", taken)
    files = [(path, Digest("d"), b"") for path in ("a.py", "b.py")]
    reading = asyncio.create_task(read_files(bus, "demo", files))
    asked = [await asyncio.wait_for(jobs.get(), 20) for _ in files]
    answered = FileRead(path=asked[0].event.path, language="", kind="", extract=None)
    await bus.publish(asked[0].reply_to, msgspec.msgpack.encode(answered))
    await bus.client.flush()

    broker.kill()
    await asyncio.to_thread(broker.start)

    again = await asyncio.wait_for(jobs.get(), 20)
    assert again.event.path == "b.py"
    late = FileRead(path=again.event.path, language="", kind="", extract=None)
    await bus.publish(again.reply_to, msgspec.msgpack.encode(late))
    assert set(await asyncio.wait_for(reading, 20)) == {"a.py", "b.py"}
    assert jobs.empty()
