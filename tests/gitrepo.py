"""What does git itself say takes part in a tree?"""

from __future__ import annotations

import subprocess
from pathlib import Path


def new_repository(root: Path) -> None:
    """Make an empty repository that reads no ignore file but those of its tree."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, value in (("core.excludesFile", "/dev/null"), ("core.ignoreCase", "false")):
        subprocess.run(["git", "-C", str(root), "config", name, value], check=True)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_bytes(b"")


def listed_by_git(root: Path) -> set[bytes]:
    """Return the files that git would offer to add."""
    command = ["git", "-C", str(root), "ls-files", "-o", "-z", "--exclude-standard"]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return {path for path in output.split(b"\0") if path}
