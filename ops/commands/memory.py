"""`repofold memory …`: what a repository's memory holds, from a terminal."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

from services.kernel import logs

if TYPE_CHECKING:
    from ops.cli import Command

_TOOLS = "ops.commands.memory_tools"
# name -> (where add_arguments(parser) and run(args) are: a module, or module:object, what it is for)
COMMANDS: dict[str, tuple[str, str]] = {
    "repos": (f"{_TOOLS}:REPOS", "repositories with memories, and their counts"),
    "list": (f"{_TOOLS}:LIST", "memories, newest update first"),
    "query": (f"{_TOOLS}:QUERY", "find memories by words and meaning"),
    "suggest": (f"{_TOOLS}:SUGGEST", "memories that concern files"),
    "show": (f"{_TOOLS}:SHOW", "one memory, whole"),
    "add": (f"{_TOOLS}:ADD", "store a memory"),
    "update": (f"{_TOOLS}:UPDATE", "change a memory"),
    "deprecate": (f"{_TOOLS}:DEPRECATE", "retire memories, keeping them"),
    "delete": (f"{_TOOLS}:DELETE", "delete memories for good"),
    "history": ("ops.commands.memory_history", "who changed a memory or note, when and how"),
    "doctor": (f"{_TOOLS}:DOCTOR", "duplicates, contradictions, stale and untidy memories"),
    "stats": (f"{_TOOLS}:STATS", "figures over all memories"),
    "gc": (f"{_TOOLS}:GC", "status memories whose time is over"),
    "verify": (f"{_TOOLS}:VERIFY", "hold a statement against a memory"),
    "diff": (f"{_TOOLS}:DIFF", "what a new content would change"),
    "size": (f"{_TOOLS}:SIZE", "measure a memory before it is written"),
    "export": ("ops.commands.memory_export", "everything that is remembered, as JSON lines"),
    "import": ("ops.commands.memory_import", "bring exported notes back"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsers = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, (place, summary) in COMMANDS.items():
        command = parsers.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        command.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )
        _command(place).add_arguments(command)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand; its exit code."""
    logs.configure("warning", as_json=False, worker="memory")
    return _command(COMMANDS[args.what][0]).run(args)


def _command(place: str) -> Command:
    module, _, name = place.partition(":")
    found: Command = importlib.import_module(module)
    if name:
        found = getattr(found, name)
    return found
