"""How is the projection environment opened, read and written? The only importer of lmdb.

One writer (the projector) per environment; readers in other processes never block it and are
never blocked. The map grows by itself: the writer doubles it when it is full, a reader adopts the
new size when it meets it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import lmdb

from contracts.errors import NotFound, Unavailable

TABLES = (
    "meta",  # name -> msgpack: format, positions of the streams
    "repos",  # repo key -> RepoRow
    "passes",  # repo key -> PassRow
    "files",  # repo key + path key -> FileRow
    "paths",  # repo key + file sequence -> path
    "bodies",  # repo key + file sequence -> Body (symbols, imports, references, ...)
    "texts",  # repo key + file sequence -> zstd of the content projection
    "vectors",  # repo key + file sequence -> VectorRow
    "symbols",  # repo key + name key + file sequence -> b""
    "segments",  # repo key + segment number -> lexical segment (store/segments.py)
    "segment_dead",  # repo key + segment number -> u4[] ordinals of dead files
    "changes",  # repo key + INDEX sequence + n -> change for readers' incremental views
    "patches",  # repo key + patch key -> RecordPatched, what was written over a record of the tree
    "notes",  # repo key + note key -> NoteRow, deleted ones included
    "note_order",  # repo key + LOG sequence -> note key, newest fact of each note
    "note_vectors",  # repo key + note key -> NoteVectorRow
    "note_vector_order",  # repo key + INDEX sequence -> note key, newest vectors of each note
    "sessions",  # repo key + session key -> SessionRow
    "history",  # repo key + edition + part -> HistoryRow
    "ann_parts",  # repo key + generation + part -> bytes
    "ann_heads",  # repo key -> AnnHead
    "resolved",  # repo key + path key -> ResolvedRow
    "resolved_order",  # repo key + INDEX sequence -> path whose edges it brought or dropped
    "edges",  # repo key + path key -> zstd of the live file's edges
    "columns",  # repo key + path key -> zstd of the live file's Columns (contracts/filemap.py)
    "summaries",  # repo key + path key -> zstd of what resolving other files needs
    "baselines",  # repo key + commit -> BaselineRow
    "workspaces",  # repo key + workspace key -> WorkspaceRow
    "editions",  # repo key + manifest name key + edition -> manifest key, whether or not a head names it
    "map_files",  # repo key + manifest key + path key -> FileFacts (contracts/filemap.py)
    "map_columns",  # repo key + manifest key + path key -> zstd of Columns
    "map_bodies",  # repo key + manifest key + path key -> Body
    "map_edges",  # repo key + manifest key + path key -> zstd of edges
)
_FIRST_MAP = 64 << 20
_LARGEST_MAP = 1 << 44
# Address space is free to a reader, and a map that is always large enough never has to be given up
# under its feet: that would need every reader of the process to let go.
_READERS_MAP = 1 << 40
_RESIZE_PATIENCE_S = 10.0


class CorruptEnvironment(Exception):
    """The files are not a readable environment; rebuild from the streams."""

    retryable = True  # once the projector has done so


class _Handle:
    """An LMDB environment as this process has it open: LMDB allows one handle per process."""

    def __init__(self, path: Path, *, writable: bool, sync: bool, owner: bool) -> None:
        self.env = self._opened(path, writable=writable, sync=sync, owner=owner)
        self.writable = writable
        self.users = 0
        self.tables: dict[str, Any] = {}
        self.reading = 0  # read transactions open in this process
        self._leaving = False
        self.gate = threading.Condition()

    @staticmethod
    def _opened(path: Path, *, writable: bool, sync: bool, owner: bool) -> Any:
        if not owner:
            try:
                return _open(path, _READERS_MAP, writable=writable, sync=sync)
            except lmdb.MemoryError:  # this process may not have so much address space
                pass
        return _open(path, _initial_map(path), writable=writable, sync=sync)

    def open_tables(self, *, create: bool) -> None:
        if len(self.tables) == len(TABLES):
            return
        if create:
            for name in TABLES:
                self.tables[name] = self.env.open_db(name.encode())
            return
        # Without a transaction of ours: py-lmdb forgets handles opened in a read-only one at its end.
        for name in TABLES:
            self.tables[name] = self.env.open_db(name.encode(), create=False)

    def begin_read(self) -> Any:
        with self.gate:
            try:
                txn = self.env.begin(buffers=True)
            except lmdb.MapResizedError:
                self._resize(0)
                txn = self.env.begin(buffers=True)
            self.reading += 1
            return txn

    def end_read(self, txn: Any) -> None:
        with self.gate:
            txn.abort()
            self.reading -= 1
            self.gate.notify_all()
            if self._leaving and not self.reading:
                self.env.close()

    def close(self) -> None:
        """Close now, or with the last reader: what it was given lies in the map."""
        with self.gate:
            self._leaving = True
            if not self.reading:
                self.env.close()

    def grow(self, size: int) -> None:
        with self.gate:
            self._resize(size)

    def _resize(self, size: int) -> None:
        # The map may only change while no transaction of this process looks at it.
        if not self.gate.wait_for(lambda: self.reading == 0, _RESIZE_PATIENCE_S):
            raise Unavailable(
                "the projection map cannot grow: a reader of this process holds on to it"
            )
        self.env.set_mapsize(size)


def _open(path: Path, map_size: int, *, writable: bool, sync: bool) -> Any:
    return lmdb.open(
        str(path),
        map_size=map_size,
        max_dbs=len(TABLES) + 2,
        max_readers=512,
        readonly=not writable,
        readahead=False,
        meminit=False,
        # A crash of the machine may cost the last commits, never the structure; the streams
        # give them back.
        metasync=False,
        sync=sync,
    )


_handles: dict[Path, _Handle] = {}
_handles_lock = threading.Lock()


def _acquire(path: Path, *, writable: bool, sync: bool) -> _Handle:
    with _handles_lock:
        handle = _handles.get(path)
        if handle is None:
            # Opened for writing where allowed, whoever comes first: a writer may follow.
            may_write = writable or os.access(path / "data.mdb", os.W_OK)
            handle = _handles[path] = _Handle(path, writable=may_write, sync=sync, owner=writable)
        handle.users += 1
        return handle


def _release(path: Path, handle: _Handle) -> None:
    with _handles_lock:
        handle.users -= 1
        if handle.users == 0:
            del _handles[path]
            handle.close()


class Env:
    """An open LMDB environment with every table."""

    def __init__(self, path: Path, *, writable: bool, sync: bool = True) -> None:
        self.path = path
        self.writable = writable
        if writable:
            path.mkdir(parents=True, exist_ok=True)
        elif not (path / "data.mdb").exists():
            raise NotFound(
                "nothing is indexed here yet",
                hint="start `repofold up PATH`; if it is just starting, ask again in a second",
            )
        self._key = path.resolve()
        try:
            self._handle = _acquire(self._key, writable=writable, sync=sync)
        except lmdb.Error as error:
            raise _unopened(error) from None
        try:
            self._handle.open_tables(create=writable)
            if writable:
                self._handle.env.reader_check()
        except lmdb.Error as error:
            _release(self._key, self._handle)
            raise _unopened(error) from None

    @contextmanager
    def read(self) -> Iterator[ReadTxn]:
        """A consistent snapshot; values are memoryviews that live as long as the block."""
        handle = self._handle
        txn = handle.begin_read()
        try:
            yield ReadTxn(txn, handle.tables)
        finally:
            handle.end_read(txn)

    def write(self) -> WriteTxn:
        """A write transaction; use as a context manager. Commits unless the block raises."""
        return WriteTxn(self._handle.env.begin(write=True, buffers=True), self._handle.tables)

    def grow(self) -> None:
        """Double the map; only between transactions."""
        size = self._handle.env.info()["map_size"] * 2
        if size > _LARGEST_MAP:
            raise Unavailable("the projection map cannot grow any further")
        self._handle.grow(size)

    def sync(self) -> None:
        self._handle.env.sync(True)

    def close(self) -> None:
        _release(self._key, self._handle)

    def usage(self) -> dict[str, int]:
        """Bytes of the map, bytes used, page size and oldest reader, for metrics."""
        info, stat = self._handle.env.info(), self._handle.env.stat()
        return {
            "map_bytes": info["map_size"],
            "used_bytes": (info["last_pgno"] + 1) * stat["psize"],
            "readers": info["num_readers"],
            "last_txn": info["last_txnid"],
            "oldest_txn": min(_read_txns(self._handle.env.readers()), default=info["last_txnid"]),
        }


def _read_txns(table: str) -> list[int]:
    """The snapshots that are being read, out of LMDB's table of readers: process, thread, transaction."""
    rows = (line.split() for line in table.splitlines())
    return [int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()]


