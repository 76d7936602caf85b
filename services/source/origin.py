"""What is a working tree called where it came from?

The owner/name of the remote named origin, read from git's configuration file itself: no program is
run, and nothing of the address but its last two segments is kept.
"""

from __future__ import annotations

import re
from pathlib import Path

_MOST_BYTES = 1 << 20  # of a configuration file
_LONGEST = 64  # bytes of a slug, as memory takes them
_SECTION = re.compile(r'^\s*\[\s*remote\s+"origin"\s*\]', re.IGNORECASE)
_URL = re.compile(r"^\s*url\s*=\s*(.+?)\s*$", re.IGNORECASE)
_SEGMENT = re.compile(r"[\w.-]+")


def origin_slug(root: Path) -> str:
    """owner/name of the tree's origin; "" where there is none, or nothing that looks like it."""
    text = _read(_git_folder(root) / "config")
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = _SECTION.match(line) is not None
        elif inside and (found := _URL.match(line)):
            return slug_of_url(found[1].strip('"'))
    return ""


def slug_of_url(url: str) -> str:
    """The last two segments of a remote's address, without .git."""
    if "://" in url:
        _, _, rest = url.partition("://")
        _, _, path = rest.partition("/")
    elif ":" in url.partition("/")[0]:  # user@host:owner/name
        path = url.partition(":")[2]
    else:
        return ""  # a folder of this machine
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) < 2:
        return ""
    owner, name = segments[-2], segments[-1].removesuffix(".git")
    slug = f"{owner}/{name}"
    sound = _SEGMENT.fullmatch(owner) and _SEGMENT.fullmatch(name)
    return slug if sound and len(slug.encode()) <= _LONGEST else ""


def _git_folder(root: Path) -> Path:
    """Where the tree's shared git files are; a worktree's are beside those of its main tree."""
    own = root / ".git"
    pointer = _read(own)
    if not pointer.startswith("gitdir:"):
        return own
    folder = root / pointer.partition(":")[2].strip()
    shared = _read(folder / "commondir").strip()
    return folder / shared if shared else folder


def _read(path: Path) -> str:
    """The beginning of a file; "" for anything that is none."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
