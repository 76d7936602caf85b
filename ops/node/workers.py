"""Which workers are there, and what does a process of some of them run?"""

from __future__ import annotations

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
from services.kernel import logs, memory
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


def check(names: Sequence[str]) -> None:
    """Raise InvalidArgument unless every name is a worker."""
    unknown = [name for name in names if name not in WORKERS]
    if unknown:
        raise InvalidArgument(
            f"unknown worker {unknown[0]!r}", hint=f"workers are {', '.join(WORKERS)}"
        )


def preload_query() -> None:
    """Import what the query service shares with the rest, before it is forked."""
    importlib.import_module("numpy")
    _settle()


def preload_pipeline() -> None:
    """Import what the other workers need before they are forked: once instead of once in each."""
    from services.kernel import shell

    for name in PIPELINE:
        importlib.import_module(f"services.{name}.main")
    shell.warm()
    _settle()


def preload_extractor() -> None:
    """Load the tokenizer's tables, large and the same in every extractor, before they are forked."""
    from services.source import tokens

    tokens.count("")
    _settle()


def _settle() -> None:
    gc.collect()
    gc.freeze()  # pages of objects that are never collected again stay shared with the children


def run(settings: Settings, names: Sequence[str]) -> int:
    """Run workers in this process until SIGTERM or SIGINT; returns the exit code.

    The query service cannot share a process with the others: it is no faust application.
    """
    check(names)
    rename(f"repofold work {'+'.join(names)} --state {settings.state_dir}")
    logs.configure(settings.log_level, as_json=settings.log_json, worker="+".join(names))
    if "extractor" not in names:
        memory.lean()  # extractors use and free much all the time, and are replaced when idle
    if list(names) == [QUERY]:
        from services.query import main as query

        return query.run(settings)
    from services.kernel import shell

    assemblers = {name: importlib.import_module(f"services.{name}.main").assemble for name in names}
    return shell.run(settings, assemblers)


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
