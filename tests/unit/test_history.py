"""Earlier commits: how git tells them, what is kept of them, and what they say about files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Unavailable
from contracts.events.index import HistoryStored
from contracts.extract import EXTRACTOR_VERSION
from contracts.history import pack_commits, unpack_commits
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.query.ranking.history import FileHistory, History
from services.source.commits import MAX_FILES, Commit, commits_of
from services.source.gitlog import commits, is_ancestor, signature
from services.source.gitrepo import GitTree
from services.source.query_text import STOP_WORDS
from services.source.terms import query_terms, tokenise
from services.walker.history import HistoryReader, Reading
from store.env import CorruptEnvironment, Env
from store.fold import Folder, open_writable
from store.read.history import HistoryStanding, standing_of
from store.read.history import commits_of as stored
from tests import facts

# ---------------------------------------------------------------- what they say


def history(*found: Commit, cuts: tuple[int, ...] = ()) -> History:
    bounds = [0, *sorted(set(cuts)), len(found)]
    runs = [found[a:b] for a, b in pairwise(bounds)]
    return History([unpack_commits(pack_commits(commits_of(run))) for run in runs])


def scores(of: History, query: str) -> dict[str, tuple[float, float]]:
    words, nearest = of.score(query_terms(query).terms)
    return {
        path: (round(float(a), 4), round(float(b), 4))
        for path, a, b in zip(of.paths, words, nearest, strict=True)
        if a or b
    }


def test_a_file_is_known_by_what_was_said_when_it_was_touched() -> None:
    known = history(
        Commit("Fix quokka overflow", ("a.py", "b.py")), Commit("Speed up the parser", ("c.py",))
    )

    found = scores(known, "quokka")
    assert found.keys() == {"a.py", "b.py"}
    assert scores(known, "wombat") == {}
    assert scores(known, "") == {}
    placed = FileHistory(known, ["z.py", "b.py"]).score(query_terms("quokka").terms)
    assert placed.words[0] == placed.nearest[0] == 0
    assert placed.words[1] > 0 < placed.nearest[1]


def test_history_follows_renames_chains_and_swaps() -> None:
    known = history(
        Commit("quokka", ("a.py",)),
        Commit("move", ("b.py",), (("a.py", "b.py"),)),
        Commit("wombat", ("a.py", "b.py")),  # another a.py
        Commit("swap", ("a.py", "b.py"), (("a.py", "b.py"), ("b.py", "a.py"))),
        Commit("move", ("c.py",), (("a.py", "c.py"),)),
    )

    assert scores(known, "quokka").keys() == {"c.py"}
    assert scores(known, "wombat").keys() == {"b.py", "c.py"}


def test_a_commit_that_touches_very_many_files_tells_nothing_but_its_renames() -> None:
    many = tuple(f"f{at}.py" for at in range(MAX_FILES + 1))
    known = history(Commit("quokka", ("old.py",)), Commit("wombat", many, (("old.py", "f0.py"),)))

    assert scores(known, "wombat") == {}
    assert scores(known, "quokka").keys() == {"f0.py"}


def test_no_commits_say_nothing() -> None:
    for known in (History([]), history()):
        assert FileHistory(known, ["a.py"]).score(query_terms("a").terms).words.tolist() == [0]


NAMES = ("a", "b", "c", "d")
WORDS = ("quokka", "wombat", "numbat", "the")
COMMITS = st.lists(
    st.builds(
        Commit,
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        st.lists(st.sampled_from(NAMES), unique=True, max_size=3).map(tuple),
        st.lists(
            st.permutations(NAMES).map(lambda p: (p[0], p[1])), max_size=2, unique_by=lambda r: r[0]
        ).map(tuple),
    ),
    max_size=12,
)


def touches(found: list[Commit]) -> list[tuple[int, str]]:
    """Commit and today's name of every touch, spelled out."""
    today: dict[str, str] = {}
    touched = []
    for at in range(len(found) - 1, -1, -1):
        touched += [(at, today.get(name, name)) for name in found[at].files]
        today |= {old: today.get(new, new) for old, new in found[at].renames}
    return sorted(touched)


@settings(max_examples=150, deadline=None)
@given(COMMITS, st.lists(st.integers(0, 12), max_size=3))
def test_the_runs_that_commits_come_in_do_not_matter(found: list[Commit], cuts: list[int]) -> None:
    inside = tuple(cut for cut in cuts if cut <= len(found))
    known = history(*found, cuts=inside)

    expected = touches(found)
    for word in WORDS[:3]:
        said = {path for at, path in expected if word in found[at].message}
        assert scores(known, word).keys() == said
        assert scores(known, word) == scores(history(*found), word)


