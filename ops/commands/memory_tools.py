"""The memory tools as commands: the tool's own arguments in, a table or its JSON out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from contracts.errors import OverBudget
from contracts.tools import memory as shapes
from ops.ask import Asker, json_text
from ops.node.options import add_place
from ops.tell import tell
from ops.terminal import Terminal
from services.query.catalogue import TOOLS

Options = Callable[[argparse.ArgumentParser], None]
Show = Callable[[Terminal, Any], int]


class ToolCommand:
    """One tool of the family. Options that a tool takes have the names of its arguments."""

    def __init__(self, tool: str, options: Options, show: Show) -> None:
        self._tool, self._options, self._show = tool, options, show

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_place(parser)
        if "repository" in TOOLS[self._tool].arguments.accepted:
            parser.add_argument(
                "--repo",
                metavar="SLUG",
                help="owner/name, or a repository's id (default: the one here)",
            )
        self._options(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Print the answer; the exit code says whether there was one."""
        tool = TOOLS[self._tool]
        arguments: dict[str, Any] = {
            name: value
            for name in tool.arguments.accepted
            if (value := getattr(args, name, None)) is not None
        }
        if "repository" in tool.arguments.accepted:
            arguments["repository"] = args.repo or Asker(args).repository(None)
        try:
            answer = self._ask(args, arguments)
        except OverBudget as fault:
            report = fault.details.get("report")
            if not args.json or not isinstance(report, Struct):
                raise
            print(json_text(report))
            return 1
        if args.json:
            print(json_text(answer))
            return self._show(Terminal(quiet=True), answer)
        return self._show(Terminal(), answer)

    def _ask(self, args: argparse.Namespace, arguments: Mapping[str, Any]) -> Struct:
        if TOOLS[self._tool].writes:
            return tell(args, self._tool, arguments)
        return Asker(args).ask(self._tool, arguments)


# --------------------------------------------------------------------------- options


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tags", help="part of the tags, any case")
    parser.add_argument("--status", choices=shapes.STATUSES)
    parser.add_argument("--type", dest="memory_type", choices=shapes.MEMORY_TYPES)
    parser.add_argument("--certainty", choices=shapes.CERTAINTIES)


def _page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, help="1 to 50 (default 8)")
    parser.add_argument("--offset", type=int)


def _fields(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tags", help="comma-separated: area:cli,topic:backend,kind:decision")
    parser.add_argument("--context", help="supporting text")
    parser.add_argument("--type", dest="memory_type", choices=shapes.MEMORY_TYPES)
    parser.add_argument("--certainty", choices=shapes.CERTAINTIES)
    parser.add_argument("--status", choices=shapes.STATUSES)


def _expiry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--expires-after-days", type=int, metavar="DAYS", help="only with --type status"
    )


def _listing(parser: argparse.ArgumentParser) -> None:
    _filters(parser)
    _page(parser)


def _querying(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="words or a question")
    parser.add_argument("--mode", choices=["hybrid", "keyword", "semantic"])
    parser.add_argument("--limit", type=int, help="1 to 50 (default 8)")
    _filters(parser)


def _suggesting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", help="comma-separated paths")
    parser.add_argument("--query", help="what the edit is about")
    parser.add_argument("--limit", type=int, help="1 to 50 (default 8)")
    _filters(parser)


def _by_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=int)


def _adding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("content", help="commands, paths and identifiers in the first sentence")
    _fields(parser)
    _expiry(parser)
    parser.add_argument("--upsert-match", metavar="WORDS", help="update a strong match instead")
    parser.add_argument(
        "--upsert-threshold", type=int, metavar="SCORE", help="0 to 100 (default 32)"
    )
    parser.add_argument(
        "--force", action="store_const", const=True, help="create in spite of a weak match"
    )


def _updating(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=int, nargs="?")
    parser.add_argument("--match", metavar="WORDS", help="instead of an id: the best active match")
    parser.add_argument("--content", help="new text")
    _fields(parser)
    _expiry(parser)
    parser.add_argument("--superseded-by", type=int, metavar="ID")


def _retiring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", type=int, nargs="+", metavar="ID")
    parser.add_argument("--superseded-by", type=int, metavar="ID", help="what takes their place")


