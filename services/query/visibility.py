"""Which tools does a caller see?

The server's policy decides once, at the start; the caller's scopes decide per call. The same answer
is used for `tools/list` and for every call, so that a hidden tool cannot be called by its name.
Nothing here depends on the connection or on earlier calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Generic, TypeVar, get_args

from msgspec import Struct

from contracts.errors import InvalidArgument
from services.query.access import Caller, Scope
from services.query.registry import FULL, Catalogue, Mode, Tool
from services.query.results import RESULT_BYTES, Halves

V = TypeVar("V")


_AREAS = frozenset({
    "code", "codemap", "graph", "index", "refs", "repo", "surfaces", "symbols", "types", "workspace",
})  # fmt: skip


def as_declared(name: str) -> str:
    """The declared name of a tool of the code map that is called by its dotted one.

    So they were specified, `symbols.search`; they are listed with an underscore, since some clients
    refuse dots.
    """
    area, dot, rest = name.partition(".")
    return f"{area}_{rest}" if dot and area in _AREAS else name


class Policy(Struct, frozen=True, kw_only=True):
    """What the operator chose to offer."""

    mode: Mode = "single"
    writes: bool = True
    workspace_root: bool = True  # one is configured, so paths from the wire can be checked
    profile: str = FULL
    results: Halves = "both"
    result_bytes: int = RESULT_BYTES


class Visibility(Generic[V]):
    """The tools of a catalogue, as a policy and a caller's scopes leave them."""

    def __init__(self, catalogue: Catalogue[V], policy: Policy) -> None:
        _check("profile", policy.profile, sorted(catalogue.profiles()))
        _check("results", policy.results, get_args(Halves))
        served = [tool for tool in catalogue if _serves(policy, tool)]
        self._served = _Scoped([tool for tool in served if policy.profile in tool.profiles])
        self._reachable = _Scoped(served)

    def tools(self, caller: Caller) -> Mapping[str, Tool[V, Any, Any]]:
        """Return the caller's tools by name, in catalogue order."""
        return self._served.of(caller)

    def reachable(self, caller: Caller) -> Mapping[str, Tool[V, Any, Any]]:
        """Return what the caller would see if the profile listed everything."""
        return self._reachable.of(caller)


class _Scoped(Generic[V]):
    """Tools by name, per set of scopes."""

    def __init__(self, tools: Collection[Tool[V, Any, Any]]) -> None:
        self._tools = tools
        self._by_scopes: dict[frozenset[Scope], dict[str, Tool[V, Any, Any]]] = {}

    def of(self, caller: Caller) -> Mapping[str, Tool[V, Any, Any]]:
        found = self._by_scopes.get(caller.scopes)
        if found is None:
            found = {tool.name: tool for tool in self._tools if tool.scope in caller.scopes}
            self._by_scopes[caller.scopes] = found
        return found


def _check(setting: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise InvalidArgument(f"unknown {setting} {value!r}", hint=f"one of {', '.join(known)}")


def _serves(policy: Policy, tool: Tool[V, Any, Any]) -> bool:
    return (
        policy.mode in tool.modes
        and (policy.writes or not tool.writes)
        and (policy.workspace_root or not tool.needs_workspace_root)
    )