def test_only_hashes_of_words_are_kept_and_no_stop_words() -> None:
    kept = commits_of([Commit("The secret of the hunter2 password", ("a.py",))])

    assert b"hunter2" not in pack_commits(kept)
    expected = set(tokenise("secret hunter2 password")) - STOP_WORDS
    assert len(np.frombuffer(kept.terms, "<u8")) == len(expected)


# ---------------------------------------------------------------- how git tells them

_ENV = {
    **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, env=_ENV, text=True
    )
    return done.stdout.strip()


def commit(root: Path, message: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


def log(root: Path, upto: str = "HEAD", **options: object) -> list[Commit]:
    chosen = {"limit": 100, "stopped": lambda: False, **options}
    return list(commits(GitTree(root), upto, **chosen))  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def test_commits_are_told_newest_first_with_renames_and_without_merges(root: Path) -> None:
    (root / "a.py").write_text("one\ntwo\nthree\n")
    first = commit(root, "Begin\n\nwith a body")
    git(root, "checkout", "-q", "-b", "side")
    (root / "odd\nname \u00e9.py").write_text("x")
    commit(root, "Odd")
    git(root, "checkout", "-q", "main")
    (root / "sub").mkdir()
    git(root, "mv", "a.py", "sub/b.py")
    commit(root, "Move")
    commit(root, "Nothing")
    git(root, "merge", "-q", "--no-ff", "-m", "Merge", "side")

    told = {each.message: each for each in log(root)}
    assert told.keys() == {"Begin\n\nwith a body", "Odd", "Move"}
    assert told["Move"] == Commit("Move", ("sub/b.py",), (("a.py", "sub/b.py"),))
    assert told["Odd"].files == ("odd\nname \u00e9.py",)
    assert [each.message for each in log(root, limit=1)] != []
    assert {each.message for each in log(root, after=first)} == {"Odd", "Move"}
    assert is_ancestor(GitTree(root), first, "HEAD")
    assert not is_ancestor(GitTree(root), "HEAD", first)
    assert not is_ancestor(GitTree(root), "0" * 40, "HEAD")


def test_a_part_of_a_repository_is_told_of_by_its_own_paths(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "a.py").write_text("x")
    (root / "sub" / "b.py").write_text("y")
    commit(root, "Both")
    (root / "a.py").write_text("z")
    commit(root, "Outside")

    assert log(root / "sub") == [Commit("Both", ("b.py",))]


def test_a_vast_commit_is_cut_short(root: Path) -> None:
    for at in range(MAX_FILES + 30):
        (root / f"f{at}").write_text("x")
    commit(root, "Everything")

    (only,) = log(root)
    assert len(only.files) == MAX_FILES + 1


def test_nothing_that_the_repository_configures_is_run(root: Path) -> None:
    trap = root / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{root}/sprung'\nexit 1\n")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("* diff=trap\n")
    commit(root, "Begin")
    for name in (
        "gpg.program", "core.fsmonitor", "diff.external", "diff.trap.textconv", "core.pager",
        "diff.trap.command", "core.sshCommand", "core.askPass",
    ):  # fmt: skip
        git(root, "config", name, str(trap))
    git(root, "config", "log.showSignature", "true")

    assert [each.message for each in log(root)] == ["Begin"]
    assert not (root / "sprung").exists()


def test_reading_can_be_given_up_and_its_failure_is_told(root: Path) -> None:
    (root / "a.py").write_text("x")
    commit(root, "Begin")

    with pytest.raises(Unavailable, match="given up"):
        log(root, stopped=lambda: True)
    with pytest.raises(Unavailable, match="could not read"):
        log(root, upto="0" * 40)


def test_the_signature_moves_with_the_head(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    commit(root, "Begin")
    seen = [signature(root)]
    (root / "a.py").write_text("x")
    assert signature(root) == seen[0]
    commit(root, "More")
    seen.append(signature(root))
    git(root, "checkout", "-q", "-b", "side")
    seen.append(signature(root))
    git(root, "reset", "-q", "--hard", "HEAD~1")
    seen.append(signature(root))
    assert len(set(seen)) == len(seen)

    worktree = tmp_path_factory.mktemp("trees") / "other"
    git(root, "worktree", "add", "-q", str(worktree))
    before = signature(worktree)
    (worktree / "b.py").write_text("x")
    commit(worktree, "There")
    assert signature(worktree) != before
    assert signature(tmp_path_factory.mktemp("plain")) == ()


# ---------------------------------------------------------------- how it is stored


def part(edition: int, number: int, *found: Commit, last: bool = True, **changes: Any) -> Any:
    fields = {
        "edition": edition, "part": number, "last": last, "head": f"{edition}-{number}",
        "terms_version": EXTRACTOR_VERSION, "commits": pack_commits(commits_of(found)),
        "count": len(found), **changes,
    }  # fmt: skip
    return HistoryStored(**fields)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Env]:
    opened = open_writable(tmp_path / "env")
    Folder(opened).fold(facts.messages(facts.registered()), [], log_complete=False)
    yield opened
    opened.close()


def fold(env: Env, *events: Any, start: int = 1) -> HistoryStanding:
    messages = facts.messages(*map(facts.wrap, events), start=start)
    Folder(env).fold([], messages, log_complete=True)
    with env.read() as txn:
        return standing_of(txn, facts.REPO)


ONE, TWO, THREE = (Commit(word, ("a.py",)) for word in WORDS[:3])


def test_parts_are_kept_until_a_newer_edition_comes(env: Env) -> None:
    whole = fold(env, part(10, 0, ONE, last=False), part(10, 1, TWO))
    assert (whole.parts, whole.commits, whole.head, whole.complete) == (2, 2, "10-1", True)

    newer = fold(env, part(20, 0, THREE, last=False), start=3)
    assert (newer.edition, newer.parts, newer.complete) == (20, 1, False)
    late = fold(env, part(10, 1, TWO), start=4)
    assert late == newer
    again = fold(env, part(20, 1, ONE), part(20, 1, ONE), start=5)
    assert (again.parts, again.commits, again.complete) == (2, 2, True)
    with env.read() as txn:
        known = History(stored(txn, facts.REPO))
    assert known.commits == 2
    assert scores(known, WORDS[1]) == {}


def test_a_missing_part_and_terms_of_another_version_are_told(env: Env) -> None:
    assert not fold(env, part(10, 1, TWO)).complete
    other = fold(env, part(20, 0, ONE, terms_version="0"), start=2)
    assert other.complete
    assert not other.current
    with env.read() as txn:
        assert stored(txn, facts.REPO) == []


def test_history_of_an_older_generation_is_void_and_a_reset_clears_it(env: Env) -> None:
    assert fold(env, part(10, 0, ONE)).parts == 1
    Folder(env).fold(facts.messages(facts.reset(2), start=2), [], log_complete=False)
    with env.read() as txn:
        assert standing_of(txn, facts.REPO) == HistoryStanding()
    assert fold(env, part(10, 0, ONE), start=2) == HistoryStanding()


def test_damaged_commits_are_an_error_that_search_survives(env: Env) -> None:
    fold(env, part(10, 0, ONE, commits=b"nonsense"))
    with env.read() as txn, pytest.raises(CorruptEnvironment):
        stored(txn, facts.REPO)


# ---------------------------------------------------------------- what is read when


def planned(root: Path, standing: HistoryStanding, limit: int = 100) -> Reading | None:
    reader = HistoryReader(Bus(Settings(), "walker"), Settings(history_commits=limit))
    return reader._read(root, standing)


def test_only_what_is_new_is_read_and_everything_when_that_will_not_do(root: Path) -> None:
    assert planned(root, HistoryStanding()) is None  # nothing was committed yet
    (root / "a.py").write_text("x")
    first = commit(root, "Begin")
    whole = planned(root, HistoryStanding())
    assert whole is not None
    assert (whole.first_part, whole.head, len(whole.runs[0])) == (0, first, 1)

    known = HistoryStanding(5, 1, 1, first, complete=True, current=True)
    assert planned(root, known) is None
    (root / "a.py").write_text("y")
    second = commit(root, "More")
    fresh = planned(root, known)
    assert fresh is not None
    assert (fresh.edition, fresh.first_part, fresh.head) == (5, 1, second)
    assert [each.message for each in fresh.runs[0]] == ["More"]

    for changes in (
        {"complete": False}, {"current": False}, {"parts": 24}, {"commits": 130}, {"head": "0" * 40},
    ):  # fmt: skip
        anew = planned(root, msgspec.structs.replace(known, **changes))
        assert anew is not None, changes
        assert anew.edition > 5
        assert (anew.first_part, len(anew.runs[0])) == (0, 2)
    limited = planned(root, HistoryStanding(), limit=1)
    assert limited is not None
    assert [each.message for each in limited.runs[0]] == ["More"]


def test_history_that_is_switched_off_or_gone_is_taken_back(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    known = HistoryStanding(5, 1, 1, "0" * 40, complete=True, current=True)
    plain = tmp_path_factory.mktemp("plain")
    for place, limit in ((root, 0), (plain, 100)):
        empty = planned(place, known, limit)
        assert empty is not None
        assert (empty.head, empty.runs) == ("", ((),))
        assert planned(place, HistoryStanding(), limit) is None
