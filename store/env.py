"""How is the projection environment opened, read and written? The only importer of lmdb.

One writer (the projector) per environment; readers in other processes never block it and are
never blocked. The map grows by itself: the writer doubles it when it is full, a reader adopts the
new size when it meets it.
"""

from __future__ import annotations

import shutil
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
    "ann_parts",  # repo key + generation + part -> bytes
    "ann_heads",  # repo key -> AnnHead
)
_FIRST_MAP = 64 << 20
_LARGEST_MAP = 1 << 44


class CorruptEnvironment(Exception):
    """The files are not a readable environment; rebuild from the streams."""


class Env:
    """An open LMDB environment with every table."""

    def __init__(self, path: Path, *, writable: bool, sync: bool = True) -> None:
        self.path = path
        self.writable = writable
        if writable:
            path.mkdir(parents=True, exist_ok=True)
        elif not (path / "data.mdb").exists():
            raise NotFound("nothing is indexed here yet", hint="start `repofold up` first")
        try:
            self._env = lmdb.open(
                str(path),
                map_size=_initial_map(path),
                max_dbs=len(TABLES) + 2,
                max_readers=512,
                readonly=not writable,
                readahead=False,
                meminit=False,
                # A crash of the machine may cost the last commits, never the structure; the
                # streams give them back.
                metasync=False,
                sync=sync,
                map_async=True,
                lock=True,
            )
            self._tables: dict[str, Any] = {}
            if writable:
                self._env.reader_check()
                for name in TABLES:
                    self._tables[name] = self._env.open_db(name.encode())
            else:
                with self._env.begin() as txn:
                    for name in TABLES:
                        self._tables[name] = self._env.open_db(name.encode(), txn=txn, create=False)
        except lmdb.NotFoundError:
            raise NotFound(
                "nothing is indexed here yet", hint="start `repofold up` first"
            ) from None
        except lmdb.DiskError as error:
            raise Unavailable(
                f"the state directory cannot be used: {error}",
                hint="check free space and permissions",
            ) from None
        except (
            lmdb.CorruptedError,
            lmdb.InvalidError,
            lmdb.VersionMismatchError,
            lmdb.PanicError,
            lmdb.PageNotFoundError,
            lmdb.BadChecksumError,
        ) as error:
            raise CorruptEnvironment(str(error)) from None
        except lmdb.Error as error:
            raise _classified(error) from None

    @contextmanager
    def read(self) -> Iterator[ReadTxn]:
        """A consistent snapshot; values are memoryviews that live as long as the block."""
        txn = self._begin_read()
        try:
            yield ReadTxn(txn, self._tables)
        finally:
            txn.abort()

    def _begin_read(self) -> Any:
        try:
            return self._env.begin(buffers=True)
        except lmdb.MapResizedError:
            self._env.set_mapsize(0)
            return self._env.begin(buffers=True)

    def write(self) -> WriteTxn:
        """A write transaction; use as a context manager. Commits unless the block raises."""
        return WriteTxn(self._env.begin(write=True, buffers=True), self._tables)

    def grow(self) -> None:
        """Double the map; only between transactions."""
        size = self._env.info()["map_size"] * 2
        if size > _LARGEST_MAP:
            raise Unavailable("the projection map cannot grow any further")
        self._env.set_mapsize(size)

    def sync(self) -> None:
        self._env.sync(True)

    def close(self) -> None:
        self._env.close()

    def usage(self) -> dict[str, int]:
        """Bytes of the map, bytes used, page size and oldest reader, for metrics."""
        info, stat = self._env.info(), self._env.stat()
        return {
            "map_bytes": info["map_size"],
            "used_bytes": (info["last_pgno"] + 1) * stat["psize"],
            "readers": info["num_readers"],
            "last_txn": info["last_txnid"],
        }


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
