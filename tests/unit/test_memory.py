"""What a burst of work leaves in a process is given back."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import lmdb
import pytest

from services.kernel import memory


def _resident(file: Path) -> int:
    """Bytes of a mapped file that are in this process."""
    size = 0
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(str(file))
        elif inside and line.startswith("Rss:"):
            size += int(line.split()[1]) << 10
    return size


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_pages_read_of_a_database_are_let_go_and_read_again(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), map_size=1 << 30) as env:
        content = {b"%06d" % number: b"x" * 2000 for number in range(2000)}
        with env.begin(write=True) as transaction:
            transaction.cursor().putmulti(content.items())

        with env.begin() as reading:
            assert dict(reading.cursor()) == content
            held = _resident(tmp_path / "data.mdb")
            memory.trim()
            left = _resident(tmp_path / "data.mdb")
            assert dict(reading.cursor()) == content  # in a transaction that was open all the time

        with env.begin(write=True) as transaction:
            transaction.put(b"after", b"it")
        with env.begin() as reading:
            assert reading.get(b"after") == b"it"

    assert held > 4 << 20
    assert left < held // 4


async def test_a_process_that_rests_gives_memory_back_once_for_each_burst_of_work() -> None:
    loop = asyncio.get_running_loop()
    given: asyncio.Queue[float] = asyncio.Queue()
    looks: asyncio.Queue[None] = asyncio.Queue()
    spent = 5.0

    def spent_s() -> float:
        looks.put_nowait(None)
        return spent

    def rested() -> None:
        loop.call_soon_threadsafe(given.put_nowait, spent)

    async def looked(times: int) -> None:
        for _ in range(times):
            await asyncio.wait_for(looks.get(), 20)

    tidying = asyncio.create_task(memory.keep_tidy(0.01, rested, spent_s))
    try:
        await looked(4)
        assert given.empty()  # it rests, but never worked
        spent += 0.1
        await looked(4)
        assert given.empty()  # too little to leave anything
        for _ in range(2):
            spent += 1.0
            assert await asyncio.wait_for(given.get(), 20) == spent
            await looked(6)
            assert given.empty()
    finally:
        tidying.cancel()
