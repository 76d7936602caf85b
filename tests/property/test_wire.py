"""What arrives over the wire is what was sent, wherever the pieces that are read begin and end."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.kernel.wire import Wire, headers_of

SUBJECTS = st.text("abc.=_", min_size=1, max_size=12)
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),  # a subscription that takes as it is read, and a usual one
        SUBJECTS,
        st.one_of(st.just(""), SUBJECTS),
        st.binary(max_size=40) | st.just(b"\r\nMSG x 1 3\r\nabc\r\n"),
        st.none() | st.dictionaries(st.sampled_from(["A", "B-C"]), st.text("xy z", max_size=5)),
    ),
    max_size=8,
)


def frame(sid: int, subject: str, reply: str, data: bytes, headers: dict[str, str] | None) -> bytes:
    words = " ".join(filter(None, (subject, str(sid), reply)))
    if headers is None:
        return f"MSG {words} {len(data)}\r\n".encode() + data + b"\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"NATS/1.0\r\n{lines}\r\n".encode()
    return f"HMSG {words} {len(head)} {len(head) + len(data)}\r\n".encode() + head + data + b"\r\n"


class Deaf(Wire):
    """A connection that never was: nothing is sent."""

    async def _send_subscribe(self, sub: Any) -> None:
        return

    async def _process_ping(self) -> None:
        self.pings += 1

    pings = 0


@settings(max_examples=40)
@given(MESSAGES, st.lists(st.integers(1, 30), min_size=1, max_size=40), st.booleans())
def test_messages_arrive_whole_and_in_order_however_they_are_cut(
    messages: list[Any], cuts: list[int], pinged: bool
) -> None:
    async def read() -> tuple[list[Any], list[Any], int]:
        wire = Deaf()
        wire._status = Wire.CONNECTED
        taken: list[Any] = []
        queued: list[Any] = []

        async def later(message: Any) -> None:
            queued.append(told(message))

        await wire.receive("taken", lambda message: taken.append(told(message)))
        await wire.subscribe("queued", cb=later)
        stream = b"".join((b"PING\r\n" if pinged else b"") + frame(*each) for each in messages)
        at = 0
        for number in range(len(stream)):
            piece = stream[at : at + cuts[number % len(cuts)]]
            if not piece:
                break
            at += len(piece)
            await wire._ps.parse(piece)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not wire._ps.buf
        return taken, queued, wire.pings

    def told(message: Any) -> Any:
        return message.subject, message.reply, message.data, message.headers or None

    taken, queued, pings = asyncio.run(read())

    for sid, arrived in ((1, taken), (2, queued)):
        assert arrived == [
            (subject, reply, data, {k: v.strip() for k, v in (headers or {}).items()} or None)
            for number, subject, reply, data, headers in messages
            if number == sid
        ]
    assert pings == (len(messages) if pinged else 0)


def test_a_status_is_told_beside_the_headers() -> None:
    told = headers_of(b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 3\r\n\r\n")

    assert told == {
        "Status": "408", "Description": "Request Timeout", "Nats-Pending-Messages": "3",
    }  # fmt: skip
    assert headers_of(b"NATS/1.0 503\r\n\r\n")["Status"] == "503"


@settings(max_examples=40)
@given(
    SUBJECTS,
    st.one_of(st.just(""), SUBJECTS),
    st.binary(max_size=60),
    st.none() | st.dictionaries(st.sampled_from(["A", "B"]), st.text("xyü", max_size=5)),
)
def test_what_is_sent_straight_is_what_nats_py_would_have_sent(
    subject: str, reply: str, data: bytes, headers: dict[str, str] | None
) -> None:
    async def send(straight: bool) -> bytes:
        wire = Deaf()
        wire._status = Wire.CONNECTED
        wire._max_payload = 1 << 20
        wire._flush_queue = asyncio.Queue()
        wire._flusher_task = asyncio.create_task(asyncio.sleep(60))
        wire._flush_queue.put_nowait(asyncio.get_running_loop().create_future())
        if straight:
            await wire.send(subject, data, reply, headers)
        else:
            await wire.publish(subject, data, reply, headers)
        wire._flusher_task.cancel()
        return b"".join(wire._pending)

    assert asyncio.run(send(True)) == asyncio.run(send(False))


def test_a_subject_that_could_carry_a_command_is_not_sent() -> None:
    wire = Deaf()
    wire._max_payload = 100

    assert wire._frame("a b", b"", "", None) is None
    assert wire._frame("a", b"", "x\r\nPUB y 0", None) is None
    assert wire._frame("a", b"", "", {"A": "b\r\nC: d"}) is None
    assert wire._frame("a", b"x" * 101, "", None) is None
    assert wire._frame("a", b"", "", None) == b"PUB a  0\r\n\r\n"
