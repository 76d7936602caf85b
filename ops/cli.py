"""`repofold`: the command line. Each command is a module, imported only when it is chosen."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from contracts.errors import Fault, InvalidArgument
from ops.hints import spoken

# name -> (module with add_arguments(parser) and run(args) -> exit code, what it is for)
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("ops.commands.up", "index repositories and serve them over MCP, in the foreground"),
    "mcp": ("ops.commands.mcp", "serve MCP on standard input and output"),
    "init": ("ops.commands.init", "write the configuration of MCP clients"),
    "status": ("ops.commands.status", "what is indexed and how far it is"),
    "health": ("ops.commands.health", "whether retrieval can serve, and why not"),
    "search": ("ops.commands.search", "search a repository"),
    "context": ("ops.commands.context", "the code for a task, within a budget of tokens"),
    "stats": ("ops.commands.stats", "what bundles cost and saved within the last hour"),
    "metrics": ("ops.commands.metrics", "what the instruments of the running node say"),
    "outline": ("ops.commands.outline", "the symbols of a file"),
    "note": ("ops.commands.note", "notes of a repository: their links and claims"),
    "memory": ("ops.commands.memory", "what memory holds: find, add, change, audit"),
    "symbols": ("ops.commands.symbols", "find declarations"),
    "refs": ("ops.commands.refs", "every use of a symbol"),
    "callers": ("ops.commands.callers", "who calls a symbol"),
    "callees": ("ops.commands.callees", "what a symbol calls"),
    "hierarchy": ("ops.commands.hierarchy", "what a type stands below and above"),
    "endpoints": ("ops.commands.endpoints", "the HTTP routes of a program"),
    "trace": ("ops.commands.trace", "what a feature touches, from its entry point down"),
    "map": ("ops.commands.map", "baselines, workspaces, differences and reports of the code map"),
    "doctor": ("ops.commands.doctor", "find out what is wrong and what to do about it"),
    "work": ("ops.commands.work", "run chosen workers against a NATS server"),
    "provision": ("ops.commands.provision", "create streams, consumers and users on a NATS server"),
    "dead": ("ops.commands.dead", "list, show, retry or drop what failed for good"),
    "tail": ("ops.commands.tail", "print events, as they happen with --follow"),
    "replay": ("ops.commands.replay", "rebuild the projections from the streams"),
    "digest": ("ops.commands.digest", "one line that depends on the projections' content alone"),
    "bench": ("ops.commands.bench", "measure indexing, edits and searches"),
}
USAGE = 2
INTERRUPTED = 130


class Command(Protocol):
    """What a command module offers."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] not in COMMANDS:
        return guarded(lambda: _overview(given), as_json=False)
    name, *rest = given
    module, summary = COMMANDS[name]
    command: Command = importlib.import_module(module)
    # "resolve": a command may say itself what --json prints.
    parser = argparse.ArgumentParser(
        prog=f"repofold {name}",
        description=f"{summary[0].upper()}{summary[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        conflict_handler="resolve",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    command.add_arguments(parser)
    args = _parsed(parser, rest)
    return guarded(lambda: command.run(args), as_json=args.json)


def _parsed(parser: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Namespace:
    """Options may stand among the words, unless the command has commands of its own."""
    if "--" not in given:  # argparse forgets this mark where it takes options among words
        with contextlib.suppress(TypeError):  # it has sub-commands
            return parser.parse_intermixed_args(given)
    return parser.parse_args(given)


def guarded(run: Callable[[], int], *, as_json: bool) -> int:
    """Run a command; a Fault is told with its next step instead of a traceback."""
    try:
        code = run()
        sys.stdout.flush()  # here, so that a reader that left is noticed here
    except Fault as fault:
        _tell(fault, as_json=as_json)
        return USAGE if isinstance(fault, InvalidArgument) else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `repofold tail | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code


def _tell(fault: Fault, *, as_json: bool) -> None:
    hint = spoken(fault.hint)
    if as_json:
        error = {"code": fault.code, "message": fault.message, "hint": hint}
        print(json.dumps({"error": error}))
        return
    print(f"error: {fault.message}", file=sys.stderr)
    if hint:
        print(f"  next: {hint}", file=sys.stderr)


def _overview(given: list[str]) -> int:
    if given[:1] in (["--version"], ["version"]):
        from importlib.metadata import version

        print(f"repofold {version('repofold')}")
        return 0
    asked = not given or given[0] in ("-h", "--help", "help")
    width = max(map(len, COMMANDS))
    lines = [
        "usage: repofold COMMAND [OPTIONS]",
        "",
        *(f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()),
        "",
        "`repofold COMMAND --help` tells the options. Every command takes --json.",
    ]
    if not asked:
        lines.insert(0, f"error: there is no command {given[0]!r}\n")
    print("\n".join(lines), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else USAGE


if __name__ == "__main__":
    sys.exit(main())
