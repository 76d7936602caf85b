"""Which settings exist, and what do they default to?

Read once in `main` and passed on; nobody else looks at the environment. A variable that starts
with REPOFOLD_ and is not a field here stops the start, so that a misspelling cannot be ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from contracts.errors import InvalidArgument

_PREFIX = "REPOFOLD_"
EmbedProvider = Literal["static", "http", "none"]
# Read by the command line and by clients, not by workers.
_ELSEWHERE = frozenset(
    {
        "REPOFOLD_TOKEN",
        "REPOFOLD_STATE",
        "REPOFOLD_BENCH_DATA",
        "REPOFOLD_MCP_TOOLS",
        "REPOFOLD_PYTHON",
    }
)


class Settings(Struct, frozen=True, kw_only=True):
    """Every setting of a worker process. Sizes are bytes, times seconds unless the name says more."""

    state_dir: str = ""  # the node's state directory
    nats_url: str = ""  # nats://[user:password@]host:port[,…]
    nats_users_file: str = ""  # {"worker": {"user": …, "password": …}}; "" = credentials of the URL
    node: str = "local"  # names this node's projector in notifications
    replicas: int = 1  # of every stream, when provisioning a cluster
    log_level: str = "warning"  # debug, info, warning, error, critical
    log_json: bool = False  # log lines as JSON objects
    watch: bool = True  # follow file events after the first walk
    watch_debounce_ms: int = 40
    max_file_bytes: int = 1_000_000  # larger files are recorded but not extracted
    reconcile_seconds: int = 900
    reconcile_jitter_seconds: int = 300
    tick_seconds: int = 15  # between two looks of the maintainer at each repository
    full_walk_seconds: int = 3600  # a tree whose file events come goes no longer without a walk
    gap_scan_seconds: int = 1200  # between two looks for records that lack what is made of them
    audit_seconds: int = 86_400  # between two runs that hash every file again
    history_commits: int = 5000  # newest commits that search learns from; 0 = none
    pacing: bool = True  # indexing gives way to questions and backs off from what is congested
    embed_provider: EmbedProvider = "static"  # static, http, none (records wait, no vectors)
    embed_url: str = ""  # OpenAI-compatible base URL, e.g. http://127.0.0.1:11434/v1
    embed_model: str = ""  # the endpoint's name of it
    embed_dimension: int = 0  # 0 = ask the endpoint
    embed_api_key_file: str = ""  # file that holds the bearer key of the endpoint
    embed_timeout_seconds: float = 30.0
    embed_batch: int = 64  # texts per request
    semantic_retrieval: str = "approximate"  # approximate, exact; anything else = approximate
    ann_threshold_vectors: int = 60_000  # exact scan below, an index of codes from here on
    ann_sweep_seconds: int = 900
    exact_scan_vectors: int = 4_000_000  # more are not scanned for want of an index; 0 = all
    cache_bytes: int = 2 << 30  # of each extract and vector cache; oldest half dropped beyond
    codemap_cache_dir: str = (
        ""  # folder where machines share baselines; CODEMAP_CACHE_DIR names it too
    )
    tokenizer: str = "o200k"  # o200k, cl100k
    workspace_roots: tuple[str, ...] = ()  # repositories below may be added; a:b
    mode: str = "single"  # single, workspace: with tools to list, add and remove repositories
    read_only: bool = False  # offer no tool that changes anything
    profile: str = (
        ""  # tools to list: full (default), agent (default of stdio), read, memory, codemap
    )
    host: str = "127.0.0.1"  # address of the MCP endpoint
    port: int = 8765  # of the MCP endpoint; 0 = any free one
    allowed_hosts: tuple[str, ...] = ()  # Host headers taken besides the address's; a:b
    results: str = "both"  # both, text, structured
    drain_seconds: float = 20.0  # time for what is in hand when a worker is stopped
    max_lease_seconds: int = 300  # longest claim on a note; 30 to 7200
    memory_default_ttl: tuple[str, ...] = ()  # life of new notes: repo=seconds, *=seconds
    memory_archive_dir: str = ""  # directory that memory is exported to; none = no archive
    memory_archive_seconds: int = 300  # between two exports; at least 30
    memory_archive_restore: str = "auto"  # auto (into an empty log only), always, off
    memory_archive_stop_seconds: float = 20.0  # for the last export at a stop; 1 to 60

    @property
    def state(self) -> Path:
        return Path(self.state_dir)

    @property
    def projections(self) -> Path:
        return self.state / "projections"

    @property
    def longest_lease_seconds(self) -> int:
        return min(max(self.max_lease_seconds, 30), 7200)


def from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Read REPOFOLD_* variables; raises InvalidArgument naming the variable that is unknown or unreadable."""
    source = os.environ if environ is None else environ
    raw: dict[str, object] = {}
    fields = {field.name: field for field in msgspec.structs.fields(Settings)}
    if shared := source.get(
        "CODEMAP_CACHE_DIR", ""
    ):  # under the name that other servers know it by
        raw["codemap_cache_dir"] = shared
    for variable, value in source.items():
        if not variable.startswith(_PREFIX) or variable in _ELSEWHERE:
            continue
        name = variable.removeprefix(_PREFIX).lower()
        if name not in fields:
            raise InvalidArgument(
                f"unknown setting {variable}",
                hint="settings are listed in docs/reference/settings.md",
            )
        raw[name] = _split(value) if fields[name].type == tuple[str, ...] else value
    try:
        return msgspec.convert(raw, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgument(
            f"unreadable setting: {error}", hint="see docs/reference/settings.md"
        ) from None


def to_environment(settings: Settings) -> dict[str, str]:
    """The variables that give `settings` back; for the processes that a node starts."""
    environ: dict[str, str] = {}
    for field in msgspec.structs.fields(Settings):
        value = getattr(settings, field.name)
        if value == field.default:
            continue
        if isinstance(value, tuple):
            text = json.dumps(list(value))
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
        environ[_PREFIX + field.name.upper()] = text
    return environ


def _split(value: str) -> tuple[str, ...]:
    if value.startswith("["):
        return tuple(str(item) for item in json.loads(value))
    return tuple(part for part in value.split(os.pathsep) if part)
