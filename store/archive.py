"""How is memory kept outside the log? As JSON lines: one that says what this is, then one a note.

Ids, tokens and times are kept. A deleted note is a line of its own while tokens were granted for its
key: their counter must not start over. Files are replaced as a whole, never written into.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from contracts.errors import Conflict, InvalidArgument, NotFound
from contracts.note_rules import flaw
from contracts.notes import Note

VERSION = 1
CURRENT, PREVIOUS = "memory.jsonl", "memory.previous.jsonl"


class Heading(Struct, frozen=True, kw_only=True):
    """The first line."""

    repofold: str = "memory"
    version: int = VERSION
    log: int  # sequence of LOG that the notes are as of
    at_ms: int
    notes: int  # live ones


_heading = msgspec.json.Decoder(Heading).decode
_note = msgspec.json.Decoder(Note).decode
_encode = msgspec.json.Encoder().encode


def worth_keeping(notes: Iterable[Note], now_ms: int) -> list[Note]:
    """Live notes, and what is left of others whose tokens count."""
    return [note for note in notes if note.is_live(now_ms) or note.claim.issued]


def text_of(notes: Iterable[Note], *, log: int, now_ms: int) -> bytes:
    """The file's content."""
    kept = worth_keeping(notes, now_ms)
    live = sum(note.is_live(now_ms) for note in kept)
    lines = [_encode(Heading(log=log, at_ms=now_ms, notes=live)), *map(_encode, kept)]
    return b"\n".join(lines) + b"\n"


def heading_of(path: Path) -> Heading | None:
    """The first line of an export; None when there is no readable one."""
    try:
        with path.open("rb") as file:
            return _heading(file.readline())
    except (OSError, msgspec.MsgspecError):
        return None


def write(path: Path, text: bytes, *, previous: Path | None = None) -> None:
    """Replace a file; what it was becomes `previous`.

    Raises Conflict instead of replacing an export that holds notes by one without any.
    """
    new, old = _heading(text.partition(b"\n")[0]), heading_of(path)
    if old is not None and old.notes and not new.notes:
        raise Conflict(
            f"{path.name} holds {old.notes} notes and would be replaced by none",
            hint="move it away first if memory really is empty",
        )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if previous is not None and path.exists():
            path.replace(previous)
        draft.replace(path)
        _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def read(path: Path, flawed: list[str] | None = None) -> Iterator[Note]:
    """The notes of an export; raises NotFound or InvalidArgument when it is none.

    Notes that are none are left out and told in `flawed`; without it they raise as well.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}", hint="give an export") from None
    with file:
        yield from parsed(file, flawed)


def parsed(lines: Iterable[bytes], flawed: list[str] | None = None) -> Iterator[Note]:
    """As `read`, of lines."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            if number == 1:
                _checked(_heading(line))
            else:
                note = _note(line)
                wrong = flaw(note)
                if not wrong:
                    yield note
                elif flawed is None:
                    raise InvalidArgument(
                        f"line {number} holds no note: {wrong}",
                        hint="correct or remove the line; nothing was imported",
                    )
                else:
                    flawed.append(f"line {number}: {wrong}")
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidArgument(
                f"line {number} is not of an export of memory: {error}",
                hint="give a file that `repofold memory export` wrote",
            ) from None


def _checked(heading: Heading) -> None:
    if heading.repofold != "memory" or heading.version > VERSION:
        raise InvalidArgument(
            f"this is an export of version {heading.version}, and {VERSION} is known",
            hint="import it with the version that wrote it, or a newer one",
        )


def newest(folder: Path) -> Path | None:
    """The snapshot of an archive directory to restore from."""
    for name in (CURRENT, PREVIOUS):
        if heading_of(folder / name) is not None:
            return folder / name
    return None


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system takes it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
