"""How stored messages and progress are shown."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import msgspec
import pytest

from contracts.envelope import Envelope, encode
from contracts.errors import InvalidArgument
from contracts.events import ExtractJob, StageProgress, WorkerState
from contracts.ids import Digest, RepoId, RepoPath
from contracts.subjects import STREAMS
from ops.node import screen
from ops.node.events import described, line, stream_of
from ops.node.onboarding import repo_ids


def wrapped(event: msgspec.Struct) -> bytes:
    return encode(
        Envelope(
            id="e1", repo=RepoId("demo"), at_ms=1_700_000_000_123, producer="test", event=event
        )
    )


JOB = ExtractJob(
    path=RepoPath("src/a.py"), version=7, digest=Digest("xx128:0"), size_bytes=6, mtime_ns=1, anchor_ns=1,
    pass_id="p", expected_sequence=0, data=b"secret",
)  # fmt: skip


def test_a_message_is_told_without_the_bodies_it_carries() -> None:
    said = described("work.extract.demo.src", wrapped(JOB))

    assert said["type"] == "extract.run"
    assert said["at"] == "2023-11-14T22:13:20.123Z"
    assert said["event"]["data"] == "<6 B>"
    assert "secret" not in json.dumps(said)
    assert line("WORK", 3, "work.extract.demo.src", said).startswith(
        "22:13:20.123 WORK            3 extract.run"
    )


def test_what_cannot_be_read_is_told_by_its_size() -> None:
    said = described("work.extract.demo.src", b"\xc1junk")

    assert said["type"] == "undecodable"
    assert "5 B" in line("WORK", 3, "work.extract.demo.src", said)
    assert described("dead.extractor.work.extract.demo.x", b"abc")["bytes"] == 3


def test_every_stream_is_known_by_its_subjects() -> None:
    assert [stream_of(spec.subjects[0]) for spec in STREAMS] == [spec.name for spec in STREAMS]
    assert stream_of("node.local.folded") == ""


def test_repositories_are_named_after_their_folders() -> None:
    assert repo_ids([Path("/a/one"), Path("/b/two")]) == {
        "one": Path("/a/one"),
        "two": Path("/b/two"),
    }
    assert list(repo_ids([Path("/a/app"), Path("/b/app")])) == ["a-app", "b-app"]
    assert list(repo_ids([Path("/")])) == ["root"]
    with pytest.raises(InvalidArgument, match="same name"):
        repo_ids([Path("/x/a/app"), Path("/y/a/app")])
    with pytest.raises(InvalidArgument, match="no name for a repository"):
        repo_ids([Path("/a/two\nlines")])


def test_without_a_terminal_progress_is_silent_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)

    quiet, verbose = (
        screen.choose(verbose=False, as_json=False),
        screen.choose(verbose=True, as_json=False),
    )
    quiet.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=1, total=9)))
    assert shown.getvalue() == ""

    verbose.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=1, total=9)))
    verbose.progress(
        wrapped(StageProgress(pass_id="p", stage="extract", done=2, total=9))
    )  # within the second
    verbose.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=9, total=9)))
    verbose.progress(wrapped(WorkerState(worker="embedder", state="down", detail="refused")))
    assert shown.getvalue().splitlines() == [
        "demo: extract 1/9",
        "demo: extract 9/9",
        "embedder: down refused",
    ]


def test_programs_get_progress_as_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)

    screen.choose(verbose=False, as_json=True).progress(
        wrapped(StageProgress(pass_id="p", stage="embed", done=3, total=0))
    )

    told = json.loads(shown.getvalue())
    assert (told["repo"], told["stage"], told["done"]) == ("demo", "embed", 3)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_a_terminal_gets_bars_and_a_line_for_each_stage_that_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")

    bars = screen.choose(verbose=False, as_json=False)
    bars.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=10, total=2000)))
    bars.line("a log line")
    bars.clear()  # somebody else writes a line, then the bars go on
    bars.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=20, total=2000)))
    bars.progress(wrapped(StageProgress(pass_id="p", stage="fold", done=1, total=2)))
    bars.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=2000, total=2000)))
    bars.clear()

    text = shown.getvalue()
    assert "reading" in text
    assert "10/2000" in text
    assert "20/2000" in text
    assert "a log line" in text
    assert "demo: reading done, 2,000 in" in text
    assert "\x1b[?25h" in text  # the cursor is back


async def test_embedding_is_done_once_when_nothing_is_read_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")

    bars = screen.choose(verbose=False, as_json=False)
    for stage, done, total in (
        ("extract", 10, 20), ("embed", 5, 10), ("embed", 10, 10), ("embed", 12, 15),
        ("embed", 15, 15), ("extract", 1, 1), ("embed", 1, 1),
    ):  # fmt: skip
        bars.progress(wrapped(StageProgress(pass_id="p", stage=stage, done=done, total=total)))
    bars.clear()

    told = [line for line in shown.getvalue().splitlines() if " done, " in line]
    assert len(told) == 2
    assert "demo: reading done, 20 in" in told[0]
    assert "demo: embedding done, 15 in" in told[1]


async def test_a_worker_that_began_well_is_no_news_and_one_that_recovered_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")

    bars = screen.choose(verbose=False, as_json=False)
    for state in ("up", "down", "up", "up"):
        bars.progress(wrapped(WorkerState(worker="embedder", state=state)))

    assert shown.getvalue().splitlines() == ["embedder: down", "embedder: up"]


async def test_a_stage_that_had_nothing_to_do_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")

    bars = screen.choose(verbose=False, as_json=False)
    bars.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=0, total=0)))
    bars.progress(wrapped(StageProgress(pass_id="p", stage="extract", done=1, total=1)))
    bars.clear()

    assert " done, " not in shown.getvalue()
