"""What is declared in a repository, by the names it can be asked for?

A space holds the facts of one family of languages under keys of two names. Copying one is cheap: a
copy shares what is inside until either side changes it.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from services.resolution.families import family_of
from services.resolution.summary import (
    FILE,
    PROJECT_CONTAINERS,
    Decl,
    Fact,
    Facts,
    Summary,
    facts_of,
)

Key = tuple[str, str]
PROJECT = "project"  # the space of package and compiler settings, which all families read
_MOST_STARTS = 20_000  # containers of a space, some 3 MB
_NOTHING: Mapping[str, tuple[Fact, ...]] = {}


class Space:
    """Facts by container, then by name."""

    def __init__(self) -> None:
        self.members: dict[str, dict[str, tuple[Fact, ...]]] = {}
        self._own: set[str] | None = None  # containers that no copy shares; None for all

    def copy(self) -> Space:
        """Return an equal space that can change without changing this one."""
        found = Space()
        found.members = dict(self.members)
        found._own = set()
        self._own = set()
        return found

    def facts(self, key: Key) -> tuple[Fact, ...]:
        return self.members.get(key[0], _NOTHING).get(key[1], ())

    def replace(self, path: str, before: Facts, after: Facts) -> set[Key]:
        """Take out one file's facts and put in others; return the keys that now answer differently."""
        changed = set()
        for key in before.keys() | after.keys():
            old, new = before.get(key, ()), after.get(key, ())
            if old == new:
                continue
            seen = self.facts(key)
            kept = tuple(fact for fact in seen if fact.path != path) if old else seen
            now = _with(kept, new)
            self._put(key, now)
            if not (_packages(seen, now) and _same_packages(kept, old, new)):
                changed.add(key)
        return changed

    def _put(self, key: Key, facts: tuple[Fact, ...]) -> None:
        container, name = key
        inner = self.members.get(container)
        if inner is None:
            if facts:
                self.members[container] = {name: facts}
                if self._own is not None:
                    self._own.add(container)
            return
        if self._own is not None and container not in self._own:
            inner = self.members[container] = dict(inner)
            self._own.add(container)
        if facts:
            inner[name] = facts
        else:
            inner.pop(name, None)
            if not inner:
                del self.members[container]


def _path_of(fact: Fact) -> str:
    return fact.path


