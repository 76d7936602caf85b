"""How do facts survive a power cut?

The bundled broker confirms what is in the kernel's page cache (docs/adr/0007). Before a fact of LOG is
answered for, this process has the kernel write LOG's newest block files out itself: one `fdatasync`
for a whole batch. A broker of its own administration (--nats) is not ours to sync; its replicas, or
its sync_interval, keep the facts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from contracts.subjects import LOG
from services.kernel.settings import Settings


class LogDisk:
    """LOG's files on this machine, if they are ours."""

    def __init__(self, store: Path | None) -> None:
        self._store = store  # the broker's JetStream directory
        self._folder: Path | None = None
        self._synced = 0  # newest block whose directory entry is known to be on disk
        self._lock = asyncio.Lock()
        self.syncs = 0

    @classmethod
    def of(cls, settings: Settings) -> LogDisk:
        """The files of the node's own broker: the one whose users its state directory keeps."""
        nats = settings.state / "nats"
        ours = bool(settings.state_dir) and settings.nats_users_file == str(nats / "users.json")
        return cls(nats / "jetstream" if ours else None)

    async def sync(self) -> None:
        """Return once every fact confirmed so far is on disk."""
        if self._store is None:
            return
        async with self._lock:
            await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        folder = self._blocks_folder()
        if folder is None:
            return
        newest = self._synced
        for number, path in sorted(_blocks(folder)):
            if number >= self._synced:
                _write_out(path)
                newest = max(newest, number)
        if newest != self._synced:
            _write_out(folder)
            self._synced = newest
        self.syncs += 1

    def _blocks_folder(self) -> Path | None:
        if self._folder is None or not self._folder.is_dir():
            assert self._store is not None
            found = sorted(self._store.glob(f"*/streams/{LOG}/msgs"))
            self._folder = found[0] if found else None
            self._synced = 0
        return self._folder


def _blocks(folder: Path) -> Iterable[tuple[int, Path]]:
    for entry in os.scandir(folder):
        stem, dot, suffix = entry.name.rpartition(".")
        if dot and suffix == "blk" and stem.isdigit():
            yield int(stem), Path(entry.path)


def _write_out(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # replaced meanwhile; what replaced it has a higher number
        return
    try:
        if hasattr(os, "fdatasync") and not path.is_dir():
            os.fdatasync(descriptor)
        else:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
