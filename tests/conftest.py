"""Fixtures that every kind of test may use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TextIO, cast

import pytest
import structlog

from services.kernel.bus import Bus
from services.kernel.logs import StandardError
from services.kernel.provision import provision
from services.kernel.settings import Settings
from tests.broker import Broker, running


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """nats-py runs on asyncio only."""
    return "asyncio"


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command under test sets up logging for its whole process; workers beside it log to stderr."""
    to_stderr = cast("TextIO", StandardError())
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(file=to_stderr))
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    folder = tmp_path / "broker"
    folder.mkdir()
    with running(folder) as server:
        yield server


@pytest.fixture
async def bus(broker: Broker) -> AsyncIterator[Bus]:
    """A connection to a broker with its streams."""
    connected = Bus(Settings(nats_url=broker.url), "test")
    await connected.start()
    await provision(connected)
    yield connected
    await connected.stop()
