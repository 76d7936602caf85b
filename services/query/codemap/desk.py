"""Which repository, which manifest, and what is around every answer of the code map?"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.errors import (
    Forbidden,
    IndexNotAvailable,
    InvalidArgument,
    NotFound,
    Unavailable,
    WorkspaceRequired,
    named,
)
from contracts.events.log import WalkFilters
from contracts.events.mapping import AnyMapCommand, MapReply
from contracts.ids import RepoId
from contracts.tools.codemap import (
    Confidence,
    Envelope,
    LimitApplied,
    NextAction,
    ProjectDiagnostic,
    ResponseMeta,
    SemanticLevel,
    Timing,
    VirtualFile,
)
from services.query.codemap.maps import PlainTrees
from services.query.codemap.savings import COST_PER_TOKEN
from services.query.codemap.views import LIVE, MapView
from services.query.codemap.waiting import at_hand
from services.query.host import View
from services.source.gitrepo import git_tree, quick_head
from services.source.guard import resolve_root
from store.read.live import Snapshot
from store.read.maps import Maps
from store.rows import BaselineRow, Counters, RepoRow, WorkspaceRow

A = TypeVar("A", bound=Envelope)
_BUILD_S = 600.0
_SETTLE_S = 3.0
_SETTLE_FILES = 50
_VIRTUAL_CHARS = 40_000
_BYTES_PER_TOKEN = 3
_WORKSPACE = re.compile(r"[^/\\\x00-\x1f]{1,200}\Z")
_decode_reply = msgspec.msgpack.Decoder(MapReply).decode

# name -> (default, hard cap)
BUDGETS = {
    "max_results": (20, 100),
    "max_references": (50, 500),
    "limit_per_level": (20, 500),
    "max_nodes": (100, 500),
    "max_depth": (1, 6),
    "trace_depth": (3, 6),
    "max_lines": (120, 400),
    "context_lines": (2, 50),
    "max_matches": (50, 200),
    "max_callees": (10, 25),
    "callee_depth": (1, 2),
}
MAX_CHARS = 40_000
_CHARS = 12_000


class Head(Struct, frozen=True):
    """Where a tree stands."""

    commit: str  # "" before the first commit
    branch: str
    pseudo: bool  # there is no git


class Case:
    """One call: its repository, its manifest, its clock and its limits."""

    def __init__(self, view: View, repo: RepoRow, head: Head) -> None:
        self.view, self.repo, self.head = view, repo, head
        self.commit = head.commit  # of the baseline that answers
        self.workspace_id: str | None = None
        self.revision = 0
        self.pending = 0  # live files whose references are still being resolved
        self.map: MapView
        self.limits: dict[str, LimitApplied] = {}
        self.files: set[str] = set()  # that reading instead would have cost
        self._started = time.perf_counter()
        self._at_hand = 0.0
        self._ranking = 0.0

    def limit(self, name: str, asked: int, shown_as: str = "") -> int:
        """A limit within its cap; what was cut off is told."""
        cap = BUDGETS[name][1]
        if asked > cap:
            self.limits[shown_as or name] = LimitApplied(asked, cap)
        return max(1, min(asked, cap))

    def cut_chars(self, text: str, lines: int) -> tuple[str, bool]:
        """A text within the budget of a whole answer, which grows with the lines that are wanted."""
        most = min(MAX_CHARS, max(_CHARS, _CHARS * lines // BUDGETS["max_lines"][0]))
        if len(text) <= most:
            return text, False
        self.limits["max_chars"] = LimitApplied(len(text), most)
        whole = text[:most].rpartition("\n")[0]
        return whole or text[:most], True

    def at_hand(self) -> None:
        self._at_hand = self._elapsed()

    def ranked(self, seconds: float) -> None:
        self._ranking = seconds * 1000

    def _elapsed(self) -> float:
        return (time.perf_counter() - self._started) * 1000

    # -- envelope ---------------------------------------------------------------------------

    def answer(
        self,
        kind: type[A],
        text: str,
        data: Struct,
        *,
        confidence: Confidence | None = None,
        actions: Iterable[NextAction] = (),
        tool: str,
    ) -> A:
        """The whole answer around `data`."""
        saved = self._saved(data)
        self.view.host.maps.savings.add(tool, saved)
        total = self._elapsed()
        meta = ResponseMeta(
            timing=Timing(
                total_ms=round(total, 3),
                db_query_ms=round(max(0.0, total - self._at_hand - self._ranking), 3),
                cache_lookup_ms=round(self._at_hand, 3),
                ranking_ms=round(self._ranking, 3),
            ),
            baseline_commit_sha=self.commit,
            limits_applied=self.limits,
            tokens_saved=saved,
            cost_avoided=round(saved * COST_PER_TOKEN, 6),
            overlay_revision=self.revision,
            workspace_id=self.workspace_id,
            semantic_level=level(self.map) if hasattr(self, "map") else None,
        )
        if confidence is None:
            confidence = "high" if meta.semantic_level == "full" else "medium"
            if meta.semantic_level == "syntax_only":
                confidence = "low"
        if self.pending:
            text += f"; {self.pending} files are still being resolved"
        whole: dict[str, Any] = {"answer": text, "next_actions": tuple(actions), "data": data}
        return kind(confidence=confidence, meta=meta, **whole)

    def _saved(self, data: Struct) -> int:
        """Tokens of the files that the answer spares reading, less those of the answer.

        Those of the files are exact. The answer's are taken from its bytes, too many rather than too
        few, since loading the tokenizer would cost more than most answers do.
        """
        if not self.files:
            return 0
        found = (self.map.files.facts(path) for path in self.files)
        spared = sum(file.token_count for file in found if file is not None)
        sent = len(msgspec.json.encode(data)) // _BYTES_PER_TOKEN if spared else 0
        return max(0, spared - sent)


def counted(number: int, things: str) -> str:
    """`1 caller`, `2 callers`."""
    return f"{number} {things.removesuffix('s') if number == 1 else things}"


def level(view: MapView) -> SemanticLevel:
    """How well the files of a manifest could be read."""
    known = view.memo.get("level")
    if known is None:
        full = partial = 0
        for layer in view.layers:
            shown = (
                layer.segment.quality
                if layer.hidden is None
                else layer.segment.quality[~layer.hidden]
            )
            full += int((shown == 2).sum())
            partial += int((shown == 1).sum())
        known = view.memo["level"] = level_of(full, partial)
    return known  # type: ignore[return-value]


def level_of(full: int, partial: int) -> SemanticLevel:
    if full and not partial:
        return "full"
    return "partial" if full else "syntax_only"


def diagnostics(view: MapView) -> tuple[ProjectDiagnostic, ...]:
    """One per language of code: files, and those with syntax errors."""
    known = view.memo.get("diagnostics")
    if known is None:
        known = view.memo["diagnostics"] = _diagnosed(view)
    return known  # type: ignore[return-value]


def _diagnosed(view: MapView) -> tuple[ProjectDiagnostic, ...]:
    counts: dict[str, list[int]] = {}
    for layer in view.layers:
        segment = layer.segment
        for language, files in layer.languages().items():
            code = files[segment.quality[files] > 0]
            if len(code):
                row = counts.setdefault(language, [0, 0, 0])
                row[0] += int(segment.symbols_per_file[code].sum())
                row[1] += int(segment.references[code].sum())
                row[2] += int((segment.quality[code] == 1).sum())
    return tuple(
        ProjectDiagnostic(
            project_name=language,
            compiled=not broken,
            symbol_count=symbols,
            reference_count=references,
            errors=(f"{counted(broken, 'files')} with syntax errors",) if broken else None,
        )
        for language, (symbols, references, broken) in sorted(counts.items())
    )


# -- repositories ---------------------------------------------------------------------------


def guarded_root(view: View, repo_path: str, rows: Iterable[RepoRow]) -> Path:
    """The folder that a caller means, which must lie in a workspace root or be registered.

    A repository may be named by its id as well: callers of the other families know no path.
    """
    registered = {
        str(row.repo_id): row.root for row in rows if row.root and row.state == "registered"
    }
    roots = [Path(root) for root in (*view.settings.workspace_roots, *registered.values())]
    if not Path(repo_path).is_absolute():
        if repo_path in registered:
            return Path(registered[repo_path])
        raise InvalidArgument(
            "repo_path is not absolute",
            hint="give the absolute path of the repository root, or its repoId",
            reason="relative_path",
        )
    if not roots:
        raise Forbidden("no workspace root is configured", hint="start the node with a PATH")
    return resolve_root(repo_path, roots)


def repository(view: View, snapshot: Snapshot, repo_path: str) -> RepoRow:
    """The registered repository at a path, or around it; raises IndexNotAvailable for none."""
    rows = [row for row in snapshot.repos() if row.state == "registered"]
    root = guarded_root(view, repo_path, rows)
    found = around(root, rows)
    if found is None:
        raise IndexNotAvailable(
            f"{repo_path[:200]!r} is not indexed",
            hint="index_ensure_baseline indexes it; or name one of the repositories that are",
            reason="unknown_repository",
        )
    return found


def around(root: Path, rows: Iterable[RepoRow]) -> RepoRow | None:
    """The registered repository that a folder lies in, the innermost.

    A git tree inside another one, as a worktree or a submodule is, has commits of its own and so is a
    repository of its own.
    """
    found = [row for row in rows if row.state == "registered" and root.is_relative_to(row.root)]
    if not found:
        return None
    innermost = max(found, key=lambda row: len(row.root))
    inside = itertools.takewhile(lambda at: str(at) != innermost.root, (root, *root.parents))
    return None if any((folder / ".git").exists() for folder in inside) else innermost


def head_of(repo: RepoRow, snapshot: Snapshot, plain: PlainTrees) -> Head:
    """Where the tree stands. Without git: its newest baseline, or nothing yet."""
    root = Path(repo.root)
    if not plain.is_known(repo.root):
        quick = quick_head(root)
        if quick is not None:
            return Head(*quick, pseudo=False)
        git = git_tree(root)
        if git is not None:
            commit, branch = git.head()
            return Head(commit, branch, pseudo=False)
        plain.note(repo.root)
    newest = next((row for row in Maps(snapshot.txn, repo.repo_id).baselines() if row.pseudo), None)
    return Head("" if newest is None else newest.commit, "(no git)", pseudo=True)


def opened(view: View, repo_path: str) -> Case:
    """A call about a repository as a whole."""
    with view.read() as snapshot:
        repo = repository(view, snapshot, repo_path)
        return Case(view, repo, head_of(repo, snapshot, view.host.maps.plain))


def looked_at(view: View, repo_path: str) -> Case:
    """A call about a folder as it is; one that is not indexed yet has no repo_id."""
    try:
        return opened(view, repo_path)
    except IndexNotAvailable:
        with view.read() as snapshot:
            root = guarded_root(view, repo_path, snapshot.repos())
            unknown = RepoRow(
                repo_id=RepoId(""), state="removed", root=str(root), filters=WalkFilters(),
                display_name=root.name, index_generation=0, memory_generation=0, counters=Counters(),
            )  # fmt: skip
            return Case(view, unknown, head_of(unknown, snapshot, view.host.maps.plain))


async def queried(
    view: View,
    repo_path: str,
    workspace_id: str | None,
    virtual_files: tuple[VirtualFile, ...] | None = None,
) -> Case:
    """A query, with the manifest it is about at hand."""
    check_virtual(workspace_id, virtual_files)
    if workspace_id and workspace_id.strip() == LIVE:
        await settled(view, repo_path)

    def opening(build: bool) -> Case:
        with view.read() as snapshot:
            repo = repository(view, snapshot, repo_path)
            case = Case(view, repo, head_of(repo, snapshot, view.host.maps.plain))
            _choose(case, snapshot, (workspace_id or "").strip(), build)
        case.at_hand()
        return case

    return await at_hand(opening)


async def opened_for_reading(view: View, repo_path: str, workspace_id: str | None) -> Case:
    """A call that reads the disk: it needs no baseline, but a workspace that is named must exist."""

    def opening(build: bool) -> Case:
        case = opened(view, repo_path)
        with view.read() as snapshot:
            maps = Maps(snapshot.txn, case.repo.repo_id)
            name = (workspace_id or "").strip()
            if name and name != LIVE:
                row = workspace_of(maps, name)
                case.commit, case.workspace_id, case.revision = row.commit, name, row.revision
            elif name:
                case.workspace_id = LIVE
            case.map = view.host.maps.in_use().live(snapshot, case.repo, build=build)
        case.at_hand()
        return case

    return await at_hand(opening)


def check_virtual(workspace_id: str | None, virtual_files: tuple[VirtualFile, ...] | None) -> None:
    if not virtual_files:
        return
    if not (workspace_id or "").strip():
        raise WorkspaceRequired(
            "virtual_files need a workspace_id",
            hint='name a workspace, or "live" for the working tree',
        )
    if sum(len(file.content) for file in virtual_files) > _VIRTUAL_CHARS:
        raise InvalidArgument(
            f"virtual_files hold over {_VIRTUAL_CHARS:,} characters",
            hint="send only the files that are asked about",
        )


def _choose(case: Case, snapshot: Snapshot, workspace_id: str, build: bool) -> None:
    maps = Maps(snapshot.txn, case.repo.repo_id)
    views = case.view.host.maps.in_use()
    if workspace_id == LIVE:
        case.map = views.live(snapshot, case.repo, build=build)
        case.workspace_id = LIVE
        case.pending = case.view.host.maps.pending(snapshot, case.repo, build=build)
        return
    if not workspace_id:
        row = base_of(maps, case.head.commit, case.head)
        case.map = views.baseline(snapshot, case.repo, row, build=build)
        return
    own = workspace_of(maps, workspace_id)
    base = base_of(maps, own.commit, case.head)
    case.map = views.workspace(snapshot, case.repo, base, own, build=build)
    case.commit, case.workspace_id, case.revision = own.commit, own.workspace_id, own.revision
    case.view.host.maps.touched(case.repo.repo_id, own.workspace_id)


def base_of(maps: Maps, commit: str, head: Head) -> BaselineRow:
    """A commit's baseline; raises IndexNotAvailable with the next step."""
    row = maps.baseline(commit) if commit else None
    if row is not None:
        return row
    what = "the tree has no baseline yet" if head.pseudo else (
        f"there is no baseline of {commit[:12]}" if commit else "nothing is committed yet"
    )  # fmt: skip
    step = "call index_ensure_baseline" if commit or head.pseudo else "commit"
    raise IndexNotAvailable(
        what,
        hint=f'{step}, or ask with workspace_id "live" for the working tree',
        commit_sha=commit,
    )