def _unopened(error: lmdb.Error) -> Exception:
    if isinstance(error, lmdb.NotFoundError):
        return NotFound(
            "nothing is indexed here yet",
            hint="start `repofold up PATH`; if it is just starting, ask again in a second",
        )
    if isinstance(error, lmdb.DiskError):
        return Unavailable(
            f"the state directory cannot be used: {error}", hint="check free space and permissions"
        )
    return _classified(error)


class ReadTxn:
    """Reads of one snapshot."""

    def __init__(self, txn: Any, tables: dict[str, Any]) -> None:
        self._txn, self._tables = txn, tables

    def get(self, table: str, key: bytes) -> memoryview | None:
        value: memoryview | None = self._txn.get(key, db=self._tables[table])
        return value

    def items(
        self, table: str, prefix: bytes, start: bytes = b"", *, reverse: bool = False
    ) -> Iterator[tuple[bytes, memoryview]]:
        """Key and value of every row under `prefix`, from `start` on (inclusive), in key order."""
        cursor = self._txn.cursor(self._tables[table])
        if reverse:
            yield from self._reversed(cursor, prefix)
            return
        if not cursor.set_range(start or prefix):
            return
        for key, value in cursor:
            raw = bytes(key)
            if not raw.startswith(prefix):
                return
            yield raw, value

    def _reversed(self, cursor: Any, prefix: bytes) -> Iterator[tuple[bytes, memoryview]]:
        found = cursor.set_range(prefix + b"\xff" * 16)
        if not (cursor.prev() if found else cursor.last()):
            return
        for key, value in cursor.iterprev():
            raw = bytes(key)
            if not raw.startswith(prefix):
                return
            yield raw, value

    def keys(self, table: str, prefix: bytes, start: bytes = b"") -> Iterator[bytes]:
        cursor = self._txn.cursor(self._tables[table])
        if not cursor.set_range(start or prefix):
            return
        for key in cursor.iternext(keys=True, values=False):
            raw = bytes(key)
            if not raw.startswith(prefix):
                return
            yield raw

    def many(self, table: str, keys: Sequence[bytes]) -> dict[bytes, memoryview]:
        """The rows that exist among `keys`."""
        get, handle = self._txn.get, self._tables[table]
        found = {}
        for key in keys:
            value = get(key, db=handle)
            if value is not None:
                found[key] = value
        return found

    def count(self, table: str) -> int:
        return int(self._txn.stat(self._tables[table])["entries"])


