"""How long does a note live when nobody says?"""

from __future__ import annotations

from services.kernel.settings import Settings

INVALID = -1  # a policy that is none: the worker refuses to create under it


def default_ttl_ms(settings: Settings, repo_id: str) -> int:
    """The repository's default lifetime; 0: for ever; INVALID when the setting cannot be read.

    The setting holds `repository=seconds` entries; `*` stands for every other repository.
    """
    wanted: dict[str, str] = {}
    for entry in settings.memory_default_ttl:
        name, equals, seconds = entry.rpartition("=")
        if not equals:
            return INVALID
        wanted[name.strip()] = seconds.strip()
    text = wanted.get(repo_id, wanted.get("*", ""))
    if not text:
        return 0
    return int(text) * 1000 if text.isdecimal() and int(text) > 0 else INVALID
