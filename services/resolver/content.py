"""Which files does a manifest hold, and where are their bytes?

A file whose bytes are those of the live record of its path needs no more than that: its extract and,
mostly, its edges are there already. Everything else is read, from git or from the disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from contracts.events.jobs import SeenEntry
from contracts.events.log import WalkFilters
from contracts.filemap import FileFacts
from contracts.ids import Digest, RepoPath, path_to_bytes
from services.source.digest import digest_of
from services.source.gitrepo import Blob, GitTree
from services.source.guard import open_root, stat_beneath
from services.source.reading import TreeReader
from services.source.rules import TreeRules
from services.source.sniff import is_binary
from services.source.walk import walk
from store.rows import FileRow


class Fresh(Struct, frozen=True):
    """Bytes that no live file holds."""

    digest: Digest
    data: bytes


class Kept(Struct, frozen=True):
    """A file that has been read: what a baseline, an overlay or an extractor gave of it."""

    file: FileFacts
    body: bytes

    @property
    def digest(self) -> str:
        return self.file.digest


Source = FileRow | Fresh | Kept
Content = dict[str, Source]


class Tree(Struct, frozen=True):
    """What both sources need to know of a repository."""

    root: Path
    filters: WalkFilters
    max_file_bytes: int


def of_live(rows: Mapping[str, FileRow]) -> tuple[str, Content]:
    """What is indexed now, and 40 hex made from it that stand for a commit."""
    total = hashlib.sha1(usedforsecurity=False)
    for path in sorted(rows):
        total.update(f"{path}\0{rows[path].digest}\n".encode())
    return total.hexdigest(), dict(rows)


def of_commit(tree: Tree, git: GitTree, commit: str, live: Mapping[str, FileRow]) -> Content:
    """The files of a commit that take part."""
    differing = git.differing(commit)
    content: Content = {}
    unread: list[Blob] = []
    root = open_root(tree.root)
    try:
        rules = TreeRules(root, tree.filters)
        for blob in git.files(commit):
            if not rules.eligible(blob.path, False):
                continue
            row = live.get(blob.path)
            if row is not None and blob.path not in differing and _holds(root, row):
                content[blob.path] = row
            elif blob.size_bytes <= tree.max_file_bytes:
                unread.append(blob)
    finally:
        os.close(root)
    for blob, data in git.contents(unread):
        if not is_binary(data):
            content[blob.path] = _live_or_fresh(blob.path, data, live)
    return content


def _holds(root: int, row: FileRow) -> bool:
    found = stat_beneath(root, path_to_bytes(row.path))
    return found is not None and row.holds_by_stat(found.st_size, found.st_mtime_ns)


def of_disk(tree: Tree, live: Mapping[str, FileRow]) -> Content:
    """The working tree as it is now."""
    content: Content = {}
    reader = TreeReader(tree.root, tree.filters, tree.max_file_bytes)
    try:
        for part in walk(tree.root, tree.filters):
            for entry in part.entries:
                _read(reader, entry, live, content)
    finally:
        reader.close()
    return content


def of_paths(
    tree: Tree, paths: Iterable[str], live: Mapping[str, FileRow]
) -> dict[str, Source | None]:
    """Some files of the working tree as they are now; None for one that takes no part or is gone."""
    found: dict[str, Source | None] = {}
    reader = TreeReader(tree.root, tree.filters, tree.max_file_bytes)
    root = open_root(tree.root)
    try:
        rules = TreeRules(root, tree.filters)
        for path in paths:
            content: Content = {}
            stat = stat_beneath(root, path_to_bytes(path))
            if stat is not None and rules.eligible(RepoPath(path), False):
                entry = SeenEntry(RepoPath(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
                _read(reader, entry, live, content)
            found[path] = content.get(path)
    finally:
        os.close(root)
        reader.close()
    return found


def _read(
    reader: TreeReader, entry: SeenEntry, live: Mapping[str, FileRow], content: Content
) -> None:
    row = live.get(entry.path)
    if row is not None and row.holds_by_stat(entry.size_bytes, entry.mtime_ns):
        content[entry.path] = row
        return
    found = reader.read(entry)
    if found.problem:
        if row is not None:
            content[entry.path] = row
    elif found.eligible and not found.skipped:
        content[entry.path] = _live_or_fresh(entry.path, found.data, live)


def _live_or_fresh(path: str, data: bytes, live: Mapping[str, FileRow]) -> FileRow | Fresh:
    digest = digest_of(data)
    row = live.get(path)
    return row if row is not None and row.digest == digest else Fresh(digest, data)


def digests(content: Mapping[str, Source]) -> dict[str, str]:
    return {path: source.digest for path, source in content.items()}
