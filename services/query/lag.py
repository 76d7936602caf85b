"""How far are the streams ahead of those who take from them?

Asked of the broker when somebody looks, and not again within a second or two. What does not answer in
time is left out, rather than told as it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from contracts.errors import Fault
from contracts.subjects import DEAD, DURABLES, INDEX, LOG, DurableSpec
from services.kernel.bus import Bus
from services.kernel.instruments import Key, Values
from store.rows import Positions

_KEPT_S = 1.5
_PATIENCE_S = 1.0
_EMBEDDERS = {"embedder": "files", "note_embedder": "notes"}


class Lag:
    """The figures of one broker."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._lock = asyncio.Lock()
        self._at = -_KEPT_S
        self._infos: dict[str, dict[str, Any]] = {}

    async def refresh(self) -> None:
        """Ask, unless that was done just now."""
        async with self._lock:
            if time.monotonic() - self._at < _KEPT_S or not self._bus.started:
                return
            asked = {
                **{spec.name: self._info(f"CONSUMER.INFO.{spec.stream}.{spec.name}") for spec in DURABLES},
                **{stream: self._info(f"STREAM.INFO.{stream}") for stream in (LOG, INDEX, DEAD)},
            }  # fmt: skip
            answers = await asyncio.gather(*asked.values())
            self._infos = {
                name: info for name, info in zip(asked, answers, strict=True) if info is not None
            }
            self._at = time.monotonic()

    def _info(self, subject: str) -> Coroutine[Any, Any, dict[str, Any] | None]:
        async def ask() -> dict[str, Any] | None:
            try:
                return await self._bus.api(subject, {}, timeout=_PATIENCE_S)
            except Fault:
                return None

        return ask()

    def cells(self, position: Positions | None) -> dict[Key, Values]:
        """The figures; `position` is how far this node's projection is, None while there is none."""
        found: dict[Key, Values] = {}
        for spec in DURABLES:
            if (info := self._infos.get(spec.name)) is not None:
                found |= _consumer(spec, info)
        for stream, folded in (() if position is None else ((LOG, position.log), (INDEX, position.index))):  # fmt: skip
            if (info := self._infos.get(stream)) is not None:
                behind = max(int(info["state"]["last_seq"]) - folded, 0)
                found["repofold.projection.lag", (stream,)] = (float(behind),)
        if (info := self._infos.get(DEAD)) is not None:
            found["repofold.dead_letters", ()] = (float(info["state"]["messages"]),)
        return found


def _consumer(spec: DurableSpec, info: dict[str, Any]) -> dict[Key, Values]:
    pending, taken = int(info["num_pending"]), int(info["num_ack_pending"])
    label = (spec.name,)
    figures: dict[Key, Values] = {
        ("repofold.consumer.pending", label): (float(pending),),
        ("repofold.consumer.unacknowledged", label): (float(taken),),
        ("repofold.consumer.redelivered", label): (float(info["num_redelivered"]),),
        ("repofold.consumer.ack_age", label): (_ack_age_s(info) if pending + taken else 0.0,),
    }
    if (of := _EMBEDDERS.get(spec.name)) is not None:
        figures["repofold.embed.queue", (of,)] = (float(pending + taken),)
    return figures


def _ack_age_s(info: dict[str, Any]) -> float:
    """Since the last acknowledgement; since the consumer was made when there was none."""
    text = info["ack_floor"].get("last_active") or info["created"]
    moment = datetime.fromisoformat(text[:19]).replace(tzinfo=UTC)
    return max(time.time() - moment.timestamp(), 0.0)
