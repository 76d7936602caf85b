"""Rules of this code base that no linter knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

import contracts.events as events
from contracts.subjects import DURABLES, STREAMS
from services.kernel.settings import Settings

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path
    for folder in ("contracts", "store", "services", "ops")
    for path in (ROOT / folder).rglob("*.py")
)
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base_utils", "stuff"}
SEAMS = {  # third party -> the only modules that may import it
    "nats": {
        "services/kernel/",
        "ops/",
        "services/projector/main.py",
        "services/walker/main.py",
        "services/reconciler/main.py",
        "services/query/host.py",
        "services/ann/",
        "services/embedder/",
    },
    "lmdb": {"store/env.py", "store/cache.py"},
    "faiss": {"store/ann", "ops/bench/ann.py"},
    "faust": {"services/kernel/shell.py"},
    "mcp": {
        "services/query/mcp.py",
        "services/query/http.py",
        "services/query/stdio.py",
        "services/query/main.py",
        "services/query/gates.py",
    },
    "tree_sitter": {"services/extractor/", "ops/train/"},
}


def _id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [path for path in MODULES if path.read_text().strip()], ids=_id)
def test_a_module_says_which_question_it_answers(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "no module docstring"
    assert path.stem not in VAGUE


@pytest.mark.parametrize("package", sorted(SEAMS))
def test_a_third_party_seam_has_one_importer(package: str) -> None:
    allowed = SEAMS[package]
    for path in MODULES:
        name = _id(path)
        if any(name.startswith(prefix) for prefix in allowed):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                imported.append(node.module)
            assert not any(module.split(".")[0] == package for module in imported), (
                f"{name} imports {package}"
            )


def test_every_event_is_frozen_documented_and_tagged_once() -> None:
    unions = (
        events.AnyLogEvent,
        events.AnyIndexEvent,
        events.AnyJob,
        events.AnyCommand,
        events.AnyProgress,
    )
    tags: list[str] = []
    for union in unions:
        for kind in union.__args__:
            config = kind.__struct_config__
            assert config.frozen, kind
            assert kind.__doc__, kind
            assert re.fullmatch(r"[a-z]+\.[a-z_]+", str(config.tag)), kind
            tags.append(str(config.tag))
    assert len(tags) == len(set(tags))


def test_every_durable_reads_a_subject_of_its_stream() -> None:
    subjects = {stream.name: stream.subjects for stream in STREAMS}
    for durable in DURABLES:
        assert any(
            durable.subject.startswith(pattern.rstrip(">")) for pattern in subjects[durable.stream]
        )


@pytest.mark.parametrize(
    "worker",
    [
        "walker",
        "reconciler",
        "extractor",
        "embedder",
        "ann",
        "memory",
        "resolver",
        "projector",
        "query",
    ],
)
def test_a_worker_says_what_it_takes_and_gives(worker: str) -> None:
    docstring = (
        ast.get_docstring(ast.parse((ROOT / "services" / worker / "main.py").read_text())) or ""
    )
    assert re.search(r"^(consumes|reads|follows) ", docstring, re.MULTILINE)
    assert re.search(r"^produces ", docstring, re.MULTILINE)


def test_the_environment_is_read_in_one_place_per_process() -> None:
    for path in MODULES:
        name = _id(path)
        if name.startswith("ops/") or name == "services/kernel/settings.py":
            continue
        assert "os.environ" not in path.read_text(), f"{name} reads the environment"


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    for field in msgspec.structs.fields(Settings):
        assert f"`REPOFOLD_{field.name.upper()}`" in text, field.name


def test_nothing_names_a_path_of_the_machine_it_was_written_on() -> None:
    for path in [*MODULES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text()
        assert "/work/" not in text, _id(path)
        assert "/root/" not in text, _id(path)
