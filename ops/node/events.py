"""How is a stored message shown to a person? One line, without bodies."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec

from contracts.envelope import Envelope
from contracts.events import AnyCommand, AnyIndexEvent, AnyJob, AnyLogEvent, AnyProgress
from contracts.subjects import CMD, INDEX, LOG, PROGRESS, STREAMS, WORK

_DECODERS: dict[str, msgspec.msgpack.Decoder[Any]] = {
    LOG: msgspec.msgpack.Decoder(Envelope[AnyLogEvent]),
    INDEX: msgspec.msgpack.Decoder(Envelope[AnyIndexEvent]),
    WORK: msgspec.msgpack.Decoder(Envelope[AnyJob]),
    CMD: msgspec.msgpack.Decoder(Envelope[AnyCommand]),
    PROGRESS: msgspec.msgpack.Decoder(Envelope[AnyProgress]),
}
_LONGEST_TEXT = 120
_STREAM_BY_PREFIX = {spec.subjects[0].partition(".")[0]: spec.name for spec in STREAMS}


def stream_of(subject: str) -> str:
    """The stream that stores a subject; "" for none."""
    return _STREAM_BY_PREFIX.get(subject.partition(".")[0], "")


def described(subject: str, data: bytes) -> dict[str, Any]:
    """What a message says: envelope and event as plain values; bodies only by their size."""
    decoder = _DECODERS.get(stream_of(subject))
    if decoder is None:
        return {"type": "", "bytes": len(data)}
    try:
        envelope: Envelope[Any] = decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return {"type": "undecodable", "bytes": len(data), "error": str(error)[:_LONGEST_TEXT]}
    return {
        "type": envelope.event.__struct_config__.tag,
        "repo": envelope.repo,
        "at": moment(envelope.at_ms),
        "producer": envelope.producer,
        "generation": envelope.generation,
        "id": envelope.id,
        "cause": envelope.cause,
        "correlation": envelope.correlation,
        "event": _summary(envelope.event),
    }


def line(stream: str, sequence: int, subject: str, said: dict[str, Any]) -> str:
    """The same for reading; `sequence` 0 when unknown."""
    if "event" not in said:
        return f"{stream:<8} {sequence or '':>8} {said['type'] or subject} {said['bytes']:,} B"
    fields = " ".join(
        f"{name}={value}" for name, value in said["event"].items() if value not in ("", 0, None, ())
    )
    return f"{said['at'][11:23]} {stream:<8} {sequence or '':>8} {said['type']:<16} {said['repo']} {fields}".rstrip()


def moment(at_ms: int) -> str:
    """Unix milliseconds as an ISO time in UTC."""
    time = datetime.datetime.fromtimestamp(at_ms / 1000, tz=datetime.UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _summary(event: msgspec.Struct) -> dict[str, Any]:
    return {name: _short(getattr(event, name)) for name in event.__struct_fields__}


def _short(value: object) -> object:
    """Leave out what is long: bodies, and everything read out of them."""
    if isinstance(value, bytes):
        return f"<{len(value):,} B>" if value else ""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else value[: _LONGEST_TEXT - 1] + "…"
    if isinstance(value, list | tuple):
        return f"<{len(value)} items>" if value else ""
    if isinstance(value, msgspec.Struct):
        return f"<{type(value).__name__}>"
    return value
