"""After any edits, are the edges exactly those of a fresh index, and only re-resolved where needed?"""

from __future__ import annotations

import random
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.resolution.resolver import Resolver
from tests.golden.test_resolution import CASES, read
from tests.resolution_project import Project, change_of

PROJECTS = {path.stem: read(path.read_text())[0] for path in sorted(CASES.glob("*.txt"))}
NAME = re.compile(r"[A-Za-z_]\w{2,}")


def edited(text: str, chance: random.Random) -> str:
    """Return a text with one thing changed: a name, a line gone, a line doubled, a line moved."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    kind = chance.randrange(5)
    names = sorted(set(NAME.findall(text)))
    if kind == 0 and names:
        old, new = chance.choice(names), chance.choice([*names, "renamed"])
        return re.sub(rf"\b{old}\b", new, text)
    if kind == 1 and names:
        old = chance.choice(names)
        return re.sub(rf"\b{old}\b", "fresh", text, count=1)
    if kind == 2:
        del lines[at]
    elif kind == 3:
        lines.insert(at, lines[at])
    else:
        lines.insert(0, "")
    return "\n".join(lines)


def walk(files: dict[str, str], seed: int, steps: int) -> tuple[Project, dict[str, str]]:
    """Make random edits, removals, moves and reverts, and return what there is at the end."""
    chance = random.Random(seed)
    now = dict(files)
    project = Project(now)
    for _ in range(steps):
        path = chance.choice(sorted(files))
        kind = chance.randrange(8)
        change: dict[str, str | None]
        if kind == 0:
            change = {path: None}
        elif kind == 1:
            change = {path: files[path]}
        elif kind == 2 and path in now:
            folder, _, name = path.rpartition("/")
            change = {path: None, f"{folder}/moved_{name}".lstrip("/"): now[path]}
        elif kind == 3:
            other = chance.choice(sorted(files))
            change = {p: edited(now.get(p, files[p]), chance) for p in (path, other)}
        else:
            change = {path: edited(now.get(path, files[path]), chance)}
        project.put(change)
        for changed, text in change.items():
            if text is None:
                now.pop(changed, None)
            else:
                now[changed] = text
    return project, now


def check(project: Project, files: dict[str, str]) -> None:
    fresh = Project(files)
    assert project.found.keys() == fresh.found.keys()
    for path, edges in fresh.found.items():
        assert project.found[path] == edges, path


@pytest.mark.parametrize("name", sorted(PROJECTS))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000))
def test_after_any_edits_the_edges_are_those_of_a_fresh_index(name: str, seed: int) -> None:
    check(*walk(PROJECTS[name], seed, 6))


def test_a_real_package_keeps_gains_and_loses_edges_rightly() -> None:
    check(*walk(starlette(), 7, 24))


def starlette() -> dict[str, str]:
    found = find_spec("starlette")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    return {
        f"starlette/{path.relative_to(root).as_posix()}": path.read_text()
        for path in sorted(root.rglob("*.py"))
    }


@pytest.mark.parametrize("name", ["python", "typescript", "go"])
def test_a_restarted_process_goes_on_from_summaries(name: str) -> None:
    files = PROJECTS[name]
    project = Project(files)
    again = Resolver(lambda path: project.bodies[path])
    assert again.load(project.summaries) == []
    for path in sorted(files):
        text = edited(files[path], random.Random(3))
        change = change_of(path, text)
        if change[2] is None:
            continue
        project.bodies[path] = change[2]
        kept = {p: (e, s) for p, e, s in project.resolver.apply([change])}
        assert {p: (e, s) for p, e, s in again.apply([change])} == kept


@pytest.mark.parametrize("name", ["python", "java", "typescript"])
def test_an_overlay_leaves_its_base_as_it_is(name: str) -> None:
    files = PROJECTS[name]
    base = Project(files)
    before = {p: (e, s) for p, e, s in base.resolver.resolve(sorted(base.bodies))}
    over = dict(base.bodies)
    fork = base.resolver.fork(lambda path: over[path])
    changed = {path: edited(text, random.Random(5)) for path, text in files.items()}
    changes = [change for path, text in changed.items() if (change := change_of(path, text))[2]]
    over.update({path: body for path, _, body in changes if body is not None})
    found = {path: edges for path, edges, _ in fork.apply(changes)}
    fresh = Project({**files, **changed})
    assert {path: fresh.found[path] for path in found} == found
    assert {p: (e, s) for p, e, s in base.resolver.resolve(sorted(base.bodies))} == before


def test_the_order_of_files_does_not_matter() -> None:
    for files in PROJECTS.values():
        paths = sorted(files)
        random.Random(1).shuffle(paths)
        project = Project({})
        for path in paths:
            project.put({path: files[path]})
        assert project.found == Project(files).found
