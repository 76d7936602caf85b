"""What have the answers of the code map spared, in all?

Kept in `savings.json` of the state directory, beside what an earlier process counted. Losing the
last seconds of it is no loss.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

import msgspec
from msgspec import Struct

# Dollars per million tokens read, as listed when this was written.
MODELS = {"claude_sonnet": 3.0, "claude_opus": 15.0, "gpt_4o": 2.5}
COST_PER_TOKEN = MODELS["claude_sonnet"] / 1_000_000
_EVERY_S = 5.0


class Totals(Struct):
    """Since the state directory was made."""

    calls: int = 0
    tokens_saved: int = 0
    cost_avoided: dict[str, float] = {}
    by_tool: dict[str, int] = {}


class Savings:
    """Running totals of one query process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._new = Totals()
        self._written = 0.0

    def add(self, tool: str, saved: int) -> None:
        """Count one answer."""
        with self._lock:
            self._new.calls += 1
            self._new.tokens_saved += saved
            self._new.by_tool[tool] = self._new.by_tool.get(tool, 0) + saved
            if time.monotonic() - self._written >= _EVERY_S:
                self._flush()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    def totals(self) -> Totals:
        """All there is, what is not written yet included."""
        with self._lock:
            return self._sum()

    def _sum(self) -> Totals:
        try:
            total = msgspec.json.decode(self._path.read_bytes(), type=Totals)
        except (OSError, msgspec.MsgspecError):
            total = Totals()
        total.calls += self._new.calls
        total.tokens_saved += self._new.tokens_saved
        for tool, saved in self._new.by_tool.items():
            total.by_tool[tool] = total.by_tool.get(tool, 0) + saved
        total.cost_avoided = {
            model: round(total.tokens_saved * price / 1_000_000, 4)
            for model, price in MODELS.items()
        }
        return total

    def _flush(self) -> None:
        self._written = time.monotonic()
        if not self._new.calls:
            return
        total = self._sum()
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            draft.write_bytes(msgspec.json.format(msgspec.json.encode(total), indent=2))
            draft.replace(self._path)
            self._new = Totals()
