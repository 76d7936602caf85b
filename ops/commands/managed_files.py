"""How is a file of somebody else's changed, and what is told of it?"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import Literal

from msgspec import Struct

from contracts.errors import Conflict

Action = Literal["created", "updated", "unchanged", "refused", "skipped"]


class FileChange(Struct, frozen=True, kw_only=True):
    """What was done, or with `print_only` would be done, to one client's file."""

    client: str
    path: Path
    action: Action
    text: str = ""  # the file's new content
    backup: Path | None = None
    note: str = ""  # why not, or what is left to do


def read_text(path: Path) -> str | None:
    """The file's text; None when there is none. Raises Conflict for what cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Conflict(f"cannot be read ({error})", hint="check the file") from error


def write_text(
    client: str, path: Path, old: str | None, new: str, *, print_only: bool, note: str = ""
) -> FileChange:
    """Replace the file, keeping what it was beside it."""
    if new == old:
        return FileChange(client=client, path=path, action="unchanged", text=new)
    action: Action = "created" if old is None else "updated"
    backup = None if old is None else _free_backup(path)
    if not print_only:
        try:
            _write(path, new, backup)
        except OSError as error:
            raise Conflict(f"cannot be written ({error})", hint="check the directory") from error
    return FileChange(client=client, path=path, action=action, text=new, backup=backup, note=note)


def _free_backup(path: Path) -> Path:
    number = 0
    while (backup := path.with_name(f"{path.name}.bak{number or ''}")).exists():
        number += 1
    return backup


def _write(path: Path, text: str, backup: Path | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        draft.write_bytes(text.encode())
        if backup is not None:
            shutil.copy2(path, backup)
            shutil.copymode(path, draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
