"""`repofold note …`: notes, their links and claims, from a terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from rich.text import Text

from ops.ask import Asker, json_text
from ops.node.options import add_place
from ops.tell import tell
from ops.terminal import Terminal
from services.kernel import logs
from services.query.catalogue import TOOLS

Options = Callable[[argparse.ArgumentParser], None]
_NARROW = 2  # of the indentation below a heading
_GOES_WITHOUT_SAYING = {"hasMore": False, "truncated": False, "topicsLeftOff": 0}


def _text(parser: argparse.ArgumentParser) -> None:
    for name in ("title", "body", "author", "provenance"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--tag", action="append", default=[], help="may be repeated")
    parser.add_argument(
        "--link", action="append", default=[], metavar="RELATION=KEY", help="may be repeated"
    )
    parser.add_argument("--token", dest="fencing_token", type=int, help="of your claim")


def _remembering(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic")
    parser.add_argument("--id", help="of an existing note to merge into; default: a new one")
    parser.add_argument("--kind", choices=["Decision", "Note", "Memory"])
    parser.add_argument("--ttl", dest="ttl_seconds", type=int, metavar="SECONDS")
    _text(parser)


def _key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", help="repo/{repoId}/mem/{topic}/{id}")


def _updating(parser: argparse.ArgumentParser) -> None:
    _key(parser)
    parser.add_argument(
        "--field", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    _text(parser)


def _forgetting(parser: argparse.ArgumentParser) -> None:
    _key(parser)
    parser.add_argument("--lapse", action="store_const", const=True, help="expire, not delete")
    parser.add_argument("--seconds", dest="lapse_seconds", type=int, help="default 60")
    parser.add_argument("--token", dest="fencing_token", type=int, help="of your claim")


def _listing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", help="default: every topic")
    parser.add_argument("--page-size", type=int)
    parser.add_argument("--after", dest="continuation_token", metavar="TOKEN")


def _linking(parser: argparse.ArgumentParser) -> None:
    _key(parser)
    parser.add_argument("--relation")
    parser.add_argument("--depth", type=int, help="1 to 3")
    parser.add_argument("--max-nodes", type=int, help="1 to 100")


def _claiming(parser: argparse.ArgumentParser) -> None:
    _key(parser)
    parser.add_argument("owner")
    parser.add_argument("--lease", dest="lease_seconds", type=int, help="seconds, default 30")
    parser.add_argument("--wait", dest="max_wait_seconds", type=int, help="queue so many seconds")


def _holding(parser: argparse.ArgumentParser) -> None:
    _key(parser)
    parser.add_argument("fencing_token", type=int, metavar="TOKEN")


def _renewing(parser: argparse.ArgumentParser) -> None:
    _holding(parser)
    parser.add_argument("--lease", dest="lease_seconds", type=int, help="seconds, default 30")


def _nothing(_: argparse.ArgumentParser) -> None:
    """Without options of its own."""


# name -> (tool, its options, what it is for)
COMMANDS: dict[str, tuple[str, Options, str]] = {
    "remember": ("repocontext_remember", _remembering, "create a note, or merge into one"),
    "update": ("repocontext_update", _updating, "patch fields, tags and links of a record"),
    "show": ("repocontext_recall", _key, "one record, whole"),
    "list": ("repocontext_scan", _listing, "notes, a page at a time"),
    "topics": ("repocontext_list_topics", _nothing, "topics and how many notes each has"),
    "links": ("repocontext_neighbors", _linking, "what a note links to"),
    "forget": ("repocontext_forget", _forgetting, "delete a note, or let it lapse"),
    "claim": ("repocontext_claim", _claiming, "claim a note"),
    "renew": ("repocontext_renew_claim", _renewing, "extend a claim"),
    "release": ("repocontext_release_claim", _holding, "give a claim up"),
    "status": ("repocontext_claim_status", _key, "who holds a note, and how many wait"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsers = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, (tool, options, summary) in COMMANDS.items():
        command = parsers.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        command.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )
        add_place(command)
        if "repoId" in TOOLS[tool].arguments.accepted:
            command.add_argument("--repo", help="repository (default: the only one)")
        options(command)


def run(args: argparse.Namespace) -> int:
    """Print the answer; 1 when there is no such note, or the claim was lost."""
    logs.configure("warning", as_json=False, worker="note")
    name = COMMANDS[args.what][0]
    arguments = _arguments(args, name)
    answer = tell(args, name, arguments) if TOOLS[name].writes else Asker(args).ask(name, arguments)
    if args.json:
        print(json_text(answer))
    else:
        _print(Terminal(), msgspec.to_builtins(answer), 0)
        if () in (getattr(answer, "entries", None), getattr(answer, "topics", None)):
            print("there are no notes", file=sys.stderr)
    return 0 if _is_good(answer) else 1


def _arguments(args: argparse.Namespace, tool: str) -> dict[str, Any]:
    """The tool's arguments out of the options that have their names, in Python's spelling."""
    given = vars(args)
    arguments: dict[str, Any] = {
        name: given[spelled]
        for name in TOOLS[tool].arguments.accepted
        if given.get(spelled := _spelled(name)) not in (None, [])
    }
    if "repoId" in TOOLS[tool].arguments.accepted:
        arguments["repoId"] = args.repo or Asker(args).repository(None)
    if tool == "repocontext_scan":
        arguments["scope"] = "MemoryTopic" if args.topic else "Memory"
    if given.get("tag"):
        arguments["tags" if tool == "repocontext_remember" else "addTags"] = args.tag
    if given.get("link"):
        arguments["addLinks"] = _links(args.link)
    if tool == "repocontext_update":
        fields = dict(field.partition("=")[::2] for field in args.field)
        texts = ("title", "body", "author", "provenance")
        fields |= {name: given[name] for name in texts if given[name] is not None}
        arguments["fields"] = fields
    return arguments


def _links(given: list[str]) -> dict[str, list[str]]:
    links: dict[str, list[str]] = {}
    for link in given:
        relation, _, key = link.partition("=")
        links.setdefault(relation, []).append(key)
    return links


def _spelled(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _print(console: Terminal, value: Mapping[str, Any], depth: int) -> None:
    for name, entry in value.items():
        if entry in (None, "", [], {}, ()) or _GOES_WITHOUT_SAYING.get(name) == entry:
            continue
        line = Text(" " * depth * _NARROW)
        line.append(f"{name}: ", style="dim")
        if isinstance(entry, Mapping):
            console.print(line)
            _print(console, entry, depth + 1)
        elif isinstance(entry, list | tuple) and isinstance(entry[0], Mapping):
            for one in entry:
                console.print(line)
                _print(console, one, depth + 1)
        else:
            values = entry if isinstance(entry, list | tuple) else (entry,)
            console.print(line.append(", ".join(map(_plain, values))), soft_wrap=True)


def _plain(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _is_good(answer: Struct) -> bool:
    told = (getattr(answer, name, True) for name in ("exists", "granted", "released", "existed"))
    return all(told)
