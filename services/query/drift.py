"""What is different on disk from what is on record?"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from contracts.ids import RepoPath
from services.source.reading import TreeReader
from services.source.walk import walk
from store.read.live import Projections
from store.rows import RepoRow


class Drift(Struct):
    """Paths relative to the root, in ordinal order; `compared` is how many files were looked at."""

    added: list[RepoPath]
    updated: list[RepoPath]
    removed: list[RepoPath]
    compared: int


def drift(projections: Projections, row: RepoRow, scope: str, max_file_bytes: int) -> Drift:
    """Walk the indexed root with the filters it was onboarded with and compare `scope`, a directory
    or a file.

    Files whose size and time are those on record, from before the anchor, are not read.
    """
    with projections.read() as snapshot:
        recorded = {
            file.path: file
            for file in snapshot.files(row.repo_id, scope)
            if _is_within(file.path, scope)
        }
    seen: set[str] = set()
    added: list[RepoPath] = []
    updated: list[RepoPath] = []
    complete = True
    reader = TreeReader(Path(row.root), row.filters, max_file_bytes)
    try:
        for part in walk(Path(row.root), row.filters):
            complete = complete and part.complete
            for entry in part.entries:
                if not _is_within(entry.path, scope):
                    continue
                old = recorded.get(entry.path)
                if old is not None and old.holds_by_stat(entry.size_bytes, entry.mtime_ns):
                    seen.add(entry.path)
                    continue
                found = reader.read(entry)
                if found.problem:
                    seen.add(entry.path)
                elif found.eligible:
                    seen.add(entry.path)
                    if old is None:
                        added.append(entry.path)
                    elif found.digest != old.digest:
                        updated.append(entry.path)
    finally:
        reader.close()
    removed = [path for path in recorded if path not in seen] if complete else []
    return Drift(added, updated, removed, len(recorded) + len(added))


def _is_within(path: str, scope: str) -> bool:
    return not scope or path == scope or path.startswith(f"{scope}/")