def _deleting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", type=int, nargs="+", metavar="ID")


def _verifying(parser: argparse.ArgumentParser) -> None:
    _by_id(parser)
    parser.add_argument("fact", help="a statement")


def _differing(parser: argparse.ArgumentParser) -> None:
    _by_id(parser)
    parser.add_argument("content", help="a new content")


def _measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("content")
    _fields(parser)


def _nothing(_: argparse.ArgumentParser) -> None:
    """Without options of its own."""


# --------------------------------------------------------------------------- showing


def _table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in titles:
        numeric = title in ("id", "score", "total", "active", "deprecated", "superseded", "count")
        wide = title in ("content", "details")
        table.add_column(
            title, justify="right" if numeric else "left", no_wrap=not wide, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def _show_repos(console: Terminal, answer: shapes.Repositories) -> int:
    titles = ("repository", "total", "active", "deprecated", "superseded")
    rows = [(r.slug, r.total, r.active, r.deprecated, r.superseded) for r in answer.repositories]
    console.print(_table(titles, rows))
    _tell_page(console, answer.count, answer.total_count, answer.offset)
    return 0 if answer.count else 1


def _show_list(console: Terminal, answer: shapes.MemoryPage) -> int:
    rows = [(m.id, m.memory_type, m.certainty, m.status, m.content, m.tags) for m in answer.results]
    console.print(_table(("id", "type", "certainty", "status", "content", "tags"), rows))
    _tell_page(console, answer.count, answer.total_count, answer.offset)
    return 0 if answer.count else 1


def _show_scored(console: Terminal, answer: shapes.QueryResults | shapes.Suggestions) -> int:
    rows = [
        (f"{m.score:.3f}", m.id, m.memory_type, _state(m), m.content, m.tags)
        for m in answer.results
    ]
    console.print(_table(("score", "id", "type", "status", "content", "tags"), rows))
    if isinstance(answer, shapes.QueryResults) and answer.degraded:
        console.print(Text(answer.degraded, style="yellow"))
    if not answer.count:
        console.print("nothing found")
    return 0 if answer.count else 1


def _state(memory: shapes.ScoredMemory) -> str:
    newer = ", ".join(map(str, memory.contradicted_by))
    return f"{memory.status}, denied by {newer}" if newer else memory.status


def _show_record(console: Terminal, answer: shapes.GotMemory | shapes.MemoryRecord) -> int:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name in answer.__struct_fields__:
        value = getattr(answer, name)
        if value not in (None, "", ()):
            table.add_row(name, Text(", ".join(value) if isinstance(value, tuple) else str(value)))
    console.print(table)
    return 0


def _show_added(console: Terminal, answer: shapes.Added) -> int:
    console.print(Text(f"{answer.mode} {answer.id} in {answer.written_to}", style="bold"))
    for other in answer.potential_conflicts or ():
        console.print(Text(f"  overlaps {other.id}: {other.content}", style="yellow"))
    for each in answer.contradicts:
        console.print(Text(f"  {each.reason}: {each.older_id} says otherwise", style="yellow"))
    return 0


def _show_updated(console: Terminal, answer: shapes.Updated) -> int:
    matched = f", matched by {answer.matched.query!r}" if answer.matched else ""
    console.print(Text(f"updated {answer.id} in {answer.written_to}{matched}", style="bold"))
    return _show_record(console, answer.memory)


def _show_deprecated(console: Terminal, answer: shapes.Deprecated) -> int:
    ids = ", ".join(str(memory.id) for memory in answer.deprecated) or "none"
    console.print(Text(f"{answer.status} in {answer.written_to}: {ids}", style="bold"))
    return _tell_rest(console, answer.not_found, answer.claimed or ())


def _show_deleted(console: Terminal, answer: shapes.DeletedMany) -> int:
    ids = ", ".join(map(str, answer.deleted_ids)) or "none"
    console.print(Text(f"deleted from {answer.deleted_from}: {ids}", style="bold"))
    return _tell_rest(console, answer.not_found, answer.claimed)


def _tell_rest(console: Terminal, missing: Sequence[int], claimed: Sequence[int]) -> int:
    for what, ids in (("not found", missing), ("claimed, left alone", claimed)):
        if ids:
            console.print(Text(f"  {what}: {', '.join(map(str, ids))}", style="yellow"))
    return 1 if missing or claimed else 0


def _show_diagnosis(console: Terminal, answer: shapes.Diagnosis) -> int:
    rows = [(f.kind, ", ".join(map(str, f.ids)), _details(f.details)) for f in answer.findings]
    rows += [
        (f"contradiction ({c.reason})", f"{c.newer_id}, {c.older_id}", ", ".join(c.shared_terms))
        for c in answer.contradictions
    ]
    rows += [
        ("reads like an order", str(i.id), ", ".join(i.signs)) for i in answer.instruction_like
    ]
    if rows:
        console.print(_table(("finding", "ids", "details"), rows))
    console.print(f"{answer.checked} active memories checked, {len(rows)} findings")
    return 1 if rows else 0


def _details(details: shapes.Details) -> str:
    told = ((name, getattr(details, name)) for name in details.__struct_fields__)
    return ", ".join(
        f"{name} {', '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in told
        if value not in (None, ())
    )


def _show_figures(console: Terminal, answer: shapes.Statistics) -> int:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name in answer.__struct_fields__:
        value = getattr(answer, name)
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count}" for key, count in list(value.items())[:20])
        elif isinstance(value, shapes.Oldest):
            value = f"{value.id}, {value.created_at}"
        table.add_row(Text(name.replace("_", " "), style="dim"), Text(str(value or 0)))
    console.print(table)
    return 0


