"""Which tools are there, and what is declared about each?

A tool is `async def name(view, request) -> answer` under `@tool(...)`; request and answer are Structs
of contracts.tools. What a client would stumble over is refused when the module is imported.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar, get_type_hints

from msgspec import Struct

from services.query.access import Scope
from services.query.arguments import ArgumentReader
from services.query.schema import JsonObject, output_schema, problems

V = TypeVar("V")
Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)

Mode = Literal["single", "workspace"]

EVERYWHERE: frozenset[Mode] = frozenset({"single", "workspace"})
FULL, READ = "full", "read"  # profiles that every tool joins by what it does
AGENT = "agent"  # the few tools that a coding agent needs every day, and two that lead to the rest

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")  # the narrowest rule of the clients seen
_DESCRIPTION_CHARS = 400
_FIRST_SENTENCE_CHARS = 160  # some clients show no more


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool(Generic[V, Q, A]):
    """One declared tool. Calling it runs its body."""

    name: str
    title: str
    description: str
    family: str
    writes: bool
    scope: Scope
    modes: frozenset[Mode]
    needs_workspace_root: bool
    profiles: frozenset[str]
    hints: dict[str, bool]  # the annotations of the protocol
    arguments: ArgumentReader[Q]
    answer_schema: JsonObject
    body: Callable[[V, Q], Awaitable[A]]

    async def __call__(self, view: V, request: Q) -> A:
        return await self.body(view, request)

    def listing(self, *, structured: bool) -> JsonObject:
        """The entry of `tools/list`."""
        entry: JsonObject = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.arguments.schema,
            "annotations": dict(self.hints),
        }
        if structured:
            entry["outputSchema"] = self.answer_schema
        return entry


def tool(  # noqa: PLR0913  # one keyword per declared fact
    name: str,
    *,
    title: str,
    family: str,
    description: str = "",
    writes: bool = False,
    destructive: bool | None = None,
    idempotent: bool = True,
    scope: Scope | None = None,
    modes: Iterable[Mode] = EVERYWHERE,
    needs_workspace_root: bool = False,
    profiles: Iterable[str] = (),
) -> Callable[[Callable[[V, Q], Awaitable[A]]], Tool[V, Q, A]]:
    """Declare a tool.

    `description` is what the agent reads (default: the function's docstring, folded). `destructive`
    and `scope` default to what `writes` says: a writing tool is destructive and needs "write".
    Profiles "full", the one named like the family and, for tools that do not write, "read" are joined
    without being named.
    Raises TypeError for anything that some client would refuse.
    """

    def declare(body: Callable[[V, Q], Awaitable[A]]) -> Tool[V, Q, A]:
        request, answer = _signature(name, body)
        declared = Tool(
            name=name,
            title=title,
            description=" ".join((description or body.__doc__ or "").split()),
            family=family,
            writes=writes,
            scope=scope or ("write" if writes else "read"),
            modes=frozenset(modes),
            needs_workspace_root=needs_workspace_root,
            profiles=frozenset({FULL, family, *profiles, *([] if writes else [READ])}),
            hints=_hints(writes=writes, destructive=destructive, idempotent=idempotent),
            arguments=ArgumentReader(request),
            answer_schema=output_schema(answer),
            body=body,
        )
        _check(declared)
        return declared

    return declare


class Catalogue(Generic[V]):
    """The tools of a server, in the order they are shown."""

    def __init__(self, tools: Iterable[Tool[V, Any, Any]]) -> None:
        self._by_name: dict[str, Tool[V, Any, Any]] = {}
        for entry in tools:
            if entry.name in self._by_name:
                raise TypeError(f"two tools are named {entry.name}")
            self._by_name[entry.name] = entry

    @classmethod
    def of(cls, *modules: ModuleType) -> Catalogue[V]:
        """Collect the tools that modules declare, in their order of declaration."""
        return cls(
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, Tool)
        )

    def __iter__(self) -> Iterator[Tool[V, Any, Any]]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __getitem__(self, name: str) -> Tool[V, Any, Any]:
        return self._by_name[name]

    def listing(self, profile: str, names: Collection[str]) -> Catalogue[V]:
        """The same catalogue, with these tools in one profile more."""
        return Catalogue(
            replace(entry, profiles=entry.profiles | {profile}) if entry.name in names else entry
            for entry in self
        )

    def profiles(self) -> frozenset[str]:
        return frozenset(profile for entry in self for profile in entry.profiles)


def _signature(name: str, body: Callable[[V, Q], Awaitable[A]]) -> tuple[type[Q], type[A]]:
    parameters = list(inspect.signature(body).parameters)
    hints = get_type_hints(body)
    request: type[Q] | None = hints.get(parameters[1] if len(parameters) == 2 else "")
    answer: type[A] | None = hints.get("return")
    if not (inspect.iscoroutinefunction(body) and _is_struct(request) and _is_struct(answer)):
        raise TypeError(
            f"tool {name}: the body is no `async def (view, request: Struct) -> Struct`"
        )
    assert request is not None
    assert answer is not None
    return request, answer


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _hints(*, writes: bool, destructive: bool | None, idempotent: bool) -> dict[str, bool]:
    hints = {"readOnlyHint": not writes, "openWorldHint": False}
    if writes:
        hints |= {
            "destructiveHint": True if destructive is None else destructive,
            "idempotentHint": idempotent,
        }
    return hints


def _check(declared: Tool[V, Q, A]) -> None:
    faults = [f"input {p}" for p in problems(declared.arguments.schema)]
    faults += [f"output {p}" for p in problems(declared.answer_schema)]
    if not _NAME.fullmatch(declared.name):
        faults.append("the name is not [a-z][a-z0-9_]{0,39}")
    if not declared.description:
        faults.append("there is no description")
    if len(declared.description) > _DESCRIPTION_CHARS:
        faults.append(f"the description is over {_DESCRIPTION_CHARS} characters")
    if len(declared.description.partition(". ")[0]) > _FIRST_SENTENCE_CHARS:
        faults.append(f"the first sentence is over {_FIRST_SENTENCE_CHARS} characters")
    if not declared.writes and declared.scope != "read":
        faults.append("a tool that does not write needs no more than the read scope")
    if faults:
        raise TypeError(f"tool {declared.name}: {'; '.join(faults)}")
