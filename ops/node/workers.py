"""Which workers are there, and what does a process of some of them run?"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import signal
import site
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import ops
from contracts.errors import InvalidArgument
from ops.node.process import rename
from services.kernel import lean, logs, memory
from services.kernel.settings import Settings, to_environment

PIPELINE = (
    "walker",
    "reconciler",
    "extractor",
    "embedder",
    "ann",
    "memory",
    "resolver",
    "projector",
)
WORKERS = (*PIPELINE, "query")
QUERY = "query"
# What the query service and the others both import.
_SHARED = ("numpy", "services.kernel.bus", "services.source.terms", "store.read.live")


def check(names: Sequence[str]) -> None:
    """Raise InvalidArgument unless every name is a worker."""
    unknown = [name for name in names if name not in WORKERS]
    if unknown:
        raise InvalidArgument(
            f"unknown worker {unknown[0]!r}", hint=f"workers are {', '.join(WORKERS)}"
        )


def preload_query() -> None:
    """Import what the query service shares with the rest, before it is forked."""
    with lean.uncollected():
        for name in _SHARED:
            importlib.import_module(name)
    gc.freeze()


async def preload_pipeline() -> None:
    """Import what the other workers need before they are forked: once instead of once in each.

    Between two imports others have their turn.
    """
    with lean.uncollected():
        for name in ("kernel.shell", *(f"{name}.main" for name in PIPELINE)):
            importlib.import_module(f"services.{name}")
            await asyncio.sleep(0)
        from services.kernel import shell

        shell.warm()
    gc.freeze()  # pages of objects that are never collected again stay shared with the children


def preload_extractor() -> None:
    """Load the tokenizer's tables, large and the same in every extractor, before they are forked."""
    from services.source import tokens

    tokens.count("")
    memory.trim()  # a seventh of them is what loading leaves behind
    gc.freeze()


def run(settings: Settings, names: Sequence[str]) -> int:
    """Run workers in this process until SIGTERM or SIGINT; returns the exit code.

    The query service cannot share a process with the others: it is no faust application.
    """
    check(names)
    rename(f"repofold work {'+'.join(names)} --state {settings.state_dir}")
    logs.configure(settings.log_level, as_json=settings.log_json, worker="+".join(names))
    if "extractor" not in names:
        # Extractors use and free much all the time, and are replaced when idle.
        memory.lean(trims=QUERY not in names)
    if list(names) == [QUERY]:
        with lean.uncollected():
            from services.query import http, serve  # noqa: F401 - what it imports once it starts
            from services.query import main as query

        return query.run(settings)
    with lean.uncollected():
        from services.kernel import shell

        shell.warm()
        mains = {name: importlib.import_module(f"services.{name}.main") for name in names}
    return shell.run(settings, {name: main.assemble for name, main in mains.items()})


def hold_on_to_lifeline() -> None:
    """End this process at once when its standard input ends, because then its supervisor is gone.

    At once and not in order: an orphan must not write to a state directory that the next node takes.
    """

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


def command(
    arguments: Sequence[str], settings: Settings | None = None
) -> tuple[list[str], dict[str, str]]:
    """Command line and environment of another `repofold` process of this very installation."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("REPOFOLD_")}
    if settings is not None:
        environ |= to_environment(settings)
    home = str(Path(ops.__file__).parents[1])
    if home not in site.getsitepackages():  # a checkout
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (home, environ.get("PYTHONPATH", ""))))
    # -P: the folder it is started in may hold packages of the same names as ours.
    return [sys.executable, "-P", "-m", "ops.cli", *arguments], environ
