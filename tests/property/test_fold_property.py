"""Whatever happens to a stream on its way, the content that comes of it is the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from store.digest import digest_of
from store.fold import Folder, Message, open_writable
from store.read.live import Snapshot
from tests import facts

_PATHS = ("a.py", "b/c.py", "b/d.py", "é.py")
_LOG = facts.messages(facts.registered())


class Writer:
    """A model of the INDEX stream: newest per subject, appends conditioned as the workers do."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.newest: dict[tuple[str, str], Message] = {}
        self.record: dict[str, int] = {}

    def append(self, family: str, path: str, data: bytes) -> int:
        message = Message(len(self.history) + 1, data)
        self.history.append(message)
        self.newest[family, path] = message
        return message.sequence

    def step(self, operation: str, path: str, version: int) -> None:
        if operation == "record":
            text = f"{path} {version % 3}"
            self.record[path] = self.append(
                "file", path, facts.recorded(path, text, version, names=(f"n{version % 2}",))
            )
        elif operation == "remove":
            self.append("file", path, facts.removed(path, version))
            self.record.pop(path, None)
        elif operation == "embed" and path in self.record:
            self.append("vec", path, facts.vectors(path, self.record[path]))

    def compacted(self) -> list[Message]:
        return sorted(self.newest.values(), key=lambda message: message.sequence)


steps = st.lists(
    st.tuples(st.sampled_from(("record", "record", "embed", "remove")), st.sampled_from(_PATHS)),
    max_size=30,
)


def folded(folder: Path, batches: list[list[Message]]) -> tuple[str, list[int]]:
    env = open_writable(folder, sync=False)
    fold = Folder(env)
    fold.fold(_LOG, [], log_complete=False)
    for batch in batches:
        fold.fold([], batch, log_complete=False)
    with env.read() as txn:
        snapshot = Snapshot(txn)
        live = sorted(
            int(s)
            for view in snapshot.segment_views(facts.REPO)
            for s in view.arrays.file_sequence[view.live_files]
        )
        line = digest_of(txn)
        row = snapshot.repo(facts.REPO)
        assert row is not None
        rows = list(snapshot.files(facts.REPO))
        assert row.counters.files == len(rows)
        assert row.counters.embedded == sum(file.embedded for file in rows)
        assert row.counters.symbols == sum(file.symbols for file in rows)
        assert txn.count("bodies") == txn.count("texts") == txn.count("paths") == len(rows)
    env.close()
    return line, live


@settings(max_examples=60, deadline=None)
@given(
    steps=steps, cuts=st.lists(st.integers(1, 7), min_size=1, max_size=8), repeat=st.integers(0, 29)
)
def test_batching_repetition_and_compaction_do_not_change_the_content(
    steps: list[tuple[str, str]], cuts: list[int], repeat: int
) -> None:
    writer = Writer()
    for number, (operation, path) in enumerate(steps):
        writer.step(operation, path, number + 1)
    history = writer.history
    batches: list[list[Message]] = []
    at = turn = 0
    while at < len(history):
        size = cuts[turn % len(cuts)]
        batches.append(history[at : at + size])
        at += size
        turn += 1
    again = history[: repeat % (len(history) + 1)]

    with tempfile.TemporaryDirectory() as root:
        at_once = folded(Path(root) / "once", [history])
        assert folded(Path(root) / "batches", batches) == at_once
        assert folded(Path(root) / "repeated", [history, again, *batches[-1:]]) == at_once
        assert folded(Path(root) / "compacted", [writer.compacted()]) == at_once
