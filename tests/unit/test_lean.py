"""What is left out of imports, and what stays as it is for those who want it."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from services.kernel import lean

_ROOT = Path(__file__).parents[2]


def _printed(program: str) -> str:
    """What a program prints in an interpreter of its own, where nothing is imported yet."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=_ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.strip()


def _package(folder: Path, name: str) -> None:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("LOADED = True\nfrom . import heavy\n")
    (package / "heavy.py").write_text("WEIGHT = 7\n")
    (package / "light.py").write_text("WEIGHT = 1\n")


def test_a_hollow_package_has_every_name_inside_the_block_and_is_itself_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _package(tmp_path, "rf_hollow_sample")
    monkeypatch.syspath_prepend(str(tmp_path))

    with lean.hollow("rf_hollow_sample"):
        from rf_hollow_sample.anything.below import Thing  # type: ignore[import-not-found]

    import rf_hollow_sample  # type: ignore[import-not-found]

    assert isinstance(Thing, type)
    assert rf_hollow_sample.LOADED
    assert not hasattr(rf_hollow_sample, "anything")


def test_what_is_loaded_already_is_not_hollow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _package(tmp_path, "rf_loaded_sample")
    monkeypatch.syspath_prepend(str(tmp_path))
    import rf_loaded_sample  # type: ignore[import-not-found]

    with lean.hollow("rf_loaded_sample"):
        from rf_loaded_sample.light import WEIGHT  # type: ignore[import-not-found]

    assert WEIGHT == 1
    assert sys.modules["rf_loaded_sample"] is rf_loaded_sample


def test_a_package_in_parts_runs_its_own_code_only_when_its_own_names_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _package(tmp_path, "rf_parts_sample")
    monkeypatch.syspath_prepend(str(tmp_path))
    lean.in_parts("rf_parts_sample")

    from rf_parts_sample.light import WEIGHT  # type: ignore[import-not-found]

    assert WEIGHT == 1
    assert "rf_parts_sample.heavy" not in sys.modules

    from rf_parts_sample import LOADED  # type: ignore[import-not-found]

    assert LOADED
    assert sys.modules["rf_parts_sample.heavy"].WEIGHT == 7
    with pytest.raises(ImportError):
        from rf_parts_sample import MISSING  # noqa: F401


def test_collection_is_put_off_and_comes_back() -> None:
    with lean.uncollected():
        assert not gc.isenabled()
        with lean.uncollected():
            pass
        assert not gc.isenabled()

    assert gc.isenabled()


def test_workers_start_without_clients_of_kafka_and_http() -> None:
    program = """
        import asyncio, sys
        from ops.node import supervisor, workers
        from services.kernel import shell
        from services.kernel.settings import Settings

        workers.preload_query()
        asyncio.run(workers.preload_pipeline())
        before = set(sys.modules)
        shell.WorkerApp(Settings(), {}).conf
        unused = {"aiohttp", "aiokafka", "yaml", "rich"}
        print(sorted(unused & set(sys.modules)), sorted(set(sys.modules) - before))
    """

    assert _printed(program) == "[] []"


def test_the_query_service_starts_without_the_clients_of_mcp() -> None:
    program = """
        import sys
        from services.query import http, main, serve, stdio

        unused = {"mcp.client", "mcp.server.mcpserver", "httpx", "httpx2", "cryptography", "aiohttp"}
        print(sorted(unused & set(sys.modules)))
        from mcp import ClientSession
        print(ClientSession.__name__)
    """

    assert _printed(program).split("\n") == ["[]", "ClientSession"]
