"""What does the embedder ask of whatever makes vectors?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from contracts.extract import Packed
from contracts.ids import RepoPath

I1 = NDArray[np.int8]
SCALE = 127.0  # of a stored unit vector


class FileToEmbed(Struct, frozen=True):
    """One file version that has chunks."""

    path: RepoPath
    extract: Packed


class NoteToEmbed(Struct, frozen=True):
    """One note's text."""

    about: str  # topic and title: what each passage is about
    passages: tuple[str, ...]


class Provider(Protocol):
    """Makes the vectors of whole files and notes.

    They depend on the file or note and the space alone, not on what it is embedded with.
    """

    @property
    def space(self) -> str:
        """Model, dimension and normalisation; only known once `prepare` has returned."""

    @property
    def dimension(self) -> int: ...

    async def prepare(self) -> None:
        """Get ready; raises Outage while a server that is needed does not answer."""

    async def embed(self, files: Sequence[FileToEmbed]) -> Sequence[I1]:
        """Unit vectors scaled by 127, [chunks, dimension] for each file, in order.

        Raises Outage when a server that is needed does not answer, Poisoned when it will never
        take one of these files.
        """

    async def embed_notes(self, notes: Sequence[NoteToEmbed]) -> Sequence[I1]:
        """The same of notes, [passages, dimension] for each, in order."""

    def close(self) -> None: ...
