"""Fixtures that every kind of test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.broker import Broker, running


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """nats-py runs on asyncio only."""
    return "asyncio"


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command under test sets up logging for its whole process."""
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    folder = tmp_path / "broker"
    folder.mkdir()
    with running(folder) as server:
        yield server
