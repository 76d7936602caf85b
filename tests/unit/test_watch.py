"""Changes in a tree come out as what is there now, from either source of file events."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest

from contracts.errors import InvalidArgument, Unavailable
from contracts.events.jobs import SeenEntry
from contracts.events.log import WalkFilters
from contracts.ids import RepoPath
from services.source.walk import walk
from services.walker.burst import Source
from services.walker.inotify import Inotify
from services.walker.portable import Portable
from services.walker.watch import FLOOD_EVENTS, Changed, Degraded, Notice, Rescan, watch

PATIENCE_SECONDS = 20
SOURCES: dict[str, Callable[[Path], Source]] = {"portable": Portable}
if Inotify.available():
    SOURCES["inotify"] = lambda root: Inotify()


@pytest.fixture(params=sorted(SOURCES))
def source(request: pytest.FixtureRequest, root: Path) -> Source:
    return SOURCES[request.param](root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a")
    (folder / "src" / "deep" / "b.py").write_text("b")
    (folder / ".git").mkdir()
    (folder / "out").mkdir()
    (folder / ".gitignore").write_text("out/\n*.log\n")
    return folder


class Watched:
    """A running watch, and what it has told so far."""

    def __init__(self, notices: AsyncGenerator[Notice, None], stop: asyncio.Event) -> None:
        self.notices = notices
        self.stop = stop
        self.sizes: dict[str, int] = {}
        self.told: list[tuple[str, int]] = []

    async def following(self) -> Notice:
        with anyio.fail_after(PATIENCE_SECONDS):
            return await anext(self.notices)

    async def until(self, path: str, size: int) -> None:
        """Read notices until the latest word on a path is this size."""
        while self.sizes.get(path) != size:
            notice = await self.following()
            assert isinstance(notice, Changed), notice
            for entry in notice.entries:
                self.sizes[entry.path] = entry.size_bytes
                self.told.append((entry.path, entry.size_bytes))

    async def rescan(self) -> Rescan:
        """Read notices until a walk of the whole is asked for."""
        while True:
            notice = await self.following()
            if isinstance(notice, Rescan):
                return notice
            assert isinstance(notice, Changed), notice


@asynccontextmanager
async def watching(
    root: Path,
    source: Source,
    filters: WalkFilters = WalkFilters(),  # noqa: B008
) -> AsyncIterator[Watched]:
    stop = asyncio.Event()
    async with aclosing(watch(root, filters, stop=stop, source=source)) as notices:
        watched = Watched(notices, stop)
        assert await watched.rescan() == Rescan("started")
        yield watched


async def test_a_new_file_is_told_with_what_lstat_says(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        (root / "src" / "new.py").write_text("12345")

        await watched.until("src/new.py", 5)

        assert set(watched.sizes) == {"src/new.py"}


async def test_an_edit_a_deletion_and_a_touch_are_told(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        with (root / "src" / "a.py").open("a") as file:
            file.write("bc")
        await watched.until("src/a.py", 3)
        (root / "src" / "a.py").unlink()
        await watched.until("src/a.py", -1)
        os.utime(root / "src" / "deep" / "b.py")
        await watched.until("src/deep/b.py", 1)


async def test_a_write_is_told_though_the_file_stays_open(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        with (root / "src" / "a.py").open("a", buffering=1) as file:
            file.write("bc\n")

            await watched.until("src/a.py", 4)


async def test_a_save_by_renaming_is_told_as_the_file_it_leaves(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        (root / "src" / "a.py.tmp").write_text("whole new")
        (root / "src" / "a.py.tmp").replace(root / "src" / "a.py")

        await watched.until("src/a.py", 9)

        assert watched.sizes.get("src/a.py.tmp", -1) == -1


async def test_swap_files_leave_nothing_behind(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        for name in ("4913", ".a.py.swp", "a.py~"):
            (root / "src" / name).write_text("x")
            (root / "src" / name).unlink()
        (root / "src" / "a.py").write_text("saved")

        await watched.until("src/a.py", 5)

        assert {size for path, size in watched.sizes.items() if path != "src/a.py"} <= {-1}


async def test_many_writes_of_one_file_come_out_as_its_last_state(
    root: Path, source: Source
) -> None:
    async with watching(root, source) as watched:
        for length in range(1, 200):
            (root / "src" / "a.py").write_text("x" * length)

        await watched.until("src/a.py", 199)

        assert len(watched.told) < 50


async def test_a_new_folder_is_told_with_all_that_is_in_it(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        (root / "new" / "inner").mkdir(parents=True)
        (root / "new" / "inner" / "c.py").write_text("ccc")
        (root / "new" / "x.log").write_text("ignored")
        await watched.until("new/inner/c.py", 3)

        (root / "new" / "inner" / "d.py").write_text("dddd")
        await watched.until("new/inner/d.py", 4)

        assert "new/x.log" not in watched.sizes


async def test_a_folder_moved_in_and_out_again_is_told_whole(
    root: Path, tmp_path: Path, source: Source
) -> None:
    (tmp_path / "aside" / "sub").mkdir(parents=True)
    (tmp_path / "aside" / "sub" / "x").write_text("xx")
    (tmp_path / "aside" / "y").write_text("y")
    async with watching(root, source) as watched:
        (tmp_path / "aside").rename(root / "moved")
        await watched.until("moved/sub/x", 2)
        await watched.until("moved/y", 1)
        (root / "moved" / "sub" / "x").write_text("xxx")
        await watched.until("moved/sub/x", 3)

        (root / "moved").rename(tmp_path / "gone")
        await watched.until("moved", -2)

        (tmp_path / "gone" / "sub" / "x").write_text("unseen")
        (root / "last").write_text("z")
        await watched.until("last", 1)
        assert watched.sizes["moved/sub/x"] in (3, -1)


async def test_a_renamed_folder_is_followed_under_its_new_name(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        (root / "src").rename(root / "lib")
        await watched.until("src", -2)
        await watched.until("lib/deep/b.py", 1)

        (root / "lib" / "deep" / "b.py").write_text("bbb")
        await watched.until("lib/deep/b.py", 3)

        assert "src/deep/b.py" not in watched.sizes


async def test_a_deleted_folder_is_told_once_for_all_below(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        shutil.rmtree(root / "src")

        await watched.until("src", -2)

        assert ("src", -2) in watched.told
        assert {size for _, size in watched.told} <= {-1, -2}


async def test_a_folder_in_the_place_of_a_file_and_back_is_told(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        (root / "src" / "a.py").unlink()
        (root / "src" / "a.py").mkdir()
        (root / "src" / "a.py" / "x").write_text("x")
        await watched.until("src/a.py", -1)
        await watched.until("src/a.py/x", 1)

        shutil.rmtree(root / "src" / "a.py")
        (root / "src" / "a.py").write_text("file")
        await watched.until("src/a.py", 4)

        assert ("src/a.py", -2) in watched.told


async def test_what_takes_no_part_is_not_told(root: Path, source: Source) -> None:
    filters = WalkFilters(exclude=("*.tmp",))
    async with watching(root, source, filters) as watched:
        (root / "out" / "built.py").write_text("x")
        (root / ".git" / "index").write_text("x")
        (root / "src" / "x.log").write_text("x")
        (root / "src" / "x.tmp").write_text("x")
        (root / "src" / "link").symlink_to("a.py")
        (root / "src" / "linked").symlink_to("deep")
        (root / "out" / "more").mkdir()
        (root / "out" / "more" / "y.py").write_text("x")
        (root / "src" / "a.py").write_text("seen")

        await watched.until("src/a.py", 4)

        shown = {path: size for path, size in watched.sizes.items() if size >= 0}
        assert shown == {"src/a.py": 4}


async def test_a_changed_gitignore_asks_for_a_walk_and_counts_from_then_on(
    root: Path, source: Source
) -> None:
    async with watching(root, source) as watched:
        (root / ".gitignore").write_text("src/deep/\n")
        assert (await watched.rescan()).reason == "gitignore"

        (root / "src" / "deep" / "b.py").write_text("ignored")
        (root / "out" / "now.py").write_text("seen")
        await watched.until("out/now.py", 4)

        assert "src/deep/b.py" not in watched.sizes


async def test_a_new_and_a_deleted_gitignore_ask_for_a_walk(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        (root / "src" / ".gitignore").write_text("*.py\n")
        assert (await watched.rescan()).detail == "src/.gitignore"
        (root / "src" / ".gitignore").unlink()
        assert (await watched.rescan()).reason == "gitignore"


async def test_a_gitignore_means_nothing_when_the_filters_say_so(
    root: Path, source: Source
) -> None:
    async with watching(root, source, WalkFilters(respect_gitignore=False)) as watched:
        (root / ".gitignore").write_text("*\n")
        await watched.until(".gitignore", 2)
        (root / "out" / "x.log").write_text("x")
        await watched.until("out/x.log", 1)


async def test_a_burst_of_a_thousand_files_is_told_or_asks_for_a_walk(
    root: Path, source: Source
) -> None:
    async with watching(root, source) as watched:
        for number in range(1_000):
            os.close(os.open(root / "src" / f"n{number}", os.O_CREAT))
        (root / "zz").write_text("end")

        rescanned = False
        while not rescanned and watched.sizes.get("zz") != 3:
            notice = await watched.following()
            if isinstance(notice, Changed):
                assert len(notice.entries) <= 512
                watched.sizes.update({entry.path: entry.size_bytes for entry in notice.entries})
            rescanned = isinstance(notice, Rescan)

        assert rescanned or {f"src/n{number}" for number in range(1_000)} <= set(watched.sizes)


async def test_too_many_changes_at_once_ask_for_one_walk(root: Path) -> None:
    async with watching(root, SOURCES["inotify"](root)) as watched:
        for number in range(FLOOD_EVENTS + 1):
            os.close(os.open(root / "src" / f"n{number}", os.O_CREAT))

        assert (await watched.rescan()).reason == "flood"
        (root / "after").write_text("x")
        await watched.until("after", 1)


async def test_events_lost_in_a_full_queue_ask_for_a_walk(root: Path) -> None:
    room = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    async with watching(root, SOURCES["inotify"](root)) as watched:
        for _ in range(room // 2 + 1):
            os.utime(root / "src" / "a.py")
            os.utime(root / "src" / "deep" / "b.py")

        assert (await watched.rescan()).reason == "lost"
        (root / "after").write_text("x")
        await watched.until("after", 1)


async def test_names_of_any_bytes_are_told(root: Path) -> None:
    async with watching(root, SOURCES["inotify"](root)) as watched:
        place = os.fsencode(root) + b"/caf\xe9\n"
        Path(os.fsdecode(place)).write_bytes(b"latin")

        await watched.until("caf\uefe9\n", 5)


async def test_a_name_that_cannot_be_decoded_does_not_end_a_portable_watch(root: Path) -> None:
    async with watching(root, Portable(root)) as watched:
        Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9")).write_bytes(b"latin")
        assert (await watched.rescan()).reason == "lost"

        (root / "after").write_text("x")
        await watched.until("after", 1)


async def test_only_folders_that_take_part_are_watched(root: Path) -> None:
    for number in range(50):
        (root / "out" / str(number)).mkdir()
        (root / ".git" / str(number)).mkdir()
    source = Inotify()
    async with watching(root, source) as watched:
        assert source.watches == 3  # the root, src and src/deep

        (root / "src" / "more").mkdir()
        (root / "src" / "more" / "x").write_text("x")
        await watched.until("src/more/x", 1)
        assert source.watches == 4
        shutil.rmtree(root / "src")
        await watched.until("src", -2)
        (root / "last").write_text("x")
        await watched.until("last", 1)
        assert source.watches == 1


async def test_stopping_ends_the_watch_at_once(root: Path, source: Source) -> None:
    async with watching(root, source) as watched:
        waiting = asyncio.ensure_future(anext(watched.notices))
        await asyncio.sleep(0)

        watched.stop.set()

        with anyio.fail_after(PATIENCE_SECONDS), pytest.raises(StopAsyncIteration):
            await waiting


def held(kind: str) -> set[str]:
    """Return this process's descriptors of what has that name."""
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            if os.readlink(f"/proc/self/fd/{fd}").startswith(kind):
                found.add(fd)
    return found


