"""How is a segment made without holding up whoever else asks? By a program of its own.

To join the columns of every file holds Python's lock for as long as it takes, which is seconds on a large
repository. The program leaves the segment in the cache, where it is mapped from. Small ones are not
worth a program.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from services.kernel.programs import command
from store import map_segment as segments
from store.map_segment import Array, Segment
from store.read.live import Projections
from store.read.maps import Maps

_SMALL = 500  # files
_LONGEST_S = 600.0
_NICE = 10


class Order(Struct, frozen=True):
    """Which manifest of a repository, and where its segment goes."""

    projections: str
    repo_id: str
    file: str
    commit: str = ""  # "" for the live one
    edition: int = 0  # of the commit's baseline
    patient: bool = False  # nobody waits for it


def made(order: Order, maps: Maps) -> Segment:
    """A manifest's segment; the cache has it as well, where it can be written."""
    if not _is_small(order, maps) and ordered(order):
        found = segments.load(Path(order.file))
        if found is not None:
            return found
    arrays, header = _arrays(order, maps)
    stored = segments.save(Path(order.file), arrays, header)
    return (segments.load(Path(order.file)) if stored else None) or Segment(arrays, header)


def ordered(order: Order) -> bool:
    """Have the program make a segment; False when it could not."""
    try:
        subprocess.run(  # noqa: S603 - this very interpreter and package
            command(__name__),
            input=_encode(order), stdout=subprocess.DEVNULL, timeout=_LONGEST_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _is_small(order: Order, maps: Maps) -> bool:
    if order.commit:
        row = maps.baseline(order.commit)
        return row is None or row.files < _SMALL
    return sum(1 for _ in itertools.islice(maps.resolved(), _SMALL)) < _SMALL


def _arrays(order: Order, maps: Maps) -> tuple[dict[str, Array], dict[str, Any]]:
    if not order.commit:
        return segments.make(segments.live_files(maps), maps.newest())
    row = maps.baseline(order.commit)
    files = () if row is None else segments.base_files(maps, maps.base_prefix(row))
    return segments.make(files, order.edition)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Order).decode


def main() -> None:
    """Make the segment that standard input asks for."""
    order = _decode(sys.stdin.buffer.read())
    if order.patient:
        os.nice(_NICE)
    with Projections(Path(order.projections)).read() as snapshot:
        maps = Maps(snapshot.txn, order.repo_id)
        row = maps.baseline(order.commit) if order.commit else None
        if row is not None and row.edition != order.edition:
            sys.exit("the baseline has been replaced")
        if not segments.save(Path(order.file), *_arrays(order, maps)):
            sys.exit("the cache cannot be written")
