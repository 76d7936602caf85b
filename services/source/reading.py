"""What do the bytes of a seen file say: does it take part, which version is it, is it worth reading out?

Used by the reconciler, which issues what differs, and by the query service, which only tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from contracts.errors import Fault, NotFound
from contracts.events.jobs import SeenEntry
from contracts.events.log import WalkFilters
from contracts.ids import Digest, RepoPath
from services.source.digest import digest_of
from services.source.guard import RootReader
from services.source.sniff import SNIFFED_BYTES, is_binary


class Outcome(Struct, frozen=True):
    """One file as its bytes were found."""

    path: RepoPath
    eligible: bool = True  # False: binary, or gone meanwhile
    problem: str = ""  # why it could not be read this time; nothing else is known then
    digest: Digest = Digest("")
    size_bytes: int = 0
    mtime_ns: int = 0
    anchor_ns: int = 0
    data: bytes = b""  # whole body; empty when `skipped`
    skipped: str = ""  # too_large binary
    skipped_detail: str = ""


class TreeReader:
    """Reads the files of one tree under one set of filters."""

    def __init__(self, root: Path, filters: WalkFilters, max_file_bytes: int) -> None:
        """Raises NotFound or Unavailable when the root cannot be opened."""
        self._files = RootReader(root)
        self._exclude_binary = filters.exclude_binary
        self._max_file_bytes = max_file_bytes

    def read_all(self, entries: Sequence[SeenEntry]) -> list[Outcome]:
        """Read the files; what cannot be read is told, never raised."""
        return [self.read(entry) for entry in entries]

    def read(self, entry: SeenEntry) -> Outcome:
        try:
            if entry.size_bytes > self._max_file_bytes:
                return self._large(entry.path)
            found = self._files.read(entry.path, self._max_file_bytes + 1)
            if found.size > self._max_file_bytes:
                return self._large(entry.path)
        except NotFound:
            return Outcome(entry.path, eligible=False)
        except Fault as fault:
            # A link or a device took the file's place: it is not ours any more.
            gone = fault.details.get("reason") in ("symlink", "not_regular")
            return Outcome(entry.path, eligible=not gone, problem="" if gone else fault.message)
        binary = is_binary(found.data)
        if binary and self._exclude_binary:
            return Outcome(entry.path, eligible=False)
        return Outcome(
            path=entry.path,
            digest=digest_of(found.data),
            size_bytes=found.size,
            mtime_ns=found.mtime_ns,
            anchor_ns=found.anchor_ns,
            data=b"" if binary else found.data,
            skipped="binary" if binary else "",
            skipped_detail="a NUL stands in its first 8,000 bytes" if binary else "",
        )

    def _large(self, path: RepoPath) -> Outcome:
        digest, head = self._files.digest(path, SNIFFED_BYTES)
        if self._exclude_binary and is_binary(head.data):
            return Outcome(path, eligible=False)
        return Outcome(
            path=path,
            digest=digest,
            size_bytes=head.size,
            mtime_ns=head.mtime_ns,
            anchor_ns=head.anchor_ns,
            skipped="too_large",
            skipped_detail=f"{head.size:,} bytes; the limit is {self._max_file_bytes:,}",
        )

    def close(self) -> None:
        self._files.close()