async def test_a_cancelled_watch_gives_everything_back(root: Path) -> None:
    before = held("anon_inode:inotify")
    async with watching(root, SOURCES["inotify"](root)) as watched:
        assert held("anon_inode:inotify") - before
        assert held(str(root))
        waiting = asyncio.ensure_future(anext(watched.notices))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert not held("anon_inode:inotify") - before
    assert not held(str(root))


async def test_a_root_that_goes_away_ends_the_watch_with_a_reason(
    root: Path, source: Source
) -> None:
    async with watching(root, source) as watched:
        shutil.rmtree(root)

        while isinstance(notice := await watched.following(), Changed | Rescan):
            pass

        assert isinstance(notice, Degraded)
        assert notice.reason == "root_missing"


async def test_a_missing_root_degrades_at_once(tmp_path: Path) -> None:
    stop = asyncio.Event()
    async with aclosing(watch(tmp_path / "none", WalkFilters(), stop=stop)) as notices:
        notice = await anext(notices)

    assert isinstance(notice, Degraded)
    assert notice.reason == "root_missing"


async def test_a_used_up_allowance_degrades_with_the_setting_to_raise(root: Path) -> None:
    class Full(Inotify):
        """A kernel whose last watch has been given away."""

        def add(self, directory_fd: int, path: RepoPath) -> None:
            if path == "src/deep":
                raise Unavailable("no watch left", hint="max_user_watches", reason="watch_limit")
            super().add(directory_fd, path)

    stop = asyncio.Event()
    async with aclosing(watch(root, WalkFilters(), stop=stop, source=Full())) as notices:
        told = [notice async for notice in notices]

    assert told == [Degraded("watch_limit", "no watch left", "max_user_watches")]


