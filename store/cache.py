"""What was worked out before, and need not be worked out again?

A memo of key bytes -> value bytes in a small LMDB environment of its own. Several processes of one
machine share it by opening the same folder. Losing it costs time and nothing else, so nothing is
ever synced to disk and no failure reaches the caller: what cannot be read is a miss, what cannot be
written is forgotten, and a damaged memo is deleted and begun anew.

It is bounded by two generations. Writes go to the current one; when that fills half the budget, the
previous one is dropped and the two change places. A value met in the previous generation moves to
the current one with the next write, so what is in use stays.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lmdb
import xxhash

_FORMAT = 1  # of the folder; another one is begun anew
_GENERATIONS = (b"even", b"odd")
_TURN = b"turn"  # how often the generations have changed places
_CHECK_BYTES = 8
_SMALLEST_BUDGET = 1 << 20
_MOVING_BYTES = 8 << 20  # of values waiting to move to the current generation
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_DAMAGE = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.VersionMismatchError,
)


def content_key(*parts: str | bytes) -> bytes:
    """A 16-byte key over several parts; where one part ends and the next begins matters."""
    hasher = xxhash.xxh3_128()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hasher.update(len(raw).to_bytes(8, "little"))
        hasher.update(raw)
    return hasher.digest()


class ContentCache:
    """A memo shared by the processes of one machine. One per folder and process; thread-safe."""

    def __init__(self, path: Path, budget_bytes: int) -> None:
        """Use the memo in `path`, which holds about `budget_bytes` at most; 0 switches it off."""
        self._root = path
        # Without a sync, a machine that went down may have left pages behind that look whole and
        # are not; reading those can end the process. So a memo lives no longer than the machine.
        self._path = path / f"{_FORMAT}-{_boot_id()}"
        self._budget = max(budget_bytes, _SMALLEST_BUDGET)
        self._lock = threading.Lock()
        self._moving: dict[bytes, bytes] = {}
        self._moving_bytes = 0
        self._memo: _Memo | None = None
        self.hits = 0
        self.misses = 0
        self.restarts = 0  # times a damaged memo was begun anew
        if budget_bytes > 0:
            self._sweep()
            self._memo = self._opened()

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values that are known among `keys`."""
        memo = self._memo
        found: dict[bytes, bytes] = {}
        if memo is not None and keys:
            try:
                found = self._look_up(memo, keys)
            except _Damaged:
                self._begin_anew(memo)
            except lmdb.Error as error:
                self._failed(memo, error)
        self.hits += len(found)
        self.misses += len(keys) - len(found)
        return found

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Remember values. A row that exceeds an eighth of the budget is left out."""
        memo = self._memo
        if memo is None or not rows:
            return
        moving, self._moving, self._moving_bytes = self._moving, {}, 0
        largest = self._budget // 8
        kept = {**moving, **{key: value for key, value in rows if len(value) <= largest}}
        checked = [(key, xxhash.xxh3_64_digest(kept[key]) + kept[key]) for key in sorted(kept)]
        try:
            memo.write(checked)
        except lmdb.Error as error:
            self._failed(memo, error)

    def close(self) -> None:
        """Let go of the files; the memo answers nothing from here on."""
        with self._lock:
            memo, self._memo = self._memo, None
        if memo is not None:
            memo.close()

    def _look_up(self, memo: _Memo, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found, old = memo.read(keys)
        for key in old:
            if self._moving_bytes < _MOVING_BYTES:
                self._moving[key] = found[key]
                self._moving_bytes += len(found[key])
        return found

    def _failed(self, memo: _Memo, error: lmdb.Error) -> None:
        if isinstance(error, _DAMAGE):
            self._begin_anew(memo)

    def _begin_anew(self, damaged: _Memo) -> None:
        with self._lock:
            if self._memo is not damaged:
                return  # another thread has done it, or the cache was closed
            # Not closed: a thread may be reading in it. It goes with its last reference.
            shutil.rmtree(self._path, ignore_errors=True)
            self._memo = self._opened()
            self.restarts += 1

    def _opened(self) -> _Memo | None:
        for _ in range(2):
            try:
                self._path.mkdir(parents=True, exist_ok=True)
                return _Memo(self._path, self._budget)
            except OSError:
                return None
            except lmdb.Error as error:
                if not isinstance(error, _DAMAGE):
                    return None
                self.restarts += 1
                shutil.rmtree(self._path, ignore_errors=True)
        return None

    def _sweep(self) -> None:
        """Delete memos of another format or of the machine's time before its last start."""
        for folder in self._root.glob("[0-9]*-*"):
            if folder != self._path:
                shutil.rmtree(folder, ignore_errors=True)


class _Damaged(Exception):
    """A value is not the one that was written."""


class _Memo:
    """One open environment."""

    def __init__(self, path: Path, budget: int) -> None:
        self._half = budget // 2
        self._env = lmdb.open(
            str(path),
            map_size=budget + budget // 4,  # room for pages that a running transaction still holds
            max_dbs=len(_GENERATIONS) + 1,
            max_readers=512,
            readahead=False,
            meminit=False,
            sync=False,
            metasync=False,
        )
        self._env.reader_check()
        with self._env.begin(write=True) as txn:
            self._turns = self._env.open_db(b"turns", txn=txn)
            self._tables = [self._env.open_db(name, txn=txn) for name in _GENERATIONS]
        self._page = self._env.stat()["psize"]

    def read(self, keys: Sequence[bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
        """What is known, and which keys of it are of the previous generation."""
        found: dict[bytes, bytes] = {}
        old: list[bytes] = []
        with self._env.begin(buffers=True) as txn:
            current, previous = self._generations(txn)
            for key in keys:
                value = txn.get(key, db=current)
                if value is None:
                    value = txn.get(key, db=previous)
                    if value is None:
                        continue
                    old.append(key)
                found[key] = _verified(value)
        return found, old

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store rows in the current generation, making room first where it is full."""
        try:
            self._write(rows, force=False)
        except lmdb.MapFullError:
            self._write((), force=True)
            self._write(rows, force=False)

    def _write(self, rows: Sequence[tuple[bytes, bytes]], *, force: bool) -> None:
        with self._env.begin(write=True) as txn:
            current, previous = self._generations(txn)
            if force or self._size(txn, current) >= self._half:
                txn.drop(previous, delete=False)
                txn.put(_TURN, (self._turn(txn) + 1).to_bytes(8, "little"), db=self._turns)
                current = previous
            if rows:
                txn.cursor(current).putmulti(rows)

    def _turn(self, txn: Any) -> int:
        return int.from_bytes(txn.get(_TURN, default=b"", db=self._turns), "little")

    def _generations(self, txn: Any) -> tuple[Any, Any]:
        turn = self._turn(txn)
        return self._tables[turn % 2], self._tables[(turn + 1) % 2]

    def _size(self, txn: Any, table: Any) -> int:
        stat = txn.stat(table)
        pages: int = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
        return pages * int(self._page)

    def close(self) -> None:
        self._env.close()


def _verified(value: memoryview) -> bytes:
    content = bytes(value[_CHECK_BYTES:])
    if xxhash.xxh3_64_digest(content) != value[:_CHECK_BYTES]:
        raise _Damaged
    return content


def _boot_id() -> str:
    """Names the machine's time since its last start; "" where the system does not tell."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
