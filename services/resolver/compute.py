"""How is a whole repository resolved? In a process of its own, which forks one more per processor.

What it takes in memory goes when it ends, and its low priority leaves text search and vectors first.
Requests come on standard input and results go to standard output as frames, each with its length in
front: first what is to be resolved, and an empty frame at the end of each phase; then, once that is
folded, what the first question and the next edit need, which ends with an empty frame as well.
"""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from contracts.errors import Unavailable
from contracts.extract import Body
from services.kernel.programs import command
from services.resolution.resolver import Resolver, summary_of
from services.resolver import recall
from services.resolver.live import Result, made
from services.resolver.spread import pour, spread
from store import map_segment
from store.read.live import Projections, Snapshot
from store.read.maps import Maps
from store.rows import FileRow

_LENGTH = struct.Struct("<I")
_NICE = 10
_SNAPSHOT_BODIES = 200


class Request(Struct, frozen=True, array_like=True):
    """What is to be resolved: all files, in phases of their paths."""

    projections: str
    repo_id: str
    rows: tuple[FileRow, ...]
    phases: tuple[tuple[str, ...], ...]
    processes: int


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_result = msgspec.msgpack.Decoder(Result).decode
_decode_summary = msgspec.msgpack.Decoder(tuple[str, bytes]).decode


class Preparation(Struct, frozen=True, array_like=True):
    """Where the live map of a repository is to be made ready for questions and edits."""

    projections: str
    repo_id: str
    cache: str  # folder of the segments


_decode_preparation = msgspec.msgpack.Decoder(Preparation).decode


class Computation:
    """A process that resolves and prepares; read its results phase by phase, then close it.

    It can be made before there is a request, and has all it needs in memory when that comes.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter and package
            command(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._request = b""
        self._begun = self._ended = self._closed = False
        self._in_use = threading.Lock()

    def ask(self, request: Request) -> None:
        """Say what is to be resolved, before anything is taken."""
        self._request = _encode(request)

    def take(self, limit: int) -> list[Result]:
        """The next results; none at the end of a phase. Raises Unavailable when it has died."""
        with self._taking():
            found: list[Result] = []
            while len(found) < limit and not self._ended:
                frame = self._next()
                if frame:
                    found.append(_decode_result(frame))
                else:
                    self._ended = True
            if not found:
                self._ended = False
            return found

    def prepare(self, preparation: Preparation) -> None:
        """Make the files of the cache, after the last phase. Raises Unavailable when it has died."""
        with self._taking():
            self._send(_encode(preparation))
            self._next()

    @contextlib.contextmanager
    def _taking(self) -> Iterator[None]:
        try:
            with self._in_use:
                if self._closed:
                    raise Unavailable("resolving was ended", hint="it is tried again")
                self._begin()
                yield
        finally:
            if self._closed:
                self._let_go()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._send(self._request)

    def _send(self, frame: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_LENGTH.pack(len(frame)) + frame)
            self._process.stdin.flush()
        except OSError:
            raise Unavailable("resolving could not begin", hint="it is tried again") from None

    def _next(self) -> bytes:
        assert self._process.stdout is not None
        frame = _frame(self._process.stdout)
        if frame is None:
            raise Unavailable("resolving ended before its end", hint="it is tried again")
        return frame

    def close(self) -> None:
        """End it, finished or not. What another thread waits for then comes to its end."""
        self._closed = True
        self._process.kill()
        self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        """Close the pipes, so that no fork is left that waits for a reader."""
        if self._in_use.acquire(blocking=False):  # else by whoever still reads
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):  # what it was to be told is lost with it
                    pipe.close()
            self._in_use.release()


def _frame(stream: IO[bytes]) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


# -- inside ---------------------------------------------------------------------------------


def main() -> None:
    """Do what standard input asks for."""
    os.nice(_NICE)
    asked, out = sys.stdin.buffer, output()
    frame = _frame(asked)
    if frame:
        _resolve_all(_decode_request(frame), out)
    frame = _frame(asked)
    if frame:
        _prepare(_decode_preparation(frame))
        out.write(_LENGTH.pack(0))
        out.flush()


def output() -> IO[bytes]:
    """Standard output, buffered even under PYTHONUNBUFFERED.

    A bare write may be cut short by a signal, and all that follows be read as something else.
    """
    return open(sys.stdout.fileno(), "wb", closefd=False)


def _resolve_all(request: Request, out: IO[bytes]) -> None:
    rows: dict[str, FileRow] = {row.path: row for row in request.rows}
    reader = _Reader(Path(request.projections), request.repo_id, rows)
    resolver = Resolver(reader.body)
    gc.disable()
    resolver.gather(
        _decode_summary(frame)
        for frame in spread(lambda paths: _summaries(reader, paths), list(rows), request.processes)
    )
    gc.freeze()
    for phase in request.phases:
        # Nothing of `out` is held back here, so that the forks may write to what is under it.
        pour(
            lambda paths: _results(resolver, reader, paths), phase, request.processes, out.fileno()
        )
        out.write(_LENGTH.pack(0))
        out.flush()


def _prepare(preparation: Preparation) -> None:
    projections = Projections(Path(preparation.projections))
    with projections.read() as snapshot:
        repo = snapshot.repo(preparation.repo_id)
        if repo is None:
            return
        maps, cache = Maps(snapshot.txn, repo.repo_id), Path(preparation.cache)
        arrays, header = map_segment.make(map_segment.live_files(maps), maps.newest())
        map_segment.save(map_segment.cache_file(cache, map_segment.live_name(repo)), arrays, header)
        del arrays
        recall.make(maps, map_segment.cache_file(cache, map_segment.recall_name(repo)))


_NO_BODY = Body((), (), None, (), ())


class _Reader:
    """Bodies of live files. A snapshot is kept for a while: opening one costs as much as a body."""

    def __init__(self, projections: Path, repo_id: str, rows: dict[str, FileRow]) -> None:
        self._root, self._repo_id, self.rows = projections, repo_id, rows
        self._held = contextlib.ExitStack()
        self._snapshot: Snapshot | None = None
        self._given = 0
        self._last: tuple[str, Body] = ("", _NO_BODY)  # whoever resolves a file asks for it twice

    def body(self, path: str) -> Body:
        if path == self._last[0]:
            return self._last[1]
        row = self.rows.get(path)
        if row is None:
            return _NO_BODY
        self._given += 1
        if self._given % _SNAPSHOT_BODIES == 0:
            self.close()  # a snapshot that is held keeps the environment from using its space again
        if self._snapshot is None:
            projections = Projections(self._root)
            self._held.callback(projections.close)
            self._snapshot = self._held.enter_context(projections.read())
        found = self._snapshot.body(self._repo_id, row.sequence) or _NO_BODY
        self._last = (path, found)
        return found

    def close(self) -> None:
        self._held.close()
        self._snapshot, self._last = None, ("", _NO_BODY)


def _summaries(reader: _Reader, paths: Sequence[str]) -> Iterator[bytes]:
    for path in paths:
        yield _encode((path, summary_of(path, reader.rows[path].language, reader.body(path))))


def _results(resolver: Resolver, reader: _Reader, paths: Sequence[str]) -> Iterator[bytes]:
    for result in made(resolver.resolve(paths), reader.rows, reader.body):
        yield _encode(result)
