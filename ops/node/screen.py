"""What does a person see while a node runs? Always on standard error."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Protocol

import msgspec

from contracts.envelope import Envelope
from contracts.events.progress import AnyProgress, StageProgress, WorkerState

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

STAGES = {"walk": "walking", "extract": "reading", "embed": "embedding"}  # what the bars show
_REFRESH_S = 0.2
_decode = msgspec.msgpack.Decoder(Envelope[AnyProgress]).decode


class Screen(Protocol):
    """Where the node shows what it does."""

    def line(self, text: str) -> None:
        """Something to read, e.g. a log line of a worker."""

    def progress(self, data: bytes) -> None:
        """One PROGRESS message."""

    def clear(self) -> None:
        """Leave the terminal to others; what comes later is shown again."""


def choose(*, verbose: bool, as_json: bool) -> Screen:
    """Bars on a terminal; else nothing but log lines, with counters when asked for."""
    if as_json:
        return JsonLines()
    if sys.stderr.isatty():
        return Bars()
    return Plain(verbose=verbose)


class Plain:
    """Log lines; counters only when verbose, one line per stage and second at most."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._shown: dict[tuple[str, str], tuple[float, str]] = {}  # when, what

    def line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def progress(self, data: bytes) -> None:
        if not self._verbose:
            return
        envelope = _decode(data)
        event = envelope.event
        if isinstance(event, WorkerState):
            self.line(f"{event.worker}: {event.state} {event.detail}".rstrip())
        if not isinstance(event, StageProgress):
            return
        now, key = time.monotonic(), (envelope.repo, event.stage)
        total = f"/{event.total}" if event.total else ""
        text = f"{envelope.repo}: {event.stage} {event.done}{total} {event.notice}".rstrip()
        finished = 0 < event.total <= event.done
        shown_at, shown = self._shown.get(key, (0.0, ""))
        if text != shown and (finished or now - shown_at >= 1.0):
            self._shown[key] = (now, text)
            self.line(text)

    def clear(self) -> None:
        """Nothing is in the way."""


class JsonLines:
    """Every progress message as one JSON object per line, for programs."""

    def line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def progress(self, data: bytes) -> None:
        envelope = _decode(data)
        event = msgspec.to_builtins(envelope.event)
        self.line(
            msgspec.json.encode({"repo": envelope.repo, "at_ms": envelope.at_ms, **event}).decode()
        )

    def clear(self) -> None:
        """Nothing is in the way."""


class Bars:
    """One bar per repository and stage: count, rate, time left; gone when the stage is done."""

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        from ops.terminal import Terminal

        self._progress: Progress = Progress(
            TextColumn("{task.fields[repo]}", markup=False),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[notice]}", markup=False),
            console=Terminal(stderr=True),
            auto_refresh=False,  # refreshed from the event loop: forking and threads do not mix
            transient=True,
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._down: set[str] = set()  # workers
        self._refresh: asyncio.TimerHandle | None = None
        self._live = False

    def line(self, text: str) -> None:
        if self._live:
            self._progress.console.print(text, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def progress(self, data: bytes) -> None:
        envelope = _decode(data)
        event = envelope.event
        if isinstance(event, WorkerState):
            self._changed(event)
        if not isinstance(event, StageProgress):
            return
        if event.stage not in STAGES:
            return
        key, reading = (envelope.repo, event.stage), (envelope.repo, "extract")
        if not 0 < event.total <= event.done:
            self._show(key, event)
        elif event.stage == "embed" and reading in self._tasks:
            self._show(key, event)  # with what there is so far; there will be more
        else:
            self._finish(key, event)
        if self._refresh is None:
            self._refresh = asyncio.get_running_loop().call_later(_REFRESH_S, self._redraw)

    def _changed(self, event: WorkerState) -> None:
        """Tell that a worker's state is bad, and that it is well again; not that it began well."""
        if event.state != "up":
            self._down.add(event.worker)
        elif event.worker not in self._down:
            return
        else:
            self._down.discard(event.worker)
        self.line(f"{event.worker}: {event.state} {event.detail}".rstrip())

    def _show(self, key: tuple[str, str], event: StageProgress) -> None:
        if key not in self._tasks:
            repo, stage = key
            self._tasks[key] = self._progress.add_task(
                STAGES[stage], total=None, repo=repo, rate="", notice=""
            )
        task = self._tasks[key]
        self._progress.update(
            task, completed=event.done, total=event.total or None, notice=event.notice
        )
        speed = self._progress.tasks[self._progress.task_ids.index(task)].speed
        self._progress.update(task, rate=f"{speed:,.0f}/s" if speed else "")
        if not self._live:
            self._progress.start()
            self._live = True

    def _finish(self, key: tuple[str, str], event: StageProgress) -> None:
        task = self._tasks.pop(key, None)
        if task is None:
            return
        known = self._progress.tasks[self._progress.task_ids.index(task)]
        # Progress is told now and then, and a pass that ends says so without counting again.
        seconds, done = known.elapsed or 0.0, max(event.done, int(known.total or known.completed))
        self._progress.remove_task(task)
        repo, stage = key
        if known.total is not None or known.completed:  # else there was nothing to do
            self.line(f"{repo}: {STAGES[stage]} done, {done:,} in {seconds:.1f} s")
        if not self._tasks:
            self._stop()

    def _redraw(self) -> None:
        self._refresh = None
        if self._live:
            self._progress.refresh()

    def _stop(self) -> None:
        if self._live:
            self._progress.stop()
            self._live = False

    def clear(self) -> None:
        if self._refresh is not None:
            self._refresh.cancel()
            self._refresh = None
        self._stop()
