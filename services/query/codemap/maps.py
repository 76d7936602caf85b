"""What does the query service keep for the code map between calls?"""

from __future__ import annotations

import time
from pathlib import Path

from services.query.codemap.pending import Unresolved
from services.query.codemap.savings import Savings
from services.query.codemap.surfaces import carry_over
from services.query.codemap.views import MapViews
from store.read.live import Projections, Snapshot
from store.rows import RepoRow

_IDLE_S = 300.0
_PLAIN_S = 5.0


class PlainTrees:
    """Trees that had no git a moment ago, so that not every question looks for it."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}

    def is_known(self, root: str) -> bool:
        return time.monotonic() - self._seen.get(root, -_PLAIN_S) < _PLAIN_S

    def note(self, root: str) -> None:
        self._seen[root] = time.monotonic()


class CodeMaps:
    """Views, savings, and when each workspace was last asked."""

    def __init__(self, projections: Projections, state: Path) -> None:
        self._projections = projections
        self.views = MapViews(projections, state / "cache" / "maps", carry_over)
        self.savings = Savings(state / "savings.json")
        self.plain = PlainTrees()
        self._accessed: dict[tuple[str, str], float] = {}
        self._pending: dict[str, Unresolved] = {}
        self._used = time.monotonic()

    def in_use(self) -> MapViews:
        """The views, for a question."""
        self._used = time.monotonic()
        return self.views

    def touched(self, repo_id: str, workspace_id: str) -> None:
        self._accessed[repo_id, workspace_id] = time.time()

    def accessed_ms(self, repo_id: str, workspace_id: str) -> int:
        """When the workspace was last asked by this process; 0 for never."""
        return int(self._accessed.get((repo_id, workspace_id), 0) * 1000)

    def pending(self, snapshot: Snapshot, repo: RepoRow) -> int:
        """Live files whose references are still to be resolved."""
        tally = self._pending.setdefault(repo.repo_id, Unresolved())
        return tally.count(snapshot, repo, self._projections.epoch)

    def rest(self) -> None:
        """Let go of what nobody has asked for in a while."""
        if time.monotonic() - self._used > _IDLE_S:
            self.views.release()

    def close(self) -> None:
        self.savings.flush()
        self.views.release()
