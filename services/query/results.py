"""How are an answer and a fault written as a tool result?

Clients show the model either the text or the structured half, never both, so each half carries the
same facts. Of a fault every client shows the text, so that is complete by itself; the machine copy
goes to `_meta`.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
from msgspec import Struct

from contracts.errors import Fault, OverBudget
from services.query.schema import JsonObject

Halves = Literal["both", "text", "structured"]

ERROR_META = "repofold/error"
TEXT_CHARS = 2_000  # of a fault, code and hint included
RESULT_BYTES = 2 << 20  # of an answer's JSON; a safety net far above any page or budget

_MESSAGE_CHARS, _HINT_CHARS = 1_400, 500

# Controls, line and paragraph separators, directional overrides, and halves of surrogate pairs:
# what could forge a line, hide text, or make the reply unencodable.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def sanitised(text: str, limit: int) -> str:
    """Return `text` as one line of at most `limit` characters."""
    line = _UNSAFE.sub(" ", text[: 2 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def of_answer(answer: Struct, halves: Halves = "both", limit: int = RESULT_BYTES) -> JsonObject:
    """Return the result of a call that succeeded; raises OverBudget above `limit` bytes of JSON."""
    encoded = _encode(answer)
    if len(encoded) > limit:
        raise OverBudget(
            f"the answer has {len(encoded):,} bytes and a result may have {limit:,}",
            hint="ask for less: a smaller page, fewer hits, a smaller budget or a narrower path",
        )
    result: JsonObject = {"content": [], "isError": False, "resultType": "complete"}
    if halves != "structured":
        result["content"] = [{"type": "text", "text": encoded.decode()}]
    if halves != "text":
        result["structuredContent"] = _decode(encoded)
    return result


def text_of_fault(fault: Fault) -> str:
    """Return what people and models read of a fault; at most TEXT_CHARS."""
    text = f"{fault.code}: {sanitised(fault.message, _MESSAGE_CHARS)}"
    return f"{text}\nHint: {sanitised(fault.hint, _HINT_CHARS)}" if fault.hint else text


def json_of_fault(fault: Fault) -> str:
    """Return a fault as the code map's callers know it: code, message, details, retryable."""
    details: JsonObject = {
        name: sanitised(str(value), 200) for name, value in sorted(fault.details.items())
    }
    if fault.hint:
        details["hint"] = sanitised(fault.hint, _HINT_CHARS)
    written: JsonObject = {"code": fault.code, "message": sanitised(fault.message, _MESSAGE_CHARS)}
    if details:
        written["details"] = details
    return _encode({**written, "retryable": fault.retryable}).decode()


_TEXTS = {"codemap": json_of_fault}


def of_fault(fault: Fault, family: str = "") -> JsonObject:
    """Return the result of a call that was refused or failed, in the dialect of the tool's family."""
    machine: JsonObject = {
        "code": fault.code,
        "message": sanitised(fault.message, _MESSAGE_CHARS),
        "retryable": fault.retryable,
    }
    if fault.hint:
        machine["hint"] = sanitised(fault.hint, _HINT_CHARS)
    if reason := fault.details.get("reason"):
        machine["reason"] = sanitised(str(reason), 80)
    result: JsonObject = {
        "content": [{"type": "text", "text": _TEXTS.get(family, text_of_fault)(fault)}],
        "isError": True,
        "resultType": "complete",
        "_meta": {ERROR_META: machine},
    }
    report = fault.details.get("report")
    if isinstance(report, Struct):  # of a refusal that measured something, in both halves
        encoded = _encode(report)
        result["content"] = [
            {"type": "text", "text": f"{text_of_fault(fault)}\n{encoded.decode()}"}
        ]
        result["structuredContent"] = _decode(encoded)
    return result