class WriteTxn(ReadTxn):
    """Reads and writes of the one writer."""

    def __enter__(self) -> WriteTxn:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            try:
                self._txn.commit()
            except lmdb.Error as failure:
                raise _classified(failure) from None
            return
        self._txn.abort()

    def put(self, table: str, key: bytes, value: bytes) -> None:
        try:
            self._txn.put(key, value, db=self._tables[table])
        except lmdb.Error as error:
            raise _classified(error) from None

    def put_many(self, table: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Write rows; sorted keys are quickest."""
        if not rows:
            return
        try:
            self._txn.cursor(self._tables[table]).putmulti(rows)
        except lmdb.Error as error:
            raise _classified(error) from None

    def delete(self, table: str, key: bytes) -> bool:
        try:
            return bool(self._txn.delete(key, db=self._tables[table]))
        except lmdb.Error as error:
            raise _classified(error) from None

    def sweep(self, table: str, prefix: bytes) -> int:
        """Delete every row under `prefix`; returns how many there were."""
        cursor = self._txn.cursor(self._tables[table])
        swept = 0
        more = cursor.set_range(prefix)
        while more and bytes(cursor.key()).startswith(prefix):
            more = cursor.delete()
            swept += 1
            if more is False:
                more = cursor.set_range(prefix)
        return swept


class MapFull(Exception):
    """The transaction does not fit; grow the map and fold the batch again."""


def _classified(error: lmdb.Error) -> Exception:
    if isinstance(error, lmdb.MapFullError | lmdb.TxnFullError):
        return MapFull(str(error))
    if isinstance(
        error,
        lmdb.CorruptedError
        | lmdb.PageNotFoundError
        | lmdb.PanicError
        | lmdb.BadChecksumError
        | lmdb.InvalidError
        | lmdb.VersionMismatchError,
    ):
        return CorruptEnvironment(str(error))
    return Unavailable(
        f"the projection store refused: {error}",
        hint="check free space and permissions of the state directory",
    )


def _initial_map(path: Path) -> int:
    data = path / "data.mdb"
    size = data.stat().st_size if data.exists() else 0
    wanted = _FIRST_MAP
    while wanted < size * 1.25:
        wanted *= 2
    return wanted


def discard(path: Path) -> None:
    """Delete an environment's files."""
    shutil.rmtree(path, ignore_errors=True)
