"""What does a terminal get to see of names and texts that would steer it?"""

from __future__ import annotations

import io

import pytest
from rich.table import Table
from rich.text import Text

from contracts.events.progress import StageProgress
from ops.node.screen import Bars
from ops.terminal import Terminal

_STEERING = "a\x1b]0;title\x07b\u202ec\tname"


def shown(console: Terminal) -> str:
    table = Table(box=None)
    table.add_column("in a table")
    table.add_row(Text(_STEERING))
    console.print(Text(_STEERING), table, soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_steers_a_terminal_is_written_out_there() -> None:
    out = shown(Terminal(file=io.StringIO(), force_terminal=True, color_system=None, width=200))

    assert out.startswith("a<U+001B>]0;titleb<U+202E>c")
    assert out.count("<U+001B>") == 2
    assert "\x1b" not in out


def test_a_pipe_gets_the_text_as_it_is() -> None:
    console = Terminal(file=io.StringIO(), force_terminal=False)
    out = shown(console)

    assert out.count("a\x1b]0;titleb\u202ec") == 2
    console.print("word " * 100)
    assert "word " * 100 in console.file.getvalue()  # type: ignore[attr-defined]


def test_styles_of_ones_own_still_reach_a_terminal() -> None:
    console = Terminal(file=io.StringIO(), force_terminal=True, color_system="standard")

    console.print(Text("path", style="bold"))

    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "\x1b[1mpath\x1b[0m\n"


def test_what_looks_like_markup_is_text() -> None:
    console = Terminal(file=io.StringIO(), force_terminal=True, color_system="standard", width=80)
    table = Table(box=None, show_header=False)
    table.add_row("a[/b] :smile: [bold]c")

    console.print("a[/b] :smile: [bold]c 12", table)

    assert isinstance(console.file, io.StringIO)
    lines = [line.strip() for line in console.file.getvalue().splitlines()]
    assert lines == ["a[/b] :smile: [bold]c 12", "a[/b] :smile: [bold]c"]


def test_a_bar_shows_a_repository_of_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    bars = Bars()
    reading = StageProgress(pass_id="p", stage="extract", done=1, total=3, notice="[/c]")

    bars._show(("a[/b]", "extract"), reading)
    bars._progress.refresh()
    bars._stop()

    assert "a[/b]" in shown.getvalue()
    assert "[/c]" in shown.getvalue()
