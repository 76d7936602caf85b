"""`python -m ops.docgen`: writes docs/reference from the code; `--check` only compares."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import msgspec

from contracts.instruments import INSTRUMENTS, exposed
from contracts.subjects import DURABLES, STREAMS
from services.kernel import settings
from services.kernel.settings import Settings

ROOT = Path(__file__).parents[1]
_HEAD = "<!-- written by `python -m ops.docgen`; do not edit -->\n\n"


def pages() -> dict[str, str]:
    """File name -> content of every generated page."""
    return {
        "settings.md": _settings(),
        "subjects.md": _subjects(),
        "tools.md": _tools(),
        "metrics.md": _metrics(),
    }


def _settings() -> str:
    comments = _field_comments(Path(settings.__file__), "Settings")
    lines = [
        "# Settings",
        "",
        "Environment variables of every worker; an unknown one stops the start.",
        "",
    ]
    lines += ["| variable | default | meaning |", "|---|---|---|"]
    for field in msgspec.structs.fields(Settings):
        default = "" if field.default in ("", ()) else f"`{field.default}`"
        lines.append(
            f"| `REPOFOLD_{field.name.upper()}` | {default} | {comments.get(field.name, '')} |"
        )
    return _HEAD + "\n".join(lines) + "\n"


def _field_comments(path: Path, name: str) -> dict[str, str]:
    """The comment behind each field of a class."""
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {
                field.target.id: lines[field.lineno - 1].partition("  # ")[2]
                for field in node.body
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            }
    return {}


def _subjects() -> str:
    import contracts.subjects as module

    lines = [
        "# Streams, subjects and durables",
        "",
        "```text",
        (module.__doc__ or "").strip(),
        "```",
        "",
    ]
    lines += ["| stream | subjects | retention | newest per subject |", "|---|---|---|---|"]
    for stream in STREAMS:
        kept = str(stream.per_subject) if stream.per_subject > 0 else "all"
        lines.append(
            f"| {stream.name} | {', '.join(f'`{s}`' for s in stream.subjects)} | {stream.retention} | {kept} |"
        )
    lines += ["", "| durable | worker | stream | subject |", "|---|---|---|---|"]
    lines += [f"| {d.name} | {d.worker} | {d.stream} | `{d.subject}` |" for d in DURABLES]
    return _HEAD + "\n".join(lines) + "\n"


def _tools() -> str:
    from services.query.catalogue import TOOLS

    lines = [
        "# Tools",
        "",
        "`--profile` chooses which are listed. `agent`, `memory` and `codemap` list two more, `tools_find` and",
        "`tools_call`: one describes any other tool, one runs it with the same checks as if it were listed.",
        "",
        "| profile | tools |",
        "|---|---|",
        *(
            _profile(name, [tool.name for tool in TOOLS if name in tool.profiles])
            for name in sorted(TOOLS.profiles())
        ),
        "",
    ]
    for tool in TOOLS:
        kind = "writes" if tool.writes else "reads"
        modes = "" if len(tool.modes) > 1 else f", {next(iter(tool.modes))} mode"
        lines += [
            f"## {tool.name}",
            "",
            f"{tool.description}",
            "",
            f"*{kind}, scope {tool.scope}{modes}*",
            "",
        ]
        lines += ["| argument | type | required | default |", "|---|---|---|---|"]
        properties = tool.arguments.schema.get("properties", {})
        required = tool.arguments.schema.get("required", [])
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        for name, schema in properties.items():
            assert isinstance(schema, dict)
            values = schema.get("enum")
            kind = (
                " \\| ".join(map(str, values))
                if isinstance(values, list)
                else str(schema.get("type"))
            )
            default = schema.get("default", "")
            lines.append(f"| {name} | {kind} | {'yes' if name in required else ''} | {default} |")
        lines.append("")
    return _HEAD + "\n".join(lines)


_NAMED = 10  # a longer list says no more than its length
_VERDICTS = {
    "K": "as specified",
    "A": "adapted",
    "R": "equivalent",
    "N": "ours",
}


def _profile(name: str, members: list[str]) -> str:
    shown = ", ".join(members) if len(members) <= _NAMED else f"{len(members)} tools"
    return f"| `{name}` | {shown} |"


def _metrics() -> str:
    lines = [
        "# Instruments",
        "",
        "What `GET /metrics` on the MCP port shows, as Prometheus text. *Primed* arms exist at zero from",
        "the start, those behind a repository from its first pass or build on.",
        "",
        "| name | kind | unit | labels | primed arms | meaning | counted by | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in INSTRUMENTS.values():
        total = "_total" if each.kind == "counter" else ""
        names = [f"`{exposed(name, each.unit)}{total}`" for name in (each.name, each.alias) if name]
        arms = ", ".join("/".join(part or "-" for part in arm) for arm in each.arms)
        labels = ", ".join(each.labels)
        meaning = each.meaning + (f"; only with `{each.needs}`" if each.needs else "")
        row = [
            " ".join(names), each.kind, each.unit, labels, arms, meaning, each.fed_by,
            _VERDICTS[each.verdict],
        ]  # fmt: skip
        lines.append(f"| {' | '.join(row)} |")
    return _HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Write the pages, or with --check tell which are out of date."""
    folder = ROOT / "docs" / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, content in pages().items():
        path = folder / name
        if not path.exists() or path.read_text() != content:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(content)
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `python -m ops.docgen`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