def _show_outlived(console: Terminal, answer: shapes.Expired) -> int:
    rows = [(m.id, m.expires_after_days, m.updated_at, m.content) for m in answer.expired]
    if rows:
        console.print(_table(("id", "days", "updated", "content"), rows))
        console.print(
            f"retire them with `repofold memory deprecate {' '.join(map(str, answer.ids))}`"
        )
    else:
        console.print("nothing has outlived its time")
    return 0


def _show_verification(console: Terminal, answer: shapes.Verification) -> int:
    style = "green" if answer.ok else "red"
    console.print(Text(f"{answer.result}, similarity {answer.similarity}", style=style))
    return 0 if answer.ok else 1


def _show_difference(console: Terminal, answer: shapes.Difference) -> int:
    for terms, sign, style in (
        (answer.added_terms, "+", "green"),
        (answer.removed_terms, "-", "red"),
    ):
        console.print(Text(f"{sign} {' '.join(terms)}", style=style))
    told = "conflict" if answer.conflict else "no conflict"
    console.print(f"{told}, similarity {answer.similarity}")
    return 0


def _show_size(console: Terminal, answer: shapes.Size) -> int:
    size = answer.size
    console.print(
        f"{size.bytes_estimate} of {size.max_bytes_estimate} bytes, {size.remaining} left"
    )
    return 0


def _tell_page(console: Terminal, count: int, total: int, offset: int) -> None:
    console.print(f"{offset + 1}-{offset + count} of {total}" if count else f"none of {total}")


REPOS = ToolCommand("list_repositories", _page, _show_repos)
LIST = ToolCommand("memory_list", _listing, _show_list)
QUERY = ToolCommand("memory_query", _querying, _show_scored)
SUGGEST = ToolCommand("memory_suggest", _suggesting, _show_scored)
SHOW = ToolCommand("memory_get", _by_id, _show_record)
ADD = ToolCommand("memory_add", _adding, _show_added)
UPDATE = ToolCommand("memory_update", _updating, _show_updated)
DEPRECATE = ToolCommand("memory_deprecate", _retiring, _show_deprecated)
DELETE = ToolCommand("memory_delete_many", _deleting, _show_deleted)
DOCTOR = ToolCommand("memory_doctor", _nothing, _show_diagnosis)
STATS = ToolCommand("memory_stats", _nothing, _show_figures)
GC = ToolCommand("memory_gc", _nothing, _show_outlived)
VERIFY = ToolCommand("memory_verify", _verifying, _show_verification)
DIFF = ToolCommand("memory_diff", _differing, _show_difference)
SIZE = ToolCommand("memory_size", _measuring, _show_size)