def _with(kept: tuple[Fact, ...], new: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Put one file's facts among those of others, in order of paths."""
    if not kept or not new:
        return kept + new
    at = bisect.bisect_right(kept, new[0].path, key=_path_of)
    return kept[:at] + new + kept[at:]


def _packages(seen: tuple[Fact, ...], now: tuple[Fact, ...]) -> bool:
    """Do both stand for packages? Of their files only that there are some counts, not which."""
    return all(
        bool(facts) and isinstance(facts[0], Decl) and facts[0].kind == FILE and facts[0].shared
        for facts in (seen, now)
    )


def _same_packages(kept: tuple[Fact, ...], old: tuple[Fact, ...], new: tuple[Fact, ...]) -> bool:
    """Is every package that came or went there by another file as well?"""
    return all(
        any(_package(fact) == apart for fact in kept)
        for apart in {*map(_package, old)} ^ {*map(_package, new)}
    )


def _package(fact: Fact) -> tuple[str, str]:
    return (fact.name, fact.container) if isinstance(fact, Decl) else ("", "")


class Index:
    """The facts of all files of one manifest."""

    def __init__(self) -> None:
        self.spaces: dict[str, Space] = {}
        self.summaries: dict[str, Summary] = {}

    def copy(self) -> Index:
        found = Index()
        found.spaces = {name: space.copy() for name, space in self.spaces.items()}
        found.summaries = dict(self.summaries)
        return found

    def space(self, name: str) -> Space:
        return self.spaces.setdefault(name, Space())

    def replace(self, path: str, summary: Summary | None) -> set[int]:
        """Let a file have another summary, or none; return hashes of the keys that changed."""
        before = self.summaries.pop(path, None)
        if summary is not None:
            self.summaries[path] = summary
        old, new = _space_of(before), _space_of(summary)
        changed: set[int] = set()
        for name in {old, new}:
            facts_before = facts_of(path, before) if before is not None and name == old else {}
            facts_after = facts_of(path, summary) if summary is not None and name == new else {}
            keys = self.space(name).replace(path, facts_before, facts_after)
            changed.update(hashes(name, keys))
        return changed

    def fill(self, summaries: Iterable[tuple[str, Summary]]) -> None:
        """Take in the files of an empty index, in any order, as `replace` would one by one."""
        several: dict[tuple[str, Key], list[Fact]] = {}  # facts of several files under one key
        same: dict[Any, Any] = {}  # what many facts hold alike is kept once
        for path, summary in summaries:
            self.summaries[path] = summary
            for decl in summary.decls:
                decl.container = same.setdefault(decl.container, decl.container)
                decl.name = same.setdefault(decl.name, decl.name)
                decl.context = same.setdefault(decl.context, decl.context)
                decl.told = same.setdefault(decl.told, decl.told)
                decl.modifiers = same.setdefault(decl.modifiers, decl.modifiers)
            name = _space_of(summary)
            members = self.space(name).members
            for key, facts in facts_of(path, summary).items():
                inner = members.get(key[0])
                if inner is None:
                    members[key[0]] = {key[1]: facts}
                elif (known := inner.get(key[1])) is None:
                    inner[key[1]] = facts
                else:
                    several.setdefault((name, key), [*known]).extend(facts)
        for (name, (container, inside)), gathered in several.items():
            gathered.sort(key=_path_of)
            self.spaces[name].members[container][inside] = tuple(gathered)

    def dependents(self, changed: set[int]) -> list[str]:
        """Return the files that asked for any of the changed keys, in order."""
        if not changed:
            return []
        paths = sorted(self.summaries)
        needs = [np.frombuffer(self.summaries[path].needs, "<u4") for path in paths]
        sizes = [len(each) for each in needs]
        wanted = np.array(sorted(changed), "<u4")
        hits = _contained(np.concatenate(needs) if needs else wanted[:0], wanted)
        owners = np.repeat(np.arange(len(paths)), sizes)[hits]
        return [paths[number] for number in np.unique(owners).tolist()]


def _contained(
    values: npt.NDArray[np.uint32], wanted: npt.NDArray[np.uint32]
) -> npt.NDArray[np.bool_]:
    at = np.searchsorted(wanted, values)
    at[at == len(wanted)] = 0
    return np.asarray(wanted[at] == values)


def _space_of(summary: Summary | None) -> str:
    family = family_of(summary.language) if summary is not None else None
    return family.name if family is not None else PROJECT


class _Starts(dict[str, int]):
    """What the hash of a key of one space is after its container."""

    def __init__(self, space: str) -> None:
        super().__init__()
        self._space = crc32(space.encode())

    def __missing__(self, container: str) -> int:
        if len(self) >= _MOST_STARTS:
            self.clear()
        start = 0 if container in PROJECT_CONTAINERS else self._space
        found = self[container] = crc32(f"{container}\0".encode(), start)
        return found


_starts: dict[str, _Starts] = {}


def hashes(space: str, keys: Iterable[Key]) -> list[int]:
    """Return what stands for keys in a summary's needs; two keys may share one."""
    starts = _starts.get(space)
    if starts is None:
        starts = _starts[space] = _Starts(space)
    return [crc32(name.encode(), starts[container]) for container, name in keys]


def packed(space: str, keys: Iterable[Key]) -> bytes:
    """Return the needs of a file that asked for these keys."""
    found = sorted(set(hashes(space, keys)))
    return struct.pack(f"<{len(found)}I", *found)
