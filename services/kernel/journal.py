"""Which message was in hand when this worker died?

A message that kills its process (a crash in native code, a memory limit) comes back and kills the
next one. Delivery counts cannot tell the culprit, since messages that only waited in the dead
process's buffer came back as well. So a message that was delivered often is handled alone, with its
number written down before and struck out after; what is still written down at the next start is the
culprit, and is parked after its second time.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

CRASHES_ALLOWED = 1


class Journal:
    """Numbers of messages that were in hand, alone, when a process of this durable died."""

    def __init__(self, folder: Path, durable: str) -> None:
        self._folder = folder
        self._durable = durable
        self._mine = folder / f"{durable}-{os.getpid()}.in-hand"
        self._counted = folder / f"{durable}.crashes"
        self._crashes: dict[str, int] = {}

    def open(self) -> None:
        """Count what dead processes left behind."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._crashes = json.loads(self._counted.read_bytes())
        except (OSError, ValueError):
            self._crashes = {}
        changed = False
        for left in self._folder.glob(f"{self._durable}-*.in-hand"):
            pid = left.name.removeprefix(f"{self._durable}-").removesuffix(".in-hand")
            if pid.isdigit() and _alive(int(pid)) and left != self._mine:
                continue
            number = left.read_text().strip()
            left.unlink(missing_ok=True)
            if number:
                self._crashes[number] = self._crashes.get(number, 0) + 1
                changed = True
        if changed:
            self._save()

    def is_culprit(self, sequence: int) -> bool:
        """Whether this message was alone in hand at more crashes than allowed."""
        return self._crashes.get(str(sequence), 0) > CRASHES_ALLOWED

    def began(self, sequence: int) -> None:
        self._mine.write_text(str(sequence))

    def ended(self) -> None:
        self._mine.write_text("")

    def forget(self, sequence: int) -> None:
        """The message was parked."""
        if self._crashes.pop(str(sequence), None) is not None:
            self._save()

    def close(self) -> None:
        self._mine.unlink(missing_ok=True)

    def _save(self) -> None:
        recent = dict(list(self._crashes.items())[-1000:])
        temporary = self._counted.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(recent))
        temporary.replace(self._counted)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
