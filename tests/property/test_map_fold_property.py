"""However a stream is batched, repeated or compacted, the code map that comes of it is the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.events.index import (
    BaselineDropped,
    BaselinePublished,
    EdgesDropped,
    EdgesResolved,
    ManifestPart,
    OverlayPublished,
)
from contracts.events.mapping import WorkspaceRecorded
from contracts.filemap import Entry, FileFacts, pack_entries
from contracts.ids import RepoPath
from services.query.codemap.pending import Unresolved
from store.fold import Folder, Message, open_writable
from store.map_digest import map_digest_of
from store.read.live import Snapshot
from tests import facts

_PATHS = ("a.py", "b/c.py", "d.py")
_COMMITS = ("1" * 40, "2" * 40)
_OPERATIONS = (
    "record", "resolve", "resolve", "drop", "remove", "base", "unbase", "create", "refresh", "reset", "torn",
)  # fmt: skip


class Writer:
    """A model of both streams: what the workers append, newest per subject."""

    def __init__(self) -> None:
        self.log: list[Message] = facts.messages(facts.registered())
        self.history: list[Message] = []
        self.newest: dict[str, Message] = {}
        self.records: dict[str, int] = {}
        self.workspace = 0  # LOG sequence of its newest fact
        self.revision = 0
        self.edition = 0

    def index(self, subject: str, event: object) -> int:
        data = event if isinstance(event, bytes) else facts.wrap(event)
        message = Message(len(self.history) + 1, data)
        self.history.append(message)
        self.newest[subject] = message
        return message.sequence

    def step(self, operation: str, number: int, turn: int) -> None:
        path, commit = _PATHS[number % 3], _COMMITS[number % 2]
        match operation:
            case "record":
                record = facts.recorded(path, f"text {turn}", turn)
                self.records[path] = self.index(f"file {path}", record)
            case "resolve" if path in self.records:
                event = EdgesResolved(
                    path=RepoPath(path), file_sequence=self.records[path], version="1",
                    edges=b"e%d" % turn, columns=b"c%d" % turn, summary=b"s",
                )  # fmt: skip
                self.index(f"edges {path}", event)
            case "remove":
                self.index(f"file {path}", facts.removed(path, turn))
                self.records.pop(path, None)
            case "drop":
                self.index(f"edges {path}", EdgesDropped(path=RepoPath(path)))
            case "base":
                self.parts(f"base/{commit}", f"base {commit}", turn)
                self.index(f"base {commit} head", baseline(commit, turn))
            case "unbase":
                self.index(f"base {commit} head", BaselineDropped(commit=commit))
            case "create" | "reset":
                state = "created" if operation == "create" else "reset"
                fact = WorkspaceRecorded(
                    workspace_id="w", commit=commit, state=state, created_ms=turn
                )
                self.log.append(Message(len(self.log) + 1, facts.wrap(fact)))
                self.workspace, self.revision = len(self.log), 0
            case "refresh" if self.workspace:
                self.edition = 2 * turn + (self.edition + 1) % 2
                self.parts("ws/w", f"ws {self.edition % 2}", self.edition)
                self.revision += 1
                self.index("ws head", overlay(self.workspace, self.revision, self.edition))
            case "torn":  # a worker killed before it published the head
                edition = 2 * turn + (self.edition + 1) % 2
                self.parts("ws/w", f"ws {edition % 2}", edition)
            case _:
                pass

    def parts(self, name: str, subject: str, edition: int) -> None:
        for part in range(2):
            entry = Entry(FileFacts(_PATHS[part], f"d{edition}"), b"c%d" % edition, b"b", b"e")
            event = ManifestPart(
                manifest=name, edition=edition, part=part, entries=pack_entries([entry])
            )
            self.index(f"{subject} {part}", event)

    def compacted(self) -> list[Message]:
        return sorted(self.newest.values(), key=lambda message: message.sequence)


def baseline(commit: str, edition: int) -> BaselinePublished:
    return BaselinePublished(
        commit=commit, edition=edition, parts=2, files=2, symbols=1, references=1, full=1,
        partial=0, created_ms=edition, elapsed_ms=1,
    )  # fmt: skip


def overlay(log_sequence: int, revision: int, edition: int) -> OverlayPublished:
    return OverlayPublished(
        workspace_id="w", log_sequence=log_sequence, revision=revision, edition=edition, parts=2,
        changed=("a.py",), symbols=1, facts=0, full=1, partial=0, at_ms=edition,
    )  # fmt: skip


def folded(folder: Path, log: list[Message], batches: list[list[Message]]) -> str:
    env = open_writable(folder, sync=False)
    fold = Folder(env)
    fold.fold(log, [], log_complete=False)
    tally = Unresolved()
    for batch in batches:
        fold.fold([], batch, log_complete=False)
        with env.read() as txn:
            snapshot = Snapshot(txn)
            repo = snapshot.repo(facts.REPO)
            assert repo is not None
            assert tally.count(snapshot, repo, 1) == Unresolved().count(snapshot, repo, 1)
    with env.read() as txn:
        line = map_digest_of(txn)
        named = sum(1 for _ in txn.keys("editions", b""))
        rows = txn.count("map_files")
        assert rows <= 2 * named, "rows of an edition that is not known any more"
    env.close()
    return line


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(_OPERATIONS), st.integers(0, 5)), max_size=24),
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=6),
)
def test_batching_repetition_and_compaction_do_not_change_the_map(
    steps: list[tuple[str, int]], cuts: list[int]
) -> None:
    writer = Writer()
    for turn, (operation, number) in enumerate(steps, 1):
        writer.step(operation, number, turn)
    history = writer.history
    batches: list[list[Message]] = []
    at = turn = 0
    while at < len(history):
        size = cuts[turn % len(cuts)]
        batches.append(history[at : at + size])
        at, turn = at + size, turn + 1

    with tempfile.TemporaryDirectory() as root:
        at_once = folded(Path(root) / "once", writer.log, [history])
        assert folded(Path(root) / "batches", writer.log, batches) == at_once
        assert folded(Path(root) / "repeated", writer.log, [history, history]) == at_once
        assert folded(Path(root) / "compacted", writer.log, [writer.compacted()]) == at_once
