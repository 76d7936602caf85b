"""What is a program's surface, once the facts of all its files are put together?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from contracts.extract import Fact


class FileFacts(NamedTuple):
    """One file as `compose` takes it. Files without facts belong in, too: imports find them."""

    path: str
    language: str
    facts: tuple[Fact, ...]
    is_test: bool | None = None  # what only tests declare is no surface; None: by its path


class Place(NamedTuple):
    """A symbol by its file and its index in `Body.symbols`; -1 is the module."""

    path: str
    symbol: int


class Endpoint(NamedTuple):
    """One HTTP method at one path; a router mounted twice gives two of each."""

    http_method: str  # upper case; ANY when every method is taken, PAGE for a rendered page
    route_path: str  # with leading slash; `{?}` for a part that nothing tells
    handler: Place
    path: str  # where the route is declared, which need not be the handler's file
    line: int
    confidence: str  # high, medium, low
    framework: str


class ConfigKey(NamedTuple):
    """One use of one key."""

    key: str
    used_by: Place
    line: int
    usage_pattern: str
    confidence: str


class DbTable(NamedTuple):
    """One table; everything that names it."""

    table: str
    schema: str  # "" for none
    entity: Place | None  # what declares the table: a model class, or the property exposing it
    path: str  # of the entity, else of the first use
    line: int
    referenced_by: tuple[Place, ...]  # in order of path and symbol
    confidence: str  # the worst of its facts


class SymbolFact(NamedTuple):
    """A fact with its holes filled, as cards and traces show it."""

    kind: str  # one of contracts.extract.FACT_KINDS
    value: str  # "display|metadata"
    line: int
    confidence: str
    detail: str


class Surfaces(NamedTuple):
    """Everything, in order of path and line; tables by schema and name."""

    endpoints: tuple[Endpoint, ...]
    config_keys: tuple[ConfigKey, ...]
    tables: tuple[DbTable, ...]
    facts_by_symbol: Mapping[Place, tuple[SymbolFact, ...]]
