"""What failed for good, and how is it tried again?

A dead letter is the original message, byte for byte, with its cause in the headers. Trying again
means publishing it where it came from, and never over something newer:

    job      only while no newer job of the same subject is waiting
    command  as it is
    record   only while it is still the newest of its subject: it is appended once more over itself,
             with its own version, so that the durable gets it again and nobody sees a change
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from msgspec import Struct

from contracts.errors import Conflict, NotFound
from contracts.subjects import DEAD, INDEX, WORK
from ops.node.events import stream_of
from services.kernel.bus import EXPECTED, VERSION_HEADER, Bus

RETRIED, SUPERSEDED = "retried", "superseded"


class Letter(Struct, frozen=True, kw_only=True):
    """One message that was parked."""

    number: int  # sequence on DEAD
    at: str  # when it was parked, ISO, broker's clock
    durable: str
    subject: str  # where it came from
    attempts: int
    cause: str
    data: bytes


async def letters(bus: Bus) -> AsyncIterator[Letter]:
    """Every dead letter, oldest first."""
    number = 0
    while (found := await _from(bus, number + 1)) is not None:
        number = found.number
        yield found


async def letter(bus: Bus, number: int) -> Letter:
    """One dead letter; raises NotFound."""
    found = await _from(bus, number)
    if found is None or found.number != number:
        raise NotFound(
            f"there is no dead letter {number}", hint="`repofold dead list` shows what there is"
        )
    return found


async def _from(bus: Bus, number: int) -> Letter | None:
    request = {"seq": number, "next_by_subj": "dead.>"}
    reply = await bus.request(f"$JS.API.DIRECT.GET.{DEAD}", json.dumps(request).encode())
    headers = reply.headers or {}
    if "Nats-Sequence" not in headers:
        return None
    return Letter(
        number=int(headers["Nats-Sequence"]),
        at=headers.get("Nats-Time-Stamp", ""),
        durable=headers.get("Rf-Durable", ""),
        subject=headers.get("Rf-Subject", ""),
        attempts=int(headers.get("Rf-Attempts", "0")),
        cause=headers.get("Rf-Error", ""),
        data=reply.data,
    )


async def retry(bus: Bus, dead: Letter) -> str:
    """Have a message handled again, and take it off DEAD; tells whether that was still called for."""
    outcome = await _publish_again(bus, dead)
    await drop(bus, dead)
    return outcome


async def _publish_again(bus: Bus, dead: Letter) -> str:
    headers: dict[str, str] = {}
    stream = stream_of(dead.subject)
    if stream == WORK:
        headers = {EXPECTED: "0"}
    elif stream == INDEX:
        newest = await bus.last_message(dead.subject, INDEX)
        if newest is None or newest[2] != dead.data:
            return SUPERSEDED
        sequence, kept, _ = newest
        headers = {EXPECTED: str(sequence), VERSION_HEADER: kept.get(VERSION_HEADER, "0")}
    try:
        await (await bus.put(dead.subject, dead.data, headers=headers))
    except Conflict:
        return SUPERSEDED
    return RETRIED


async def drop(bus: Bus, dead: Letter) -> None:
    """Take a message off DEAD."""
    await bus.api(f"STREAM.MSG.DELETE.{DEAD}", {"seq": dead.number, "no_erase": True})
