"""Which endpoints, keys and tables does a program have, and which facts belong to which symbol?

Pure: facts in, surfaces out. Bodies are asked for only where a constant, a router or a handler of
another file has to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from contracts.extract import JOIN_KINDS, Body, Fact
from services.source.languages import kind_of
from services.surfaces.constants import Program
from services.surfaces.endpoints import Endpoints
from services.surfaces.expressions import UNKNOWN
from services.surfaces.model import (
    ConfigKey,
    DbTable,
    Endpoint,
    FileFacts,
    Place,
    Surfaces,
    SymbolFact,
)

# What a file says only together with others: these kinds, and what has a hole to be filled.
MARKS = ("route", "config", "db_table", *JOIN_KINDS, "{=")
_MAPPINGS = ("|[Table]", "|ToTable")  # of entity classes, which properties expose
_RANK = {"high": 0, "medium": 1, "low": 2}
_MENTIONS = frozenset(
    {
        "raw SQL",
        "knex",
        "DB::table",
        "native query",
        "find_by_sql",
        "query builder",
        "Prisma client",
    }
)


def compose(files: Iterable[FileFacts], body_of: Callable[[str], Body | None]) -> Surfaces:
    """Join prefixes, fill holes and sort; `body_of` gives a path's body, None when it has none."""
    program = Program(
        {
            file.path: file._replace(is_test=kind_of(file.path) == "test")
            if file.is_test is None and file.facts
            else file
            for file in sorted(files, key=lambda file: file.path)
        },
        body_of,
    )
    endpoints = Endpoints(program).all()
    facts = _facts(program)
    by_symbol: dict[Place, list[SymbolFact]] = {}
    for endpoint in endpoints:
        by_symbol.setdefault(endpoint.handler, []).append(_as_fact(endpoint))
    for place, fact in facts:
        by_symbol.setdefault(place, []).append(fact)
    own = [(place, fact) for place, fact in facts if not program.files[place.path].is_test]
    return Surfaces(
        tuple(endpoints),
        tuple(_config(place, fact) for place, fact in own if fact.kind == "config"),
        _tables([(place, fact) for place, fact in own if fact.kind == "db_table"]),
        {place: in_order(found) for place, found in by_symbol.items()},
    )


def is_joined(fact: Fact) -> bool:
    """Whether other files have a part in what becomes of a fact."""
    return fact.kind in MARKS or MARKS[-1] in fact.value


def plain(fact: Fact) -> SymbolFact:
    """A fact as cards and traces show it, where no other file has a part in it."""
    return SymbolFact(fact.kind, fact.value, fact.line, fact.confidence, fact.detail)


def in_order(facts: Iterable[SymbolFact]) -> tuple[SymbolFact, ...]:
    """A symbol's facts, each once."""
    return tuple(sorted(set(facts), key=lambda fact: (fact.line, *fact)))


def _facts(program: Program) -> list[tuple[Place, SymbolFact]]:
    """Return everything but routes, holes filled; a key or table with an unknown part is none.

    What Prisma's client is asked for is a table only where a schema declares the model.
    """
    found = []
    models = {
        fact.detail for file in program.files.values()
        for fact in file.facts if fact.value.endswith("|Prisma")
    }  # fmt: skip
    for path, file in program.files.items():
        for fact in file.facts:
            if fact.kind == "route" or fact.kind in JOIN_KINDS:
                continue
            if fact.value.endswith("|Prisma client") and fact.value.partition("|")[0] not in models:
                continue  # another database, whose name only sounds like it
            value = program.filled(fact.value, path)
            if value.endswith("|Django model"):
                value = _labelled(program, path, value)
            if UNKNOWN in value and fact.kind in ("config", "db_table"):
                continue
            found.append(
                (
                    Place(path, fact.symbol),
                    SymbolFact(fact.kind, value, fact.line, fact.confidence, fact.detail),
                )
            )
    return found


def _labelled(program: Program, path: str, value: str) -> str:
    """Use the label an application's configuration gives it, where that is not its folder's name."""
    folder = path.rpartition("/")[0]
    while folder and f"{folder}/apps.py" not in program.files:
        folder = folder.rpartition("/")[0] if folder.endswith(("/models", "/db")) else ""
    where = f"{folder}/apps.py"
    label = program.filled("{=.apps:label}", f"{folder}/models.py") if folder else UNKNOWN
    default = folder.rpartition("/")[2] + "_"
    if where not in program.files or label == UNKNOWN or not value.startswith(default):
        return value
    return f"{label}_{value.removeprefix(default)}"


def _as_fact(endpoint: Endpoint) -> SymbolFact:
    return SymbolFact(
        "route", f"{endpoint.http_method} {endpoint.route_path}", endpoint.line,
        endpoint.confidence, endpoint.framework,
    )  # fmt: skip


def _config(place: Place, fact: SymbolFact) -> ConfigKey:
    key, _, pattern = fact.value.rpartition("|")
    return ConfigKey(key, place, fact.line, pattern, fact.confidence)


def _tables(facts: list[tuple[Place, SymbolFact]]) -> tuple[DbTable, ...]:
    """One row per table; a name in two spellings of case is one table.

    A set of entities (`DbSet<User>`) stands for the table its entity class is mapped to, and what
    Prisma's client calls a model for that model's.
    """
    groups: dict[str, list[tuple[Place, SymbolFact]]] = {}
    mapped = {
        fact.detail: fact.value.rpartition("|")[0]
        for _, fact in facts if fact.detail and fact.value.endswith(_MAPPINGS)
    }  # fmt: skip
    models = {
        fact.detail: fact.value.rpartition("|")[0]
        for _, fact in facts if fact.value.endswith("|Prisma")
    }  # fmt: skip
    for place, fact in facts:
        name, _, source = fact.value.rpartition("|")
        name = mapped.get(source[source.find("<") + 1 : -1], name) if source.endswith(">") else name
        name = models.get(name, name) if source == "Prisma client" else name
        shown = SymbolFact(fact.kind, f"{name}|{source}", fact.line, fact.confidence, fact.detail)
        groups.setdefault(name.lower(), []).append((place, shown))
    return tuple(_table(groups[name]) for name in sorted(groups))


def _table(facts: list[tuple[Place, SymbolFact]]) -> DbTable:
    declared = [each for each in facts if not _mentions(each[1])]
    declared.sort(
        key=lambda each: each[1].value.endswith(_MAPPINGS)
    )  # the property before the class
    place, fact = (declared or facts)[0]
    schema, _, name = fact.value.rpartition("|")[0].rpartition(".")
    entity = place if declared else None
    others = sorted({each for each, _ in facts if each != entity})
    confidence = max((each.confidence for _, each in facts), key=_RANK.__getitem__)
    return DbTable(name, schema, entity, place.path, fact.line, tuple(others), confidence)


def _mentions(fact: SymbolFact) -> bool:
    source = fact.value.rpartition("|")[2]
    return source in _MENTIONS or source.endswith("migration")
