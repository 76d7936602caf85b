"""What happens between a call and its result?

Arguments are read, the tool runs, and whatever comes of it becomes a result: nothing raises out of
here but cancellation. A mistake of the caller is logged at debug level, a refusal at error level
without a stack unless asking again will do, and an exception nobody foresaw once with its
traceback; the caller learns only that it happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from contracts.errors import (
    Ambiguous,
    Fault,
    IndexNotAvailable,
    InvalidArgument,
    NotFound,
    WorkspaceRequired,
)
from services.kernel import logs
from services.query import results
from services.query.access import Caller
from services.query.registry import Tool
from services.query.schema import JsonObject
from services.query.visibility import Policy

log = logs.get(__name__)

V = TypeVar("V")

Outcome = Literal["ok", "mistake", "refused", "failed", "cancelled"]
_PATHS_THAT_LEAVE = ("outside", "path_outside_root")  # forbidden, yet nothing but a wrong argument
NO_ARGUMENTS: Mapping[str, object] = {}


class Observer(Protocol):
    """Is told of every call, for metrics."""

    def on_call(
        self, tool: str, seconds: float, outcome: Outcome, reason: str, path: str = ""
    ) -> None:
        """`outcome` "mistake" is the caller's own; `reason` is "" when the call succeeded.

        `path` is the route of an answer that has one.
        """
        ...


class Unobserved:
    """An Observer that keeps nothing."""

    def on_call(
        self, tool: str, seconds: float, outcome: Outcome, reason: str, path: str = ""
    ) -> None:
        """Forget it."""


class Calls(Generic[V]):
    """Runs tools. `views` makes what a tool body gets to work with, for each call anew."""

    def __init__(self, views: Callable[[Caller], V], policy: Policy, observer: Observer) -> None:
        self._views, self._policy, self._observer = views, policy, observer

    async def answer(
        self, tool: Tool[V, Any, Any], arguments: Mapping[str, object], caller: Caller
    ) -> Struct:
        """Return the tool's answer; raises what reading the arguments or the body raises."""
        request = tool.arguments.read(arguments)
        answer: Struct = await tool.body(self._views(caller), request)
        return answer

    async def run(
        self, tool: Tool[V, Any, Any], arguments: Mapping[str, object] | None, caller: Caller
    ) -> JsonObject:
        """Return the result of one call, in its wire form."""
        started = time.perf_counter()
        outcome: Outcome = "cancelled"  # unless something else comes of it
        reason = "cancelled"
        path = ""
        try:
            answer = await self.answer(tool, arguments or NO_ARGUMENTS, caller)
            result = results.of_answer(answer, self._policy.results, self._policy.result_bytes)
            outcome, reason = "ok", ""
            path = getattr(answer, "retrieval_path", "")
            return result
        except Fault as fault:
            outcome, reason = _judge(fault)
            _note(tool.name, fault, outcome, reason)
            return results.of_fault(fault, tool.family)
        except Exception:  # the boundary: what is not foreseen must not reach the wire
            outcome, reason = "failed", "unexpected"
            log.exception("tool_failed", tool=tool.name)
            return results.of_fault(
                Fault(
                    f"{tool.name} failed",
                    hint="the server's log has the details; try again or report it",
                ),
                tool.family,
            )
        finally:
            self._observer.on_call(tool.name, time.perf_counter() - started, outcome, reason, path)


def _judge(fault: Fault) -> tuple[Outcome, str]:
    reason = str(fault.details.get("reason", fault.code.lower()))
    mistaken = (
        isinstance(
            fault, InvalidArgument | NotFound | Ambiguous | IndexNotAvailable | WorkspaceRequired
        )
        or fault.details.get("mistake") is True
        or reason in _PATHS_THAT_LEAVE
    )
    return ("mistake" if mistaken else "refused"), reason


def _note(tool: str, fault: Fault, outcome: Outcome, reason: str) -> None:
    quiet = log.info if fault.retryable else log.error  # a node that is starting is no error
    write = log.debug if outcome == "mistake" else quiet
    write(f"tool_{outcome}", tool=tool, code=fault.code, reason=reason)
