"""How does a resolver come back after a rest, without reading what every file says?

Beside the stored summaries lies one file of the cache: under the hash of each key the files that have
facts of it, and what each file needs. It is mapped; of the summaries only those are read that answer
a key which is asked for, some dozens for an edit. Files whose edges are newer are put over it.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path

import numpy as np

from services.resolution.families import family_of
from services.resolution.index import PROJECT, Index, Key, Space, hashes
from services.resolution.summary import SUMMARY_VERSION, Fact, Facts, Summary, decode, facts_of
from store import map_segment
from store.map_segment import Array, Texts
from store.read.live import Projections
from store.read.maps import Maps

_FORMAT = f"recall.1.{SUMMARY_VERSION}"
_NO_FACTS: Facts = {}
_NOTHING = Summary(SUMMARY_VERSION, "", "", (), ())


def make(maps: Maps, file: Path) -> bool:
    """Write the file for the live map as it is; False where the cache cannot be written."""
    paths: list[bytes] = []
    needs: list[bytes] = []
    keys: list[Array] = []
    for row in maps.resolved():
        summary = _decoded(maps.summary(row.path))
        if summary is None:
            continue
        own = hashes(space_of(summary), facts_of(row.path, summary))
        keys.append(np.unique(np.array(own, "<u4")))
        needs.append(summary.needs)
        paths.append(row.path.encode())
    every = np.concatenate(keys) if keys else np.zeros(0, "<u4")
    owners = np.repeat(np.arange(len(keys), dtype="<u4"), [len(own) for own in keys])
    order = np.argsort(every, kind="stable")
    texts, texts_at = map_segment.texts(paths)
    arrays = {
        "paths": texts,
        "paths_at": texts_at,
        "key": every[order],
        "key_file": owners[order],
        "need": np.frombuffer(b"".join(needs), "<u4"),
        "need_file": np.repeat(np.arange(len(needs), dtype="<u4"), [len(n) // 4 for n in needs]),
    }
    return map_segment.save(file, arrays, {"format": _FORMAT, "upto": maps.newest()})


def recalled(projections: Projections, repo_id: str, file: Path) -> RecalledIndex | None:
    """The index of the live map as `file` has it; None when there is none that can be used."""
    opened = map_segment.opened(file, _FORMAT)
    if opened is None:
        return None
    return RecalledIndex(_Stored(projections, repo_id, *opened))


def space_of(summary: Summary) -> str:
    family = family_of(summary.language)
    return PROJECT if family is None else family.name


def _decoded(blob: bytes | None) -> Summary | None:
    return None if blob is None else decode(blob)


class _Stored:
    """What the file and the summaries say. Hidden files are those that something newer replaces."""

    def __init__(
        self,
        projections: Projections,
        repo_id: str,
        arrays: dict[str, Array],
        header: dict[str, int],
    ) -> None:
        self._projections, self._repo_id = projections, repo_id
        self.upto = header["upto"]
        self.broken = False
        self._paths = Texts(arrays["paths"], arrays["paths_at"])
        self._key, self._key_file = arrays["key"], arrays["key_file"]
        self.need, self.need_file = arrays["need"], arrays["need_file"]
        self.hidden: set[int] = set()
        self._summaries: dict[int, Summary] = {}
        self._facts: dict[int, Facts] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def number(self, path: str) -> int | None:
        wanted = path.encode()
        at = self._paths.find(wanted)
        there = at < len(self._paths) and self._paths.raw(at) == wanted and at not in self.hidden
        return at if there else None

    def path(self, number: int) -> str:
        return self._paths[number]

    def summary(self, number: int) -> Summary:
        """A file's summary. When it cannot be had, `broken` says so: whoever asks may be inside a
        resolve, which goes on whatever is raised."""
        found = self._summaries.get(number)
        if found is None:
            try:
                found = self._read(self._paths[number])
            except Exception:  # noqa: BLE001 - see above
                found = None
            if found is None:
                self.broken = True
                return _NOTHING
            self._summaries[number] = found
        return found

    def _read(self, path: str) -> Summary | None:
        with self._projections.read() as snapshot:
            maps = Maps(snapshot.txn, self._repo_id)
            row = maps.resolved_file(path)
            current = row is not None and row.sequence <= self.upto
            return _decoded(maps.summary(path)) if current else None

    def facts(self, space: str, key: Key) -> tuple[Fact, ...]:
        """The facts under a key, in order of paths."""
        wanted = np.uint32(hashes(space, (key,))[0])
        low = int(np.searchsorted(self._key, wanted, "left"))
        high = int(np.searchsorted(self._key, wanted, "right"))
        found: tuple[Fact, ...] = ()
        for number in self._key_file[low:high].tolist():
            if number not in self.hidden:
                found += self._facts_of(number, space).get(key, ())
        return found

    def _facts_of(self, number: int, space: str) -> Facts:
        found = self._facts.get(number)
        summary = self.summary(number)
        if found is None:
            found = self._facts[number] = facts_of(self._paths[number], summary)
        return found if space_of(summary) == space else _NO_FACTS


class _Inner(dict[str, tuple[Fact, ...]]):
    """The names of one container, as far as they were asked for."""

    def __init__(self, stored: _Stored, space: str, container: str) -> None:
        super().__init__()
        self._stored, self._space, self._container = stored, space, container

    def get(self, name: str, default: object = ()) -> tuple[Fact, ...]:  # noqa: ARG002 - an absent name has no facts
        found = super().get(name)
        if found is None:
            found = self[name] = self._stored.facts(self._space, (self._container, name))
        return found

    def twin(self) -> _Inner:
        found = _Inner(self._stored, self._space, self._container)
        found.update(self)
        return found


class _Members(dict[str, dict[str, tuple[Fact, ...]]]):
    """Containers, as far as they were asked for; every one is there."""

    def __init__(self, stored: _Stored, space: str) -> None:
        super().__init__()
        self._stored, self._space = stored, space

    def get(self, container: str, default: object = None) -> dict[str, tuple[Fact, ...]]:  # noqa: ARG002
        found = super().get(container)
        if found is None:
            found = self[container] = _Inner(self._stored, self._space, container)
        return found


class _RecalledSpace(Space):
    """Facts that are read when their key is asked for."""

    def __init__(self, stored: _Stored, name: str) -> None:
        super().__init__()
        self._stored, self._name = stored, name
        self.members = _Members(stored, name)

    def copy(self) -> Space:
        found = _RecalledSpace(self._stored, self._name)
        for container, inner in self.members.items():
            assert isinstance(inner, _Inner)
            found.members[container] = inner.twin()
        return found

    def _put(self, key: Key, facts: tuple[Fact, ...]) -> None:
        self.members.get(key[0])[key[1]] = facts  # type: ignore[index]  # every container is there


class _Summaries(MutableMapping[str, Summary]):
    """Stored summaries, with those over them that are newer."""

    def __init__(self, stored: _Stored) -> None:
        self._stored = stored
        self.own: dict[str, Summary] = {}
        self.gone: set[int] = set()  # stored files that no longer count

    def _number(self, path: str) -> int | None:
        number = self._stored.number(path)
        return None if number in self.gone else number

    def __getitem__(self, path: str) -> Summary:
        found = self.own.get(path)
        if found is not None:
            return found
        number = self._number(path)
        if number is None:
            raise KeyError(path)
        return self._stored.summary(number)

    def __contains__(self, path: object) -> bool:
        return path in self.own or self._number(str(path)) is not None

    def __setitem__(self, path: str, summary: Summary) -> None:
        self._leave(path)
        self.own[path] = summary

    def __delitem__(self, path: str) -> None:
        if path not in self:
            raise KeyError(path)
        self._leave(path)
        self.own.pop(path, None)

    def _leave(self, path: str) -> None:
        number = self._stored.number(path)
        if number is not None:
            self.gone.add(number)

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        for number in range(len(self._stored)):
            if number not in self.gone and number not in self._stored.hidden:
                yield self._stored.path(number)

    def __len__(self) -> int:
        return len(self.own) + len(self._stored) - len(self.gone | self._stored.hidden)

    def twin(self) -> _Summaries:
        found = _Summaries(self._stored)
        found.own, found.gone = dict(self.own), set(self.gone)
        return found


class RecalledIndex(Index):
    """An index whose files are read when they are needed."""

    def __init__(self, stored: _Stored) -> None:
        super().__init__()
        self._stored = stored
        self._recalled = _Summaries(stored)
        self.summaries = self._recalled  # type: ignore[assignment]  # a mapping does for a dict

    @property
    def broken(self) -> bool:
        """Whether what was stored has moved on, so that nothing made of it can be trusted."""
        return self._stored.broken

    @property
    def upto(self) -> int:
        """INDEX sequence of the newest edges that are in it."""
        return self._stored.upto

    def take(self, path: str, summary: Summary | None) -> None:
        """Put what was stored since over it; before anything is asked."""
        number = self._stored.number(path)
        if number is not None:
            self._stored.hidden.add(number)
        if summary is not None:
            self.replace(path, summary)

    def copy(self) -> Index:
        found = RecalledIndex(self._stored)
        found.spaces = {name: space.copy() for name, space in self.spaces.items()}
        found._recalled = self._recalled.twin()
        found.summaries = found._recalled  # type: ignore[assignment]
        return found

    def space(self, name: str) -> Space:
        found = self.spaces.get(name)
        if found is None:
            found = self.spaces[name] = _RecalledSpace(self._stored, name)
        return found

    def dependents(self, changed: set[int]) -> list[str]:
        if not changed:
            return []
        wanted = np.array(sorted(changed), "<u4")
        stored, held = self._stored, self._recalled
        hits = np.unique(stored.need_file[np.isin(stored.need, wanted)]).tolist()
        found = {
            stored.path(number)
            for number in hits
            if number not in held.gone and number not in stored.hidden
        }
        for path, summary in held.own.items():
            if np.isin(np.frombuffer(summary.needs, "<u4"), wanted).any():
                found.add(path)
        return sorted(found)
