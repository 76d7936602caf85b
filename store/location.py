"""Where is the live environment, and how is another one swapped in?

    <state>/projections/current     name of the live environment's folder
    <state>/projections/env-<n>/    an environment

A rebuild folds into the next number and then replaces `current` by an atomic rename; readers look
at `current` before each question and open what it names. Files of the old one stay readable for
whoever has them mapped.
"""

from __future__ import annotations

import os
from pathlib import Path

from contracts.errors import NotFound
from store.env import discard

_POINTER = "current"
_PREFIX = "env-"


def current(root: Path) -> Path:
    """Folder of the live environment; raises NotFound when nothing was ever folded."""
    try:
        name = (root / _POINTER).read_text().strip()
    except FileNotFoundError:
        raise NotFound(
            "nothing is indexed here yet",
            hint="start `repofold up PATH`; if it is just starting, ask again in a second",
        ) from None
    return root / name


def stamp(root: Path) -> int:
    """A number that changes whenever another environment is swapped in; 0 without one."""
    try:
        found = os.stat(f"{root}/{_POINTER}")  # before each question: joining paths costs more
    except FileNotFoundError:
        return 0
    return found.st_mtime_ns ^ found.st_ino


def fresh(root: Path) -> Path:
    """A folder name for an environment to fold into; leftovers of an unfinished rebuild are removed."""
    root.mkdir(parents=True, exist_ok=True)
    live = (root / _POINTER).read_text().strip() if (root / _POINTER).exists() else ""
    number = 0
    for folder in root.glob(f"{_PREFIX}*"):
        suffix = folder.name.removeprefix(_PREFIX)
        number = max(number, int(suffix) if suffix.isdigit() else 0)
        if folder.name != live:
            discard(folder)
    return root / f"{_PREFIX}{number + 1}"


def swap(root: Path, target: Path) -> None:
    """Make `target` the live environment and drop the others' files."""
    temporary = root / f"{_POINTER}.new"
    with temporary.open("w") as file:
        file.write(target.name)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(root / _POINTER)
    for folder in root.glob(f"{_PREFIX}*"):
        if folder.name != target.name:
            discard(folder)
