"""How does the command line get an answer? From the same tools, run in this process.

Reading tools need the projections of a state directory only, so they answer with and without a
running node.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from contracts.errors import InvalidArgument, NotFound
from ops.node import state
from services.kernel.settings import Settings, from_environment
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View


def add_place(parser: argparse.ArgumentParser) -> None:
    """Arguments that say which state directory is meant."""
    parser.add_argument("--state", metavar="DIR", help="state directory (default: that of --root)")
    parser.add_argument(
        "--root", metavar="PATH", action="append", help="the PATH that `up` was given (default: .)"
    )


def settings_of(args: argparse.Namespace) -> Settings:
    """Settings of the state directory that the arguments mean."""
    given = args.state or os.environ.get("REPOFOLD_STATE")
    if given:
        folder = Path(given).expanduser().resolve()
    else:
        folder = state.default(state.resolve_roots(args.root or ["."]))
    settings = from_environment()
    return msgspec.structs.replace(settings, state_dir=str(folder))


class Asker:
    """Runs tools on one state directory."""

    def __init__(self, settings: Settings) -> None:
        self.host = Host(settings, None, "")

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Struct:
        """The tool's answer; raises its faults."""
        declared = TOOLS[tool]
        request = declared.arguments.read(arguments)

        async def answer() -> Struct:
            found: Struct = await declared.body(View(self.host, LOCAL), request)
            return found

        return asyncio.run(answer())

    def repository(self, wanted: str | None) -> str:
        """The repository meant: the one named, or the only one there is."""
        with self.host.read() as snapshot:
            known = [row.repo_id for row in snapshot.repos() if row.state != "removed"]
        if wanted is not None:
            if wanted not in known:
                raise NotFound(
                    f"there is no repository {wanted!r}",
                    hint=f"known: {', '.join(known) or 'none'}",
                )
            return wanted
        if len(known) != 1:
            raise InvalidArgument(
                f"{len(known)} repositories are indexed here",
                hint=f"choose one with --repo: {', '.join(known)}"
                if known
                else "start `repofold up PATH` first",
            )
        return known[0]

    def repositories(self) -> list[str]:
        with self.host.read() as snapshot:
            return [row.repo_id for row in snapshot.repos() if row.state != "removed"]


def json_text(answer: Struct) -> str:
    """The answer as the tool sends it, indented."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
