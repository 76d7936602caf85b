"""Every worker's NATS user can do the worker's job, and nothing of anybody else's."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from nats.aio.client import Client

from contracts import subjects
from contracts.envelope import Envelope, encode
from contracts.errors import Superseded
from contracts.events import AnyJob, ExtractJob
from contracts.ids import Digest, RepoId, RepoPath
from contracts.nats_users import USERS
from contracts.subjects import CMD, DURABLES, INDEX, LOG, WORK
from ops.node.broker import Broker
from ops.node.state import State
from services.kernel.bus import Bus, credentials
from services.kernel.consumer import Consumer, Delivery, Outbox
from services.kernel.provision import provision
from services.kernel.reader import StreamReader
from services.kernel.settings import Settings
from tests.guarded_broker import connected, guarded

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with guarded(tmp_path_factory.mktemp("node")) as settings:
        asyncio.run(_provision(settings))
        yield settings


async def _provision(settings: Settings) -> None:
    async with connected(settings, "ops") as bus:
        await provision(bus)


# One subject of every kind that somebody publishes, and who may.
PUBLISHERS: dict[str, set[str]] = {
    "log.demo.repo": {"memory"},
    "log.demo.mem.t.1": {"memory"},
    "index.demo.file.a": {"reconciler", "extractor", "ops"},
    "index.demo.anchor.a": {"reconciler"},
    "index.demo.vec.a": {"embedder"},
    "index.=~.space": {"embedder"},
    "index.demo.pass": {"reconciler", "memory"},
    "index.demo.ann.head": {"ann"},
    "index.demo.edges.a": {"resolver"},
    "index.demo.base.c.head": {"resolver"},
    "index.demo.ws.w.head": {"resolver"},
    "log.demo.ws.w": {"memory", "resolver"},
    "work.extract.demo.=~.b.a": {"reconciler", "resolver", "ops"},
    "cmd.map.demo": {"query", "ops"},
    "work.pass.demo": {"walker", "reconciler", "memory", "ops"},
    "work.seen.demo.w.0": {"walker", "ops"},
    "work.extract.demo.a": {"reconciler", "ops"},
    "cmd.repo.demo": {"query", "ops"},
    "cmd.mem.demo": {"query", "ops"},
    "progress.demo.walk": {
        "walker", "reconciler", "extractor", "embedder", "ann", "memory", "projector",
        "resolver",
    },
    "dead.walker.work.pass.demo": {"walker"},
    "dead.extractor.work.extract.demo.a": {"extractor"},
    "dead.embedder.index.demo.file.a": {"embedder"},
    "node.local.folded": {"projector"},
    "node.local.replay": {"query", "ops"},
    subjects.BALLAST: {"ops"},
    "_INBOX_query.x": {"memory", "projector", "resolver"},
    "_INBOX_resolver.x": {"extractor"},
    "_INBOX_walker.x": set(),
    "$JS.API.STREAM.CREATE.LOG": {"ops"},
    "$JS.API.STREAM.DELETE.LOG": set(),
    "$JS.API.STREAM.DELETE.INDEX": {"ops"},
    "$JS.API.STREAM.PURGE.LOG": set(),
    "$JS.API.STREAM.MSG.GET.LOG": {"memory", "ops"},
    "$JS.API.STREAM.PURGE.INDEX": {"memory", "resolver", "ops"},
    "$JS.API.STREAM.PURGE.WORK": {"memory", "ops"},
    "$JS.API.STREAM.INFO.WORK": {"reconciler", "memory", "query", "ops"},
    "$JS.API.DIRECT.GET.WORK.work.pass.demo": {"memory", "ops"},
    "$JS.API.STREAM.MSG.DELETE.LOG": {"ops"},
    "$JS.API.STREAM.MSG.DELETE.DEAD": {"ops"},
    "$JS.API.CONSUMER.MSG.NEXT.WORK.walker": {"walker", "ops"},
    "$JS.API.CONSUMER.MSG.NEXT.WORK.extractor": {"extractor", "ops"},
    "$JS.API.CONSUMER.MSG.NEXT.INDEX.embedder": {"embedder", "ops"},
    "$JS.API.CONSUMER.MSG.NEXT.CMD.memory": {"memory", "ops"},
    "$JS.API.CONSUMER.MSG.NEXT.INDEX.r12": {"ann", "projector", "ops"},
    "$JS.API.CONSUMER.MSG.NEXT.LOG.r12": {"memory", "projector", "ops"},
    "$JS.API.CONSUMER.CREATE.INDEX.embedder": {"ops"},
    "$JS.API.CONSUMER.RESET.INDEX.embedder": {"embedder", "ops"},
    "$JS.API.CONSUMER.CREATE.INDEX.r12": {"ann", "projector", "ops"},
    "$JS.API.CONSUMER.CREATE.LOG.r12": {"memory", "projector", "ops"},
    "$JS.API.CONSUMER.RESET.WORK.extractor": {"ops"},
    "$JS.API.CONSUMER.DELETE.WORK.extractor": {"ops"},
    "$JS.ACK.WORK.extractor.1.1.1.1.1": {"extractor"},
    "$JS.ACK.CMD.memory.1.1.1.1.1": {"memory"},
}  # fmt: skip

SUBSCRIBERS: dict[str, set[str]] = {
    "node.local.folded": {"walker", "reconciler", "ann", "resolver", "query", "ops"},
    "node.local.replay": {"projector"},
    "progress.>": {"query", "ops"},
    "log.>": {"ops"},
    "log.demo.mem.t.1": {"memory", "ops"},
    subjects.embedding_space(): {"embedder", "ops"},
    "work.>": {"ops"},
    ">": set(),
    "_INBOX_query.>": {"query"},
    "_INBOX_memory.>": {"memory"},
    "$JS.>": set(),
}


_MARKER = "nobody.may"
_REFUSED = re.compile(r'violation for (publish|subscription) to "([^"]+)"')


class Probe:
    """A plain connection as one user that notes what the broker refuses."""

    def __init__(self) -> None:
        self.client = Client()
        self.refused: set[tuple[str, str]] = set()
        self._all_heard = asyncio.Event()

    async def connect(self, settings: Settings, worker: str) -> None:
        user, password = credentials(settings, worker)
        await self.client.connect(
            settings.nats_url, user=user, password=password, error_cb=self._error
        )

    async def _error(self, error: Exception) -> None:
        found = _REFUSED.search(str(error))
        if found is not None:
            self.refused.add((found[1], found[2]))
            if found[2] == _MARKER:
                self._all_heard.set()

    def was_refused(self, act: str, subject: str) -> bool:
        return (act, subject.lower()) in self.refused  # nats-py lowers what the broker said

    async def verdicts(self) -> None:
        """Wait until the broker has judged everything sent so far: it does so in order."""
        await self.client.publish(_MARKER, b"")
        await asyncio.wait_for(self._all_heard.wait(), 20)


@pytest.mark.parametrize("worker", [spec.name for spec in USERS])
async def test_a_user_reaches_its_own_subjects_and_no_others(tmp_path: Path, worker: str) -> None:
    # A broker without streams: what gets through has no effect.
    with guarded(tmp_path) as settings:
        probe = Probe()
        await probe.connect(settings, worker)
        for subject in PUBLISHERS:
            await probe.client.publish(subject, b"{}")
        for subject in SUBSCRIBERS:
            await probe.client.subscribe(subject)
        await probe.verdicts()
        await probe.client.close()

    published = {subject for subject in PUBLISHERS if not probe.was_refused("publish", subject)}
    heard = {subject for subject in SUBSCRIBERS if not probe.was_refused("subscription", subject)}
    assert published == {subject for subject, allowed in PUBLISHERS.items() if worker in allowed}
    assert heard == {subject for subject, allowed in SUBSCRIBERS.items() if worker in allowed}


def test_every_worker_has_a_user_and_every_durable_an_owner() -> None:
    names = {spec.name for spec in USERS}

    assert {spec.worker for spec in DURABLES} <= names


async def test_passwords_are_needed_and_private(settings: Settings) -> None:
    state = State(Path(settings.state_dir))

    assert state.users.stat().st_mode & 0o077 == 0
    assert Broker(state).config.stat().st_mode & 0o077 == 0
    with pytest.raises(Exception, match="Authorization"):
        await Client().connect(settings.nats_url, allow_reconnect=False)


JOB = ExtractJob(
    path=RepoPath("a.py"), version=2, digest=Digest("xx128:0"), size_bytes=1, mtime_ns=1, anchor_ns=1,
    pass_id="p", expected_sequence=0, data=b"x",
)  # fmt: skip


def wrapped(event: object) -> bytes:
    return encode(Envelope(id="e", repo=RepoId("demo"), at_ms=1, producer="test", event=event))


async def test_an_extractor_takes_its_jobs_records_files_and_parks_what_it_cannot_read(
    settings: Settings,
) -> None:
    spec = next(durable for durable in DURABLES if durable.name == "extractor")
    record, job = subjects.file_record("demo", "a.py"), subjects.extract_job("demo", "a.py")
    recorded = asyncio.Event()

    async def handle(batch: Sequence[Delivery[AnyJob]], out: Outbox) -> None:
        out.append_newer(record, b"record", version=2, expected=0)
        await out.stored()
        recorded.set()

    async with (
        connected(settings, "reconciler") as reconciler,
        connected(settings, "extractor") as bus,
    ):
        await (await reconciler.put(job, wrapped(JOB)))
        await (await reconciler.put(subjects.extract_job("demo", "junk"), b"\xc1"))
        consumer: Consumer[AnyJob] = Consumer(bus, spec, AnyJob, handle)
        await consumer.start()
        await asyncio.wait_for(recorded.wait(), 20)
        async with connected(settings, "ops") as ops:
            await _until_empty(ops, WORK)
            parked = await ops.last_message(
                subjects.dead("extractor", subjects.extract_job("demo", "junk")), "DEAD"
            )
        await consumer.stop()

        assert parked is not None
        assert parked[2] == b"\xc1"
        with pytest.raises(Superseded):
            await bus.append_newer(record, b"older", version=1, expected=0)


async def _until_empty(bus: Bus, stream: str) -> None:
    async with asyncio.timeout(20):
        while (await bus.api(f"STREAM.INFO.{stream}", {}))["state"]["messages"]:
            await asyncio.sleep(0)


async def test_a_projector_reads_facts_in_order_and_tells_who_listens(settings: Settings) -> None:
    async with (
        connected(settings, "memory") as memory,
        connected(settings, "projector") as projector,
        connected(settings, "query") as query,
    ):
        heard: asyncio.Queue[bytes] = asyncio.Queue()

        async def arrived(message: object) -> None:
            heard.put_nowait(message.data)  # type: ignore[attr-defined]

        await query.subscribe(subjects.folded("local"), arrived)
        await query.client.flush()
        sequence = (await (await memory.put(subjects.repo_log("other"), b"fact"))).seq
        reader = StreamReader(projector, LOG, 0)
        async with asyncio.timeout(20):
            while not await reader.ready():
                reader.wake.clear()
                await reader.wake.wait()
        assert reader.take(10, 1 << 20)[-1].data == b"fact"
        assert await reader.tail() == sequence

        await projector.publish(subjects.folded("local"), b"position")
        assert await asyncio.wait_for(heard.get(), 20) == b"position"


async def test_memory_answers_a_command_and_purges_what_was_removed(settings: Settings) -> None:
    async with connected(settings, "memory") as memory, connected(settings, "query") as query:
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def arrived(message: object) -> None:
            answered.set_result(message.data)  # type: ignore[attr-defined]

        inbox = query.inbox()
        await query.subscribe(inbox, arrived)
        await (await query.put(subjects.repo_command("demo"), b"command"))
        assert (await query.api(f"STREAM.INFO.{CMD}", {}))["state"]["messages"] == 1

        await memory.publish(inbox, b"done")
        purged = await memory.api(f"STREAM.PURGE.{INDEX}", {"filter": subjects.index_all("demo")})

        assert purged["success"]
        assert await asyncio.wait_for(answered, 20) == b"done"


def test_the_users_file_keeps_passwords_and_gains_new_users(tmp_path: Path) -> None:
    from ops.node import credentials as files

    path = tmp_path / "users.json"
    first = files.ensure(path)
    kept = {name: entry for name, entry in first.items() if name != "ann"}
    path.write_text(json.dumps(kept))

    second = files.ensure(path)

    assert second["ann"]["password"] != first["ann"]["password"]
    assert {name: second[name] for name in kept} == kept
    assert path.stat().st_mode & 0o077 == 0
