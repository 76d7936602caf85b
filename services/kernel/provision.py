"""Which streams and durables does the broker need, and how are they brought about?

Idempotent: what exists is compared and updated; nothing is ever deleted. Run by the node's
supervisor or by `repofold provision`, never by a worker.
"""

from __future__ import annotations

import asyncio
from typing import Any

from contracts.errors import Unavailable
from contracts.subjects import DURABLES, STREAMS, DurableSpec, StreamSpec
from services.kernel.bus import Bus

_NS = 1_000_000_000
_NOT_FOUND = 10059
_DEDUPLICATION_S = 120


def stream_config(spec: StreamSpec, replicas: int) -> dict[str, Any]:
    """The JetStream configuration of one stream."""
    config: dict[str, Any] = {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": spec.retention,
        "storage": "file",
        "num_replicas": replicas,
        "max_msgs_per_subject": spec.per_subject,
        "max_age": spec.max_age_s * _NS,
        "discard": "old",
        "duplicate_window": min(_DEDUPLICATION_S, spec.max_age_s or _DEDUPLICATION_S) * _NS,
        "allow_direct": True,
        "compression": "none",
    }
    return config


def durable_config(spec: DurableSpec) -> dict[str, Any]:
    """The JetStream configuration of one durable pull consumer."""
    return {
        "durable_name": spec.name,
        "name": spec.name,
        "filter_subject": spec.subject,
        "ack_policy": "explicit",
        "ack_wait": int(spec.ack_wait_s * _NS),
        "max_deliver": -1,  # the broker's own limit drops silently; the kernel counts and parks
        "max_ack_pending": spec.max_ack_pending,
        "deliver_policy": "all",
        "max_waiting": 256,
    }


async def provision(bus: Bus, *, replicas: int = 1) -> list[str]:
    """Create or update every stream and durable; returns what was changed, one line each."""
    changed = await asyncio.gather(
        *(_stream(bus, stream_config(stream, replicas)) for stream in STREAMS)
    )
    await asyncio.gather(*(_durable(bus, durable) for durable in DURABLES))
    return [line for lines in changed for line in lines]


async def _durable(bus: Bus, spec: DurableSpec) -> None:
    await bus.api(
        f"CONSUMER.DURABLE.CREATE.{spec.stream}.{spec.name}",
        {"stream_name": spec.stream, "config": durable_config(spec)},
        timeout=20,
    )


async def _stream(bus: Bus, config: dict[str, Any]) -> list[str]:
    name = config["name"]
    try:
        info = await bus.api(f"STREAM.INFO.{name}", {}, timeout=10)
    except Unavailable as error:
        if error.details.get("err_code") != _NOT_FOUND:
            raise
        await bus.api(f"STREAM.CREATE.{name}", config, timeout=20)
        return [f"created stream {name}"]
    present = info["config"]
    wanted = {**present, **config}
    differing = sorted(key for key in config if config[key] != present.get(key, _ABSENT.get(key)))
    if not differing:
        return []
    await bus.api(f"STREAM.UPDATE.{name}", wanted, timeout=20)
    return [f"updated stream {name}: {', '.join(differing)}"]


_ABSENT: dict[str, Any] = {"max_age": 0, "compression": "none"}
