"""Which symbol does a caller mean, and how is it shown?"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.errors import Ambiguous
from contracts.extract import Body
from contracts.extract import Symbol as Declared
from contracts.tools.codemap import Confidence
from services.query.codemap.desk import Case
from services.query.codemap.views import MapView, Symbol, missing

_LISTED = 5
_WEIGHED = 8  # declarations of one thing that are read to find the one with the code
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
        return definition(view, found)
    if len(name) > 2 and name[1] == ":" and name[0] in _LETTERS:
        bare = name.partition("(")[0]  # the id of an overload without its parameters
        alike = _distinct(view, [s for s in view.named(_simple(bare)) if _bare(view.id(s)) == bare])
    else:
        alike = _distinct(view, _fitting(view, name))
    if len(alike) == 1:
        return definition(view, view.declarations(alike[0]))
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
    return _declared(view.files.body(view.path(symbol)), view.index(symbol))


def _declared(body: Body | None, index: int) -> Declared:
    if body is None or index >= len(body.symbols):
        return NO_DECLARATION
    return body.symbols[index]


def definition(view: MapView, declarations: Sequence[Symbol]) -> Symbol:
    """Which of several declarations of one thing holds its code; of a property the first.

    The others are prototypes, forward declarations, or signatures of overloads.
    """
    first = declarations[0]
    if len(declarations) == 1 or view.id(first).startswith("P:"):
        return first
    return max(declarations[:_WEIGHED], key=lambda one: _behind_signature(declared(view, one)))


def _behind_signature(symbol: Declared) -> int:
    return symbol.end_byte - symbol.start_byte - len(symbol.signature.encode())


def full_name(symbol_id: str) -> str:
    """The name without the letter; parameters stay, so that overloads keep apart."""
    return symbol_id[2:]


def display_name(view: MapView, symbol: Symbol) -> str:
    """The name with that of the type around it."""
    parts = _full(view.id(symbol)).split(".")
    return ".".join(parts[-2:]) if view.kind(symbol) in _MEMBERS else parts[-1]


_MEMBERS = frozenset({"method", "property", "field", "constructor", "event", "indexer", "operator"})


def home_of(view: MapView, symbol: Symbol) -> tuple[str, str | None]:
    """The namespace, which is in front of the outermost symbol around one, and the type around it."""
    around = _around(view, symbol)
    outermost = around[-1] if around else symbol
    inside = _innermost_type(view, around)
    namespace = _full(view.id(outermost)).rpartition(".")[0]
    return namespace, None if inside is None else view.name(inside)


def surrounding_type(view: MapView, symbol: Symbol) -> Symbol | None:
    """The innermost type around a symbol."""
    return _innermost_type(view, _around(view, symbol))


def _innermost_type(view: MapView, around: Sequence[Symbol]) -> Symbol | None:
    return next((one for one in around if view.id(one).startswith("T:")), None)


def _around(view: MapView, symbol: Symbol) -> list[Symbol]:
    """The symbols around one from the inside out, up to the first that is a namespace."""
    found: list[Symbol] = []
    around = view.parent(symbol)
    body = None if around is None else view.files.body(view.path(symbol))
    language = view.layers[symbol.layer].segment.languages[symbol.file]
    # Ruby's modules are types as well, which methods belong to.
    namespaces = ("namespace",) if language == "ruby" else ("namespace", "module")
    while around is not None and _declared(body, view.index(around)).kind not in namespaces:
        found.append(around)
        around = view.parent(around)
    return found


def confidence_of(view: MapView, symbol: Symbol) -> Confidence:
    """High where the file was read without an error, low where it was not."""
    segment = view.layers[symbol.layer].segment
    return "high" if int(segment.quality[symbol.file]) == 2 else "low"
