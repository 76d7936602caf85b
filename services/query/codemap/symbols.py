"""Which symbol does a caller mean, and how is it shown?"""

from __future__ import annotations

from contracts.errors import Ambiguous
from contracts.extract import Symbol as Declared
from contracts.tools.codemap import Confidence
from services.query.codemap.desk import Case
from services.query.codemap.views import MapView, Symbol, missing

_LISTED = 5
_LETTERS = "TMPFE"
NO_DECLARATION = Declared("", "", "", "", 0, 0, 0, 0)


def meant(case: Case, text: str) -> Symbol:
    """The symbol of an id, a stable id, or a name that only one has.

    Raises NotFound, or Ambiguous with up to five that a name may mean.
    """
    view, name = case.map, text.strip()
    head, bracket, parameters = name.partition("(")
    name = head + bracket + "".join(parameters.split())  # an id's parameter list has no blanks
    found = view.by_stable(name) if name.startswith("sym_") else view.by_id(name)
    if found:
        return found[0]
    if len(name) > 2 and name[1] == ":" and name[0] in _LETTERS:
        bare = name.partition("(")[0]  # the id of an overload without its parameters
        alike = _distinct(view, [s for s in view.named(_simple(bare)) if _bare(view.id(s)) == bare])
    else:
        alike = _distinct(view, _fitting(view, name))
    if len(alike) == 1:
        return alike[0]
    if alike:
        listed = ", ".join(view.id(symbol) for symbol in alike[:_LISTED])
        raise Ambiguous(
            f"{name[:120]!r} means {len(alike)} symbols, among them {listed}",
            hint="give one of these ids",
            candidates=listed,
        )
    raise missing(name)


def _fitting(view: MapView, name: str) -> list[Symbol]:
    """Symbols whose full name is this one or ends in it."""
    found = view.named(_simple(name))
    qualified = name.replace("::", ".").replace("#", ".")
    exact = [symbol for symbol in found if _full(view.id(symbol)) == qualified]
    return exact or [
        symbol for symbol in found if f".{_full(view.id(symbol))}".endswith(f".{qualified}")
    ]


def _distinct(view: MapView, symbols: list[Symbol]) -> list[Symbol]:
    first: dict[str, Symbol] = {}
    for symbol in symbols:
        first.setdefault(view.id(symbol), symbol)
    return list(first.values())


def _simple(name: str) -> str:
    return name.replace("::", ".").replace("#", ".").rpartition(".")[2].rpartition(":")[2]


def _bare(symbol_id: str) -> str:
    return symbol_id.partition("(")[0]


def _full(symbol_id: str) -> str:
    return _bare(symbol_id)[2:]


def declared(view: MapView, symbol: Symbol) -> Declared:
    """The symbol as its file's extract has it; blank while the live file is being replaced."""
    body = view.files.body(view.path(symbol))
    index = view.index(symbol)
    if body is None or index >= len(body.symbols):
        return NO_DECLARATION
    return body.symbols[index]


def full_name(symbol_id: str) -> str:
    """The name without the letter; parameters stay, so that overloads keep apart."""
    return symbol_id[2:]


def display_name(view: MapView, symbol: Symbol) -> str:
    """The name with that of the type around it."""
    parts = _full(view.id(symbol)).split(".")
    return ".".join(parts[-2:]) if view.kind(symbol) in _MEMBERS else parts[-1]


_MEMBERS = frozenset({"method", "property", "field", "constructor", "event", "indexer", "operator"})


def containing_type(view: MapView, symbol: Symbol) -> str | None:
    """Simple name of the type around a symbol."""
    around = surrounding_type(view, symbol)
    return None if around is None else view.name(around)


def surrounding_type(view: MapView, symbol: Symbol) -> Symbol | None:
    """The innermost type around a symbol."""
    segment = view.layers[symbol.layer].segment
    parent = int(segment.parent[symbol.number])
    start = int(segment.symbol_start[symbol.file])
    while parent >= 0:
        around = Symbol(symbol.layer, symbol.file, start + parent)
        if view.id(around).startswith("T:"):
            return around
        parent = int(segment.parent[around.number])
    return None


def namespace_of(view: MapView, symbol: Symbol) -> str:
    """The dotted name in front of the outermost symbol around this one."""
    segment = view.layers[symbol.layer].segment
    start, number = int(segment.symbol_start[symbol.file]), symbol.number
    while int(segment.parent[number]) >= 0:
        number = start + int(segment.parent[number])
    return _full(segment.ids[number]).rpartition(".")[0]


def confidence_of(view: MapView, symbol: Symbol) -> Confidence:
    """High where the file was read without an error, low where it was not."""
    segment = view.layers[symbol.layer].segment
    return "high" if int(segment.quality[symbol.file]) == 2 else "low"
