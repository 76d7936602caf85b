"""How does a process log?

structlog to stderr: an event name in snake_case and fields, never a sentence, never arguments,
bodies or tokens.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO, cast

from services.kernel import lean

with lean.without("rich", "pygments"):
    import structlog


def configure(level: str, *, as_json: bool, worker: str) -> None:
    """Set up logging once per process."""
    number = logging.getLevelNamesMapping().get(level.upper(), logging.WARNING)
    logging.basicConfig(
        stream=sys.stderr, level=max(number, logging.WARNING), format="%(name)s %(message)s"
    )
    for noisy in ("mcp", "nats", "mode", "faust", "uvicorn"):
        logging.getLogger(noisy).setLevel(
            max(number, logging.ERROR if noisy == "nats" else logging.WARNING)
        )
    renderer = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if as_json else _keep,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=cast("TextIO", StandardError())),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(worker=worker)


class StandardError:
    """Whatever is standard error when a line is written: loggers live longer than a redirection."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _keep(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return event


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(module=name)
    return logger
