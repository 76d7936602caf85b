"""`repofold map …`: baselines of commits, workspaces over them, what differs, and reports."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import msgspec
from rich.text import Text

from ops import mapping
from services.kernel import logs


class _Command(msgspec.Struct, frozen=True):
    """One subcommand: the tool behind it, its options by the names of the tool's arguments."""

    tool: str
    summary: str
    options: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    reads: bool = False  # of a view, so --workspace means something


_WORKSPACE = ("workspace_id", {"metavar": "WORKSPACE"})
_APPLY = (
    "--apply",
    {"action": "store_true", "help": "do it; without, only say what would be done"},
)
COMMANDS = {
    "status": _Command("repo_status", "HEAD, its baseline, workspaces"),
    "baseline": _Command(
        "index_ensure_baseline", "build the baseline of a commit",
        (("--commit-sha", {"metavar": "REV", "help": "SHA, branch or tag (default HEAD)"}),),
    ),
    "baselines": _Command("index_list_baselines", "the commits that have a baseline"),
    "cleanup": _Command(
        "index_cleanup", "forget old baselines",
        (("--keep-count", {"type": int, "default": 5}), ("--older-than-days", {"type": int}), _APPLY),
    ),
    "forget": _Command("index_remove_repo", "forget every baseline and workspace", (_APPLY,)),
    "diff": _Command(
        "index_diff", "symbols that differ between two commits",
        (
            ("from_commit", {"metavar": "FROM"}),
            ("--to-commit", {"metavar": "REV", "help": 'default HEAD; "live" = the working tree'}),
            ("--include-facts", {"action": "store_true"}),
        ),
    ),
    "workspaces": _Command("workspace_list", "every workspace"),
    "create": _Command(
        "workspace_create", "create a workspace",
        (_WORKSPACE, ("--commit-sha", {"metavar": "REV", "help": "its base (default HEAD)"})),
    ),
    "refresh": _Command(
        "index_refresh_overlay", "bring a workspace in step with the working tree", (_WORKSPACE,)
    ),
    "reset": _Command("workspace_reset", "drop a workspace's overlay", (_WORKSPACE,)),
    "delete": _Command("workspace_delete", "delete a workspace", (_WORKSPACE,)),
    "card": _Command("symbols_get_card", "all about a symbol", (("symbol_id", {"metavar": "SYMBOL"}),), True),
    "show": _Command(
        "symbols_get_definition_span", "the code of a symbol", (("symbol_id", {"metavar": "SYMBOL"}),), True
    ),
    "grep": _Command(
        "code_search_text", "lines that match a pattern",
        (("pattern", {}), ("--file-path", {"metavar": "PREFIX"}), ("--ignore-case", {"action": "store_true"})),
        True,
    ),
    "config": _Command("surfaces_list_config_keys", "configuration keys", (("--key-filter", {}),), True),
    "tables": _Command("surfaces_list_db_tables", "database tables", (("--table-filter", {}),), True),
    "summary": _Command("codemap_summarize", "what a program offers and uses", (), True),
    "export": _Command(
        "codemap_export", "the map as one text",
        (
            ("--detail", {"choices": ["summary", "standard", "full"], "default": "standard"}),
            ("--max-tokens", {"type": int, "default": 4000}),
        ),
        True,
    ),
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsers = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, command in COMMANDS.items():
        chosen = parsers.add_parser(name, help=command.summary)
        chosen.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )
        for option, settings in command.options:
            chosen.add_argument(option, **settings)
        mapping.add_options(chosen)


def run(args: argparse.Namespace) -> int:
    """Ask the tool and print its answer: a sentence, then what it is made of."""
    logs.configure("warning", as_json=False, worker="map")
    command = COMMANDS[args.what]
    arguments = {
        name: getattr(args, name)
        for name in (option.lstrip("-").replace("-", "_") for option, _ in command.options)
        if name != "apply"
    }
    if hasattr(args, "apply"):
        arguments["dry_run"] = not args.apply
    answer = mapping.ask(args, command.tool, arguments, reads=command.reads)
    if not mapping.told(args, answer):
        _print(answer)
    return 0


def _print(answer: Any) -> None:
    console = mapping.console
    console.print(Text(answer.answer, style="bold"), soft_wrap=True)
    data = msgspec.to_builtins(answer.data)
    content = data.pop("content", None)
    for name, value in data.items():
        if isinstance(value, list | tuple):
            for item in value:
                console.print(Text(f"  {_line(item)}"), soft_wrap=True)
        elif not isinstance(value, dict):
            console.print(Text(f"  {name:<22} {value}"), soft_wrap=True)
    if content is not None:
        console.print(Text(content), soft_wrap=True)


def _line(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    parts = []
    for name, value in item.items():
        if isinstance(value, list | tuple) and name == "items":
            parts += [f"\n    {entry}" for entry in value]
        elif not isinstance(value, list | tuple | dict):
            parts.append(str(value))
    return "  ".join(parts)
