"""How does a file on record get what it lacks, without being read again?

Its record is appended once more, byte for byte, over itself. Whoever makes something of records
takes the new one like any other: the projector folds body, text, symbols and terms anew, the
embedders make its vectors. A record that was replaced meanwhile is left alone, and so is one whose
vectors are stored and only still to be folded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope
from contracts.errors import Conflict
from contracts.events.index import VectorsStored
from contracts.ids import RepoPath
from contracts.subjects import INDEX
from services.kernel.bus import EXPECTED, VERSION_HEADER, Bus
from store.read.gaps import Gap

_AT_ONCE = 64
_decode_vectors = msgspec.msgpack.Decoder(Envelope[VectorsStored]).decode


class Renewed(Struct, frozen=True):
    """A record that was appended once more."""

    path: RepoPath
    version: int
    digest: str
    sequence: int  # INDEX sequence from now on


async def renew(bus: Bus, repo_id: str, gaps: Sequence[Gap]) -> list[Renewed]:
    """Append the records of these files again; returns those that were."""
    done: list[Renewed] = []
    for start in range(0, len(gaps), _AT_ONCE):
        some = gaps[start : start + _AT_ONCE]
        results = await asyncio.gather(*(_renew(bus, repo_id, gap) for gap in some))
        done += [each for each in results if each is not None]
    return done


async def _renew(bus: Bus, repo_id: str, gap: Gap) -> Renewed | None:
    subject = subjects.file_record(repo_id, gap.path)
    found = await bus.last_message(subject, INDEX)
    if found is None or found[0] != gap.sequence:
        return None
    if gap.lacks == "vectors" and await _has_vectors(bus, repo_id, gap):
        return None
    _, headers, data = found
    kept = {
        VERSION_HEADER: headers.get(VERSION_HEADER, str(gap.version)),
        EXPECTED: str(gap.sequence),
    }
    try:
        stored = await (await bus.put(subject, data, headers=kept))
    except Conflict:
        return None
    return Renewed(gap.path, gap.version, gap.digest, stored.seq)


async def _has_vectors(bus: Bus, repo_id: str, gap: Gap) -> bool:
    """Whether the stream holds vectors of this very record: then the projection only lags."""
    found = await bus.last_message(subjects.file_vectors(repo_id, gap.path), INDEX)
    return found is not None and _decode_vectors(found[2]).event.file_sequence == gap.sequence
