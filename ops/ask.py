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
from ops.node.options import indexed_state
from services.kernel.settings import from_environment
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View


class Asker:
    """Runs tools on the state directory that the arguments mean."""

    def __init__(self, args: argparse.Namespace) -> None:
        folder = indexed_state(args).root
        settings = msgspec.structs.replace(from_environment(), state_dir=str(folder))
        self.host = Host(settings, None, "")
        self._here = state.resolve_roots(args.root or ["."])[0]

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Struct:
        """The tool's answer; raises its faults."""
        declared = TOOLS[tool]
        request = declared.arguments.read(arguments)

        async def answer() -> Struct:
            found: Struct = await declared.body(View(self.host, LOCAL), request)
            return found

        return asyncio.run(answer())

    def repository(self, wanted: str | None) -> str:
        """The repository meant: the one named, the only one there is, or the one we are in."""
        with self.host.read() as snapshot:
            rows = [row for row in snapshot.repos() if row.state != "removed"]
        known = [row.repo_id for row in rows]
        if wanted is not None:
            if wanted not in known:
                raise NotFound(
                    f"there is no repository {wanted!r}",
                    hint=f"known: {', '.join(known) or 'none'}",
                )
            return wanted
        if len(known) > 1:
            around = [row for row in rows if self._here.is_relative_to(row.root)]
            if around:
                return max(around, key=lambda row: len(row.root)).repo_id
        if len(known) != 1:
            raise InvalidArgument(
                f"{len(known)} repositories are indexed here",
                hint=f"choose one with --repo: {', '.join(known)}"
                if known
                else "start `repofold up PATH` first",
            )
        return known[0]

    def path_in(self, repository: str, given: str) -> str:
        """A file's path relative to the repository's root, however it was given."""
        with self.host.read() as snapshot:
            root = next(row.root for row in snapshot.repos() if row.repo_id == repository)
        if not Path(given).is_absolute():
            beside = self._here / given
            if (Path(root) / given).exists() or not beside.exists():
                return given
            given = str(beside)
        path = os.path.normpath(given)
        return os.path.relpath(path, root) if Path(path).is_relative_to(root) else given

    def repositories(self) -> list[str]:
        with self.host.read() as snapshot:
            return [row.repo_id for row in snapshot.repos() if row.state != "removed"]


def json_text(answer: Struct) -> str:
    """The answer as the tool sends it, indented."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
