"""How does a process start quickly? By not importing what nothing here uses.

nats imports aiohttp for WebSocket connections, structlog imports rich for pretty tracebacks, faust
imports aiohttp and a Kafka client to name them, mcp imports its clients and a second kind of server.
All manage without.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, cast


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Let imports of these optional modules fail inside the block; what is loaded already stays."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)  # None makes an import fail
    blocked = [name for name in names if name not in modules]
    for name in blocked:
        modules[name] = None
    try:
        yield
    finally:
        for name in blocked:
            del modules[name]


class _Hollow(ModuleType):
    """Has every name; each stands for a class without anything in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _HollowFinder(MetaPathFinder, Loader):
    """Finds hollow modules for some packages and all that is below them."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, _path: object, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Hollow(spec.name)

    def exec_module(self, _module: ModuleType) -> None:
        return


@contextmanager
def hollow(*packages: str) -> Iterator[None]:
    """Let imports of these packages give empty classes inside the block, for what only names them.

    What is loaded already stays, and what is imported later is the real thing.
    """
    finder = _HollowFinder([name for name in packages if name not in sys.modules])
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Hollow)]:
            del sys.modules[name]


class _Parts(ModuleType):
    """A package whose own code is run once somebody asks for what none of its modules is."""

    __spec__: ModuleSpec

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]  # a module like others from now on
        loader = self.__spec__.loader
        assert loader is not None
        loader.exec_module(self)
        return getattr(self, name)


def in_parts(*packages: str) -> None:
    """From now on import modules of these packages without all that the packages themselves import."""
    for name in packages:
        if name not in sys.modules and (spec := find_spec(name)) is not None:
            module = module_from_spec(spec)
            module.__class__ = _Parts
            sys.modules[name] = module


@contextmanager
def uncollected() -> Iterator[None]:
    """Put garbage collection off inside the block: of what imports make hardly anything is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