async def test_a_dead_glob_is_the_callers_mistake(root: Path, source: Source) -> None:
    stop = asyncio.Event()
    with pytest.raises(InvalidArgument):
        async with aclosing(
            watch(root, WalkFilters(include=("[",)), stop=stop, source=source)
        ) as it:
            await anext(it)


NAMES = ["a", "b", "c", "d.log", "out"]


def shake(root: Path, aside: Path, chance: random.Random) -> None:
    """Do something to the tree, if it can be done."""
    place = root.joinpath(*chance.choices(NAMES, k=chance.randint(1, 3)))
    other = root.joinpath(*chance.choices(NAMES, k=chance.randint(1, 3)))
    shelf = aside / str(chance.randint(0, 2))

    def write() -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x" * chance.randint(0, 9))

    def crowd() -> None:
        for number in range(chance.randint(1, 40)):
            (place / str(number)).parent.mkdir(parents=True, exist_ok=True)
            (place / str(number)).write_text("y")

    acts: list[tuple[int, Callable[[], object]]] = [
        (30, write),
        (10, lambda: place.mkdir(parents=True)),
        (10, place.unlink),
        (8, lambda: shutil.rmtree(place)),
        (20, lambda: place.rename(other)),
        (6, lambda: place.rename(shelf)),
        (6, lambda: shelf.rename(place)),
        (3, lambda: place.symlink_to("a")),
        (4, lambda: os.utime(place)),
        (4, crowd),
        (
            1,
            lambda: place.with_name(".gitignore").write_text(
                chance.choice(["out", "*.log", "!out"])
            ),
        ),
    ]
    with suppress(OSError):
        chance.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_told_adds_up_to_what_is_there(
    root: Path, tmp_path: Path, source: Source, seed: int
) -> None:
    chance = random.Random(seed)
    (tmp_path / "aside").mkdir()
    model: dict[str, SeenEntry] = {}

    def there() -> dict[str, SeenEntry]:
        parts = walk(root, WalkFilters())
        return {entry.path: entry for part in parts for entry in part.entries}

    async with watching(root, source) as watched:
        model = there()
        for number in range(6):
            for _ in range(40):
                shake(root, tmp_path / "aside", chance)
            (root / f"end{number}").write_text("")

            while f"end{number}" not in model:
                match await watched.following():
                    case Rescan():
                        model = there()
                    case Changed(entries):
                        for entry in entries:
                            apply(model, entry)
                    case Degraded() as degraded:
                        pytest.fail(degraded.message)
            assert model == there()


def apply(model: dict[str, SeenEntry], entry: SeenEntry) -> None:
    if entry.size_bytes >= 0:
        model[entry.path] = entry
    elif entry.size_bytes == -1:
        model.pop(entry.path, None)
    else:
        for path in [path for path in model if path.startswith(f"{entry.path}/")]:
            del model[path]