def workspace_of(maps: Maps, workspace_id: str) -> WorkspaceRow:
    checked_workspace(workspace_id)
    row = maps.workspace(workspace_id)
    if row is None:
        raise NotFound(
            f"there is no workspace {workspace_id[:80]!r}",
            hint='create it with workspace_create, or use "live" for the working tree',
            workspace_id=workspace_id[:80],
        )
    return row


def checked_workspace(workspace_id: str) -> str:
    """A workspace's id; raises InvalidArgument for one that cannot be."""
    name = workspace_id.strip()
    if not _WORKSPACE.fullmatch(name) or ".." in name:
        raise InvalidArgument(
            "a workspace_id has no slash, backslash or .., and at most 200 characters",
            hint="name it for what it is for, for example agent-1",
            reason="workspace_id",
        )
    return name


async def settled(view: View, repo_path: str) -> None:
    """Wait, a moment, until the references of what was just saved are resolved.

    Where much is to come, as after a checkout, the answer tells of it instead.
    """
    if view.host.offline:
        return

    def pending(build: bool) -> int:
        with view.read() as snapshot:
            repo = repository(view, snapshot, repo_path)
            return view.host.maps.pending(snapshot, repo, build=build)

    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline:
        folded = view.host.folded
        if not 0 < await at_hand(pending) <= _SETTLE_FILES:
            return
        try:
            await asyncio.wait_for(folded.wait(), 0.25)
        except TimeoutError:
            continue


# -- commands -------------------------------------------------------------------------------


async def command(view: View, command: AnyMapCommand) -> MapReply:
    """Have the resolver carry out a command; returns once this node has folded what came of it."""
    try:
        raw = await view.host.ask(
            subjects.map_command(command.repo_id), command.repo_id, command, _BUILD_S
        )
    except TimeoutError:
        raise Unavailable(
            "the resolver is still at it; the command is stored and will be carried out",
            hint="ask again in a while: repeating it does no harm",
        ) from None
    reply = _decode_reply(raw)
    if not reply.ok:
        kind = named(reply.code)
        fault = kind(reply.message, hint=reply.hint)
        fault.retryable = reply.retryable
        raise fault
    await view.host.wait_for(reply.log_sequence, reply.index_sequence)
    return reply
