"""One file and its neighbours: outline, related, changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from contracts.errors import Forbidden, NotFound
from contracts.extract import Body, Symbol
from contracts.ids import RepoId
from contracts.tools.repocontext import (
    Changed,
    ChangedRequest,
    Outline,
    OutlineRequest,
    OutlineSymbol,
    Referrer,
    Related,
    RelatedRequest,
)
from services.query import bounds, neighbours
from services.query.drift import Drift, drift
from services.query.host import View
from services.query.paths import file_meant
from services.query.registry import tool
from services.source.guard import resolve_root


@tool("repocontext_outline", title="Outline of a file", family="repocontext")
async def outline(view: View, request: OutlineRequest) -> Outline:
    """The declarations of one indexed file with signatures and lines, and what reading the whole
    file would cost in tokens. Unknown path: exists=false."""
    with view.read() as snapshot:
        row = file_meant(snapshot, request.repo_id, request.path)
        if row is None:
            return Outline(repo_id=request.repo_id, path=request.path, exists=False, symbols=())
        body = snapshot.body(request.repo_id, row.sequence)
    symbols = sorted(
        body.symbols if body else (), key=lambda symbol: (symbol.start_line, symbol.fq_name)
    )
    shown = bounds.fitting(map(_outlined, symbols))
    return Outline(
        repo_id=request.repo_id,
        path=row.path,
        exists=True,
        full_read_token_count=None if row.skipped else row.token_count,
        symbols=shown,
        symbols_left_off=len(symbols) - len(shown),
    )


def _outlined(symbol: Symbol) -> OutlineSymbol:
    return OutlineSymbol(
        fully_qualified_name=symbol.fq_name,
        kind=symbol.kind,
        signature=symbol.signature or symbol.name,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
    )


@tool("repocontext_related", title="Neighbours of a file", family="repocontext")
async def related(view: View, request: RelatedRequest) -> Related:
    """The impact of editing a file: what it refers to, who refers to the types it declares, and
    which tests cover it. By simple name, so a lead and no proof."""
    repo_id = RepoId(request.repo_id)
    with view.read() as snapshot:
        row = file_meant(snapshot, repo_id, request.path)
        if row is None:
            return Related(
                repo_id=repo_id,
                path=request.path,
                exists=False,
                imports=(),
                dependents=(),
                tests=(),
            )
        path = row.path
        body = snapshot.body(repo_id, row.sequence) or _NO_BODY
        names = neighbours.declared_types(body)
        dependents = neighbours.dependents(snapshot, repo_id, names, {path})
        tests = neighbours.covering_tests(snapshot, repo_id, names, path)
        imports = neighbours.referred_names(body)
        dependents_shown = neighbours.most_telling(snapshot, repo_id, dependents, _SHOWN)
        tests_shown = neighbours.most_telling(snapshot, repo_id, tests, _SHOWN)
    return Related(
        repo_id=repo_id,
        path=path,
        exists=True,
        imports=bounds.first(imports),
        import_count=len(imports),
        dependents=_referrers(dependents_shown),
        dependent_count=len(dependents),
        tests=_referrers(tests_shown),
        test_count=len(tests),
    )


def _referrers(pairs: list[tuple[str, str]]) -> tuple[Referrer, ...]:
    return bounds.fitting(
        (Referrer(symbol=symbol, path=where) for where, symbol in pairs), bounds.ANSWER_BYTES // 3
    )


_SHOWN = 100  # of thousands that refer to a base class; more would fill the caller's context
_NO_BODY = Body((), (), None, (), ())


@tool(
    "repocontext_changed", title="Drift from disk", family="repocontext", needs_workspace_root=True
)
async def changed(view: View, request: ChangedRequest) -> Changed:
    """Files added, updated and removed on disk since they were indexed, below a directory, and the
    indexed files that refer to what changed. Walks the disk, without git."""
    repo_id = RepoId(request.repo_id)
    with view.read() as snapshot:
        row = snapshot.repo(repo_id)
    if row is None or row.state != "registered":
        raise NotFound(
            f"{request.repo_id} was never onboarded, or was reset",
            hint="index it with repocontext_add_repo (repocontext_bootstrap on a server of one repository)",
        )
    root = Path(row.root)
    scope = _scope_below(view, root, request.path)
    found: Drift = await asyncio.to_thread(
        drift, view.host.projections, row, scope, view.settings.max_file_bytes
    )
    if found.compared == 0 and not os.path.exists(root / scope):
        raise NotFound(
            f"there is nothing at {request.path!r}, on disk or on record",
            hint='give a directory of the repository, or "." for all of it',
            reason="missing_target",
        )
    with view.read() as snapshot:
        touched = {*found.updated, *found.removed}
        names: set[str] = set()
        for path in touched:
            file = snapshot.file(repo_id, path)
            body = None if file is None else snapshot.body(repo_id, file.sequence)
            if body is not None:
                names |= neighbours.declared_types(body)
        referring = {where for where, _ in neighbours.dependents(snapshot, repo_id, names, touched)}
    dependents = sorted(referring - {*found.added, *touched}, key=str.encode)
    return Changed(
        repo_id=repo_id,
        added=bounds.first(found.added),
        updated=bounds.first(found.updated),
        removed=bounds.first(found.removed),
        dependents=bounds.first(dependents),
        added_count=len(found.added),
        updated_count=len(found.updated),
        removed_count=len(found.removed),
        dependent_count=len(dependents),
    )


def _scope_below(view: View, root: Path, text: str) -> str:
    """What was asked for, relative to the indexed root ("" for all of it).

    A path that is not absolute is looked for below the indexed root, then below the workspace.
    Where nothing is on disk the scope may be one that was removed.
    """
    roots = [Path(entry) for entry in view.settings.workspace_roots] or [root]
    try:
        meant = resolve_root(root / text, roots)
    except NotFound:
        meant = Path(os.path.realpath(root / text))
        with contextlib.suppress(NotFound):
            in_workspace = resolve_root(text, roots)
            meant = in_workspace if in_workspace.is_relative_to(root) else meant
    if not meant.is_relative_to(root):
        raise Forbidden(
            "the path lies outside the indexed root of this repository",
            hint=f"give a directory below {root}",
            reason="path_outside_root",
        )
    return "" if meant == root else meant.relative_to(root).as_posix()
