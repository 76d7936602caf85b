"""`repofold tail`: the events of the streams, one line each."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Sequence

from contracts.errors import InvalidArgument
from contracts.subjects import CMD, DEAD, INDEX, LOG, PROGRESS, STREAMS, WORK
from ops.node.events import described, line
from ops.node.options import add_broker, add_place, any_broker, running_node
from services.kernel import logs
from services.kernel.bus import Arrived, Bus, Msg
from services.kernel.reader import StreamReader
from services.kernel.settings import Settings

_QUEUES = (
    WORK,
    CMD,
)  # a reader would take their messages away: what is published is watched instead
_READ = (LOG, INDEX, PROGRESS, DEAD)
_BATCH = 256
_Show = Callable[[str, int, str, bytes], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = [spec.name for spec in STREAMS]
    parser.add_argument(
        "stream", nargs="?", metavar="STREAM", help=f"{', '.join(names)} (default: all)"
    )
    parser.add_argument(
        "-n",
        "--last",
        type=int,
        default=10,
        metavar="N",
        help="stored events to begin with, per stream (default: 10)",
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on as events happen")
    add_place(parser)
    add_broker(parser)


def run(args: argparse.Namespace) -> int:
    """Print stored events, then go on with --follow until interrupted."""
    logs.configure("warning", as_json=False, worker="tail")
    streams = _chosen(args.stream)
    if args.follow:
        asyncio.run(_tail(running_node(args), streams, args))
        return 0
    with any_broker(args) as settings:
        asyncio.run(_tail(settings, streams, args))
    return 0


def _chosen(given: str | None) -> tuple[str, ...]:
    names = tuple(spec.name for spec in STREAMS)
    if given is None:
        return names
    if given.upper() not in names:
        raise InvalidArgument(
            f"there is no stream {given!r}", hint=f"streams are {', '.join(names)}"
        )
    return (given.upper(),)


async def _tail(settings: Settings, streams: Sequence[str], args: argparse.Namespace) -> None:
    bus = Bus(settings, "ops")
    await bus.start(patience_s=10.0)

    def show(stream: str, sequence: int, subject: str, data: bytes) -> None:
        said = described(subject, data)
        if args.json:
            print(
                json.dumps({"stream": stream, "sequence": sequence, "subject": subject, **said}),
                flush=True,
            )
        else:
            print(line(stream, sequence, subject, said), flush=True)

    try:
        for stream in streams:
            await _stored(bus, stream, args.last, show)
        if args.follow:
            await _follow(bus, streams, show)
    finally:
        await bus.stop()


async def _stored(bus: Bus, stream: str, last: int, show: _Show) -> None:
    """The newest stored messages; reading them one by one takes nothing from a queue."""
    state = (await bus.api(f"STREAM.INFO.{stream}", {}))["state"]
    sequence = max(state["first_seq"], state["last_seq"] - last + 1)
    subject = next(spec.subjects[0] for spec in STREAMS if spec.name == stream)
    while last > 0 and sequence <= state["last_seq"]:
        request = json.dumps({"seq": sequence, "next_by_subj": subject}).encode()
        reply = await bus.request(f"$JS.API.DIRECT.GET.{stream}", request)
        headers = reply.headers or {}
        if "Nats-Sequence" not in headers:
            return
        show(stream, int(headers["Nats-Sequence"]), headers["Nats-Subject"], reply.data)
        sequence = int(headers["Nats-Sequence"]) + 1


async def _follow(bus: Bus, streams: Sequence[str], show: _Show) -> None:
    for stream in set(streams) & set(_QUEUES):
        await bus.subscribe(f"{stream.lower()}.>", _watched(stream, show))
    wake = asyncio.Event()
    readers = [
        (stream, StreamReader(bus, stream, await _end(bus, stream)))
        for stream in streams
        if stream in _READ
    ]
    for _, reader in readers:
        reader.wake = wake
    while True:
        wake.clear()
        for stream, reader in readers:
            if await reader.ready():
                wake.set()  # there may be more than one batch
                for entry in reader.take(_BATCH, 1 << 24):
                    show(stream, entry.sequence, entry.subject, entry.data)
        try:
            await asyncio.wait_for(wake.wait(), 5.0)
        except TimeoutError:
            continue  # readers look after their consumers


async def _end(bus: Bus, stream: str) -> int:
    return int((await bus.api(f"STREAM.INFO.{stream}", {}))["state"]["last_seq"])


def _watched(stream: str, show: _Show) -> Arrived:
    async def arrived(message: Msg) -> None:
        show(stream, 0, message.subject, message.data)

    return arrived
