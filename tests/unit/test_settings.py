"""Settings are read from the environment, and what cannot be read stops the start."""

from __future__ import annotations

import pytest

from contracts.errors import InvalidArgument
from services.kernel.settings import Settings, from_environment, to_environment


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("REPOFOLD_EMBED_PROVIDR", "http", "unknown setting REPOFOLD_EMBED_PROVIDR"),
        ("REPOFOLD_EMBED_PROVIDER", "zzz", r"'zzz' - at `\$\.embed_provider`"),
        ("REPOFOLD_WATCH_DEBOUNCE_MS", "soon", r"watch_debounce_ms"),
    ],
)
def test_what_cannot_be_read_stops_the_start(variable: str, value: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        from_environment({variable: value})


def test_settings_survive_the_way_through_the_environment() -> None:
    settings = Settings(
        embed_provider="http", watch=False, workspace_roots=("/a b", "/c:d"), drain_seconds=1.5
    )

    assert from_environment(to_environment(settings)) == settings
