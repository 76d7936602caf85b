"""What does the query service keep for the code map between calls?"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from services.kernel import memory
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
        self.views = MapViews(
            projections, state / "projections", state / "cache" / "maps", carry_over
        )
        self.savings = Savings(state / "savings.json")
        self.plain = PlainTrees()
        self._accessed: dict[tuple[str, str], float] = {}
        self._pending: dict[str, Unresolved] = {}
        self._used = time.monotonic()
        self._watch: asyncio.TimerHandle | None = None

    def in_use(self) -> MapViews:
        """The views, for a question."""
        self._used = time.monotonic()
        if self._watch is None:
            self._look_after(_IDLE_S)
        return self.views

    def _look_after(self, seconds: float) -> None:
        """Rest even where nothing is folded that would remind of it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # in a thread, for a question that the loop began
        self._watch = loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._watch = None
        left = self._used + _IDLE_S - time.monotonic()
        if left > 0:
            self._look_after(left)
        else:
            self.rest()

    def touched(self, repo_id: str, workspace_id: str) -> None:
        self._accessed[repo_id, workspace_id] = time.time()

    def accessed_ms(self, repo_id: str, workspace_id: str) -> int:
        """When the workspace was last asked by this process; 0 for never."""
        return int(self._accessed.get((repo_id, workspace_id), 0) * 1000)

    def pending(self, snapshot: Snapshot, repo: RepoRow, *, build: bool = True) -> int:
        """Live files whose references are still to be resolved.

        Raises NotAtHand where they have to be looked for and `build` is False.
        """
        tally = self._pending.setdefault(repo.repo_id, Unresolved())
        return tally.count(snapshot, repo, self._projections.epoch, build=build)

    def rest(self) -> None:
        """Let go of what nobody has asked for in a while."""
        if self.views.held and time.monotonic() - self._used >= _IDLE_S:
            self.views.release()
            memory.trim()

    def close(self) -> None:
        self.savings.flush()
        if self._watch is not None:
            self._watch.cancel()
        self.views.release()
