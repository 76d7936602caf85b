"""How does memory outlive its broker? By snapshots in a directory, where one is set.

A snapshot is the projection's notes with what LOG holds behind them. It is taken every few minutes and
once more at a stop; the one before it is kept. At a start an empty log is filled from it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from mode import Service

from contracts.envelope import Envelope, new_id
from contracts.errors import Conflict, Fault, InvalidArgument, NotFound, Unavailable
from contracts.events import AnyLogEvent, NoteRecorded
from contracts.events.log import RepoRemoved
from contracts.events.memory import ImportNotes
from contracts.ids import RepoId
from contracts.notes import Note
from contracts.subjects import LOG
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.instruments import counted
from services.kernel.reader import StreamReader
from services.kernel.settings import Settings
from services.memory.note_worker import NoteWorker
from store import archive
from store.env import CorruptEnvironment
from store.read import notes as stored
from store.read.live import Projections

log = logs.get(__name__)
_SHORTEST_S = 30
_CHUNK = 200  # notes of one import
_QUIET_S = 2.0
_PAUSE_S = 0.2
_decode = msgspec.msgpack.Decoder(Envelope[AnyLogEvent]).decode
_Key = tuple[str, str, str]


class Archive(Service):
    """Exports to a directory, and restores from it."""

    def __init__(self, settings: Settings, bus: Bus, worker: NoteWorker) -> None:
        super().__init__()
        self._folder = Path(settings.memory_archive_dir)
        self._every_s = max(_SHORTEST_S, settings.memory_archive_seconds)
        self._stop_s = min(max(settings.memory_archive_stop_seconds, 1.0), 60.0)
        self._restore = settings.memory_archive_restore
        self._projections = Projections(settings.projections)
        self._bus, self._worker = bus, worker
        self._reader = StreamReader(bus, LOG, 0)
        self._task: asyncio.Task[None] | None = None
        self._restored = False  # an export before that would overwrite what is to be restored

    async def on_start(self) -> None:
        if self._restore not in ("auto", "always", "off"):
            raise InvalidArgument(
                f"memory_archive_restore is {self._restore!r}", hint="auto, always or off"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        self._task = asyncio.create_task(self._run())

    async def on_stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=self._stop_s)
        if not self._restored:
            return
        try:
            await asyncio.wait_for(self.export(), self._stop_s)
        except Conflict as fault:
            log.warning("export_refused", reason=fault.message)
        except (TimeoutError, Fault, OSError, CorruptEnvironment) as error:
            log.error("last_export_failed", error=repr(error)[:300])
        self._projections.close()

    async def export(self) -> None:
        """Write a snapshot unless the newest one says the same."""
        notes, position = await self._notes()
        current = self._folder / archive.CURRENT
        known = await asyncio.to_thread(archive.heading_of, current)
        if known is not None and known.log == position:
            return
        now = self._worker.clock.now_ms()

        def write() -> None:
            text = archive.text_of(notes, log=position, now_ms=now)
            archive.write(current, text, previous=self._folder / archive.PREVIOUS)

        writing = asyncio.ensure_future(asyncio.to_thread(write))
        try:
            await asyncio.shield(writing)
        finally:
            await asyncio.wait([writing])  # nobody else may write meanwhile

    async def _run(self) -> None:
        while not self._restored:
            try:
                await self._bring_back()
                self._restored = True
            except Unavailable:  # the broker is just starting
                await asyncio.sleep(_PAUSE_S)
            except (Fault, OSError):  # nothing is exported over what could not be brought back
                log.exception("restore_failed")
                counted.add("repocontext.memory.restore", "failed")
                return
        while True:
            try:
                await self.export()
            except Conflict as fault:
                log.warning("export_refused", reason=fault.message)
            except (Fault, OSError, CorruptEnvironment) as error:
                log.warning("export_failed", error=repr(error)[:300])
            await asyncio.sleep(self._every_s)

    # -- what there is ---------------------------------------------------------------------------

    async def _notes(self) -> tuple[list[Note], int]:
        """Every note as LOG tells it by now, and up to which sequence.

        Raises Unavailable when LOG cannot be read so far in time.
        """
        rows, position = await asyncio.to_thread(self._folded)
        reader = self._reader
        reader.rewind(position)
        tail = await reader.tail()
        until = time.monotonic() + self._stop_s
        while reader.position < tail and not reader.exhausted and time.monotonic() < until:
            reader.wake.clear()
            if not await reader.ready():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.wake.wait(), _QUIET_S)
            for entry in reader.take(1_000, 8 << 20):
                _apply(rows, entry.data)
        if reader.position < tail and not reader.exhausted:
            raise Unavailable("LOG takes too long to read", at=reader.position, end=tail)
        return [note for _, note in sorted(rows.items())], tail

    def _folded(self) -> tuple[dict[_Key, Note], int]:
        try:
            with self._projections.read() as snapshot:
                rows = {_key(row.note): row.note for row in stored.rows(snapshot)}
                return rows, snapshot.positions().log
        except NotFound:
            return {}, 0

    # -- bringing it back ------------------------------------------------------------------------

    async def _bring_back(self) -> None:
        source = archive.newest(self._folder)
        outcome = "notattempted"
        if self._restore == "always" or (self._restore == "auto" and await self._is_empty()):
            outcome = "nothingtorestore"
            if source is not None:
                outcome = await self._import_all(source)
        log.info("memory_restore", outcome=outcome)
        counted.add("repocontext.memory.restore", outcome)

    async def _is_empty(self) -> bool:
        return await self._bus.message_from("log.*.mem.>", LOG) is None

    async def _import_all(self, source: Path) -> str:
        """Import a snapshot; "partial" when some of it cannot be read."""
        by_repo: dict[RepoId, list[Note]] = {}
        outcome, flawed = "restored", list[str]()
        try:
            for note in archive.read(source, flawed):
                by_repo.setdefault(note.repo_id, []).append(note)
        except Fault as fault:
            log.error("restore_cut_short", source=source.name, error=fault.message)
            if not by_repo:
                return "failed"
            outcome = "partial"
        if flawed:
            log.error("restore_left_out", source=source.name, notes=len(flawed), first=flawed[0])
            outcome = "partial"
        imported = 0
        for repo_id, notes in by_repo.items():
            for start in range(0, len(notes), _CHUNK):
                imported += await self._import(repo_id, notes[start : start + _CHUNK])
        log.log(30 if imported else 20, "memory_restored", source=source.name, notes=imported)
        return outcome

    async def _import(self, repo_id: RepoId, notes: Sequence[Note]) -> int:
        command = ImportNotes(repo_id=repo_id, notes=tuple(notes), principal="archive")
        return await self._worker.import_now(command, new_id())


def _apply(rows: dict[_Key, Note], data: bytes) -> None:
    try:
        event = _decode(data).event
    except msgspec.MsgspecError:
        return
    match event:
        case NoteRecorded(note=note):
            rows[_key(note)] = note
        case RepoRemoved(repo_id=repo_id):
            for key in [key for key in rows if key[0] == repo_id]:
                del rows[key]


def _key(note: Note) -> _Key:
    return note.repo_id, note.topic, note.id
