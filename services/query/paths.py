"""Which file or directory on record does a caller mean, however it is written?"""

from __future__ import annotations

import posixpath

from store.read.live import Snapshot
from store.rows import FileRow


def file_meant(snapshot: Snapshot, repo_id: str, text: str) -> FileRow | None:
    """The file on record: by its exact path, or else by another way to write it."""
    exact = snapshot.file(repo_id, text)
    if exact is not None:
        return exact
    return snapshot.file(repo_id, _relative(text, _root(snapshot, repo_id)))


def below(snapshot: Snapshot, repo_id: str, text: str) -> str:
    """What the paths below a directory begin with; "" for the repository root."""
    exact = text.strip("/")
    if not exact:
        return ""
    first = next(iter(snapshot.files(repo_id, f"{exact}/")), None)
    if first is not None and first.path.startswith(f"{exact}/"):
        return f"{exact}/"
    directory = _relative(text, _root(snapshot, repo_id))
    return "" if directory == "." else f"{directory}/"


def _root(snapshot: Snapshot, repo_id: str) -> str:
    row = snapshot.repo(repo_id)
    return "" if row is None else row.root


def _relative(text: str, root: str) -> str:
    """A path as it is recorded: separators of Windows, "." and "..", "/" at the end and the indexed
    root in front make no difference."""
    path = text.replace("\\", "/") if "/" not in text else text
    if root and f"{path}/".startswith(f"{root}/"):
        path = path[len(root) :]
    return posixpath.normpath(path.strip("/"))
