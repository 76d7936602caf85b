"""Is all work done once, whichever fork does it, and is a fork that dies noticed?"""

from __future__ import annotations

import array
import fcntl
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator, Sequence

import psutil
import pytest

from services.resolution.index import Index
from services.resolution.summary import decode
from services.resolver.spread import Work, pour, spread
from tests.golden.test_resolution import CASES, read
from tests.resolution_project import Project


def _echoed(paths: Sequence[str]) -> Iterator[bytes]:
    for path in paths:
        yield path.encode() * 50


def _spread(work: Work, paths: Sequence[str], processes: int) -> list[bytes]:
    return list(spread(work, paths, processes))


def _poured(work: Work, paths: Sequence[str], processes: int) -> list[bytes]:
    with tempfile.TemporaryFile() as file:
        pour(work, paths, processes, file.fileno())
        file.seek(0)
        found = []
        while head := file.read(4):
            found.append(file.read(int.from_bytes(head, "little")))
        return found


_WAYS = pytest.mark.parametrize("way", [_spread, _poured])
Way = Callable[[Work, Sequence[str], int], list[bytes]]


@_WAYS
@pytest.mark.parametrize("count", [0, 1, 7, 2_000])
def test_every_file_is_worked_on_once(count: int, way: Way) -> None:
    paths = [f"{number:07d}" for number in range(count)]
    assert sorted(way(_echoed, paths, 3)) == [path.encode() * 50 for path in paths]


@_WAYS
def test_a_frame_may_be_larger_than_a_pipe(way: Way) -> None:
    def large(paths: Sequence[str]) -> Iterator[bytes]:
        for path in paths:
            yield path.encode() * 300_000

    found = way(large, ["a", "b", "c"], 2)
    assert sorted(frame[:1] for frame in found) == [b"a", b"b", b"c"]
    assert {len(frame) for frame in found} == {300_000}


@_WAYS
@pytest.mark.parametrize("fatal", [True, False])
def test_a_fork_that_dies_ends_the_process(fatal: bool, way: Way) -> None:
    def dying(paths: Sequence[str]) -> Iterator[bytes]:
        for path in paths:
            if path == "50":
                if fatal:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise ValueError(path)
            yield path.encode()

    with pytest.raises(SystemExit):
        way(dying, [str(number) for number in range(100)], 2)


def test_forks_do_not_write_into_each_others_frames() -> None:
    read, write = os.pipe()
    paths = [f"{number:03d}" for number in range(60)]

    def large(paths: Sequence[str]) -> Iterator[bytes]:
        for path in paths:
            yield path.encode() * 30_000

    found: list[bytes] = []

    def reading() -> None:
        with open(read, "rb") as stream:
            while head := stream.read(4):
                found.append(stream.read(int.from_bytes(head, "little")))

    reader = threading.Thread(target=reading)
    reader.start()
    pour(large, paths, 3, write)
    os.close(write)
    reader.join()
    assert sorted(found) == [path.encode() * 30_000 for path in paths]


_POURS = """
from services.resolver.spread import pour
pour(lambda paths: (bytes(40_000) for _ in paths), [str(n) for n in range(2_000)], 3, 1)
"""


@pytest.mark.parametrize("reads", [True, False])
def test_no_fork_outlives_the_one_that_pours(reads: bool) -> None:
    with _program(_POURS) as process:
        assert process.stdout is not None
        process.stdout.read(200_000)
        forks = psutil.Process(process.pid).children()
        process.kill()
        process.wait()
        if reads:
            process.stdout.read()  # to its end, which comes once no fork is left
        process.stdout.close()
        _, left = psutil.wait_procs(forks, timeout=20)
        assert forks
        assert not left


_WRITES = """
from services.resolver.compute import output
out = output()
out.write(bytes(1_000_000))
out.flush()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks how much a pipe holds")
def test_what_is_written_is_whole_though_a_signal_comes_between() -> None:
    with _program(_WRITES) as process:
        assert process.stdout is not None
        held = array.array("i", [0])
        while held[0] < 60_000:  # until it waits for a reader, in the middle of its writing
            select.select([process.stdout], [], [], 20)
            fcntl.ioctl(process.stdout, termios.FIONREAD, held)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        os.kill(process.pid, signal.SIGCONT)

        assert len(process.stdout.read()) == 1_000_000


def _program(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_an_index_filled_at_once_is_the_one_made_file_by_file() -> None:
    for case in sorted(CASES.glob("*.txt")):
        project = Project(read(case.read_text())[0])
        stored = list(project.summaries.items())
        random.Random(case.stem).shuffle(stored)
        filled, replaced = Index(), Index()
        filled.fill([(path, decode(data)) for path, data in stored])
        for path, data in stored:
            replaced.replace(path, decode(data))
        assert filled.summaries == replaced.summaries
        assert _facts(filled) == _facts(replaced), case.stem


def _facts(index: Index) -> dict[str, object]:
    return {name: space.members for name, space in index.spaces.items() if space.members}
