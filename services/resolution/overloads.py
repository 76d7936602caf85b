"""Which of several callables of one name do the types of the arguments choose, as Java has it?

Arguments are as the extract writes them. What is not known of one fits everything; where more than
one callable is left then, nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from services.resolution.summary import Decl

UNKNOWN, NULL, FUNCTION = "", "null", "->"
_NUMBERS = ("byte", "short", "int", "long", "float", "double")
_BOXES = {
    "byte": "Byte", "short": "Short", "int": "Integer", "long": "Long", "float": "Float",
    "double": "Double", "char": "Character", "boolean": "Boolean",
}  # fmt: skip
_SIMPLE = frozenset({*_BOXES, "string", "String", "bool", "Int", "Long", "Double", "Boolean"})
_UNBOXES = {box: plain for plain, box in _BOXES.items()}
_ABOVE = {
    "String": frozenset({"CharSequence", "Comparable", "Serializable"}),
    "StringBuilder": frozenset({"CharSequence", "Appendable", "Comparable", "Serializable"}),
    "StringBuffer": frozenset({"CharSequence", "Appendable", "Comparable", "Serializable"}),
    "Class": frozenset({"Type", "Serializable", "AnnotatedElement", "GenericDeclaration"}),
    "Boolean": frozenset({"Comparable", "Serializable"}),
    "Character": frozenset({"Comparable", "Serializable"}),
    "Date": frozenset({"Comparable", "Serializable", "Cloneable"}),
    "Calendar": frozenset({"Comparable", "Serializable", "Cloneable"}),
    "Locale": frozenset({"Serializable", "Cloneable"}),
    "BitSet": frozenset({"Serializable", "Cloneable"}),
    "Method": frozenset({"Member", "Executable", "AnnotatedElement", "AccessibleObject"}),
    "Object": frozenset(),
    **{
        box: frozenset({"Number", "Comparable", "Serializable"})
        for box in ("Byte", "Short", "Integer", "Long", "Float", "Double")
    },
}  # fmt: skip
EXACT, FITS, BOXED, MAYBE = range(4)  # how a type fits a parameter; None when it does not

Ancestors = Callable[[str], "frozenset[str] | None"]  # simple names of all types above, if known


@lru_cache(maxsize=16_384)
def plain(text: str) -> str:
    """Return a written type without its arguments and package: `byte[]`, `Map`."""
    text = "".join(text.replace("final ", "").split())
    while "<" in text:
        start = text.index("<")
        depth, at = 0, start
        for at in range(start, len(text)):
            depth += (text[at] == "<") - (text[at] == ">")
            if depth == 0:
                break
        text = text[:start] + text[at + 1 :]
    return text.replace("...", "[]").rpartition(".")[2]


def parameters(decl: Decl) -> list[str]:
    """Return the plain types of a callable's parameters."""
    inner = decl.suffix[1:-1]
    return [plain(part) for part in inner.split(",")] if inner else []


def exactly(decl: Decl, given: list[str]) -> bool:
    """Are the parameters what is given, to the letter?"""
    return parameters(decl) == given


def differ(one: Decl, own: str) -> bool:
    """Do parameters, as in a symbol id's list, differ so that one cannot override the other?"""
    mine, others = own.strip("()").split(","), one.suffix[1:-1].split(",")
    return any(a != b and a in _SIMPLE and b in _SIMPLE for a, b in zip(mine, others, strict=False))


def pick(decls: tuple[Decl, ...], given: list[str], ancestors: Ancestors) -> tuple[Decl, ...]:
    """Return the callables that arguments of these types may mean: one, when they tell."""
    fits = []
    for decl in decls:
        found = _fit(decl, given, ancestors)
        if found is not None:
            fits.append((decl, *found))
    if not fits:
        return decls
    least = min(phase for _, phase, _ in fits)
    sure = [entry for entry in fits if MAYBE not in entry[2]]
    if UNKNOWN in given or not sure:
        return tuple(entry[0] for entry in fits)
    first = [entry for entry in fits if entry[1] == least]
    exact = [entry for entry in first if set(entry[2]) <= {EXACT}]
    if len(exact) == 1:
        return (exact[0][0],)
    best = [
        entry for entry in first
        if entry in sure and all(_narrower(entry[0], other[0], ancestors) for other in first)
    ]  # fmt: skip
    return (best[0][0],) if len(best) == 1 else tuple(entry[0] for entry in first)


def _fit(decl: Decl, given: list[str], ancestors: Ancestors) -> tuple[int, list[int]] | None:
    """Return in which phase of the language's search a callable takes arguments, and how each fits."""
    wanted = parameters(decl)
    if len(wanted) == len(given):
        fits = [_fits(one, to, decl, ancestors) for one, to in zip(given, wanted, strict=True)]
        known = [fit for fit in fits if fit is not None]
        if len(known) == len(fits):
            return (1 if BOXED in known else 0), known
    if "variadic" in decl.modifiers and wanted:
        each = wanted[-1].removesuffix("[]")
        spread = wanted[:-1] + [each] * (len(given) - len(wanted) + 1)
        fits = [_fits(one, to, decl, ancestors) for one, to in zip(given, spread, strict=False)]
        known = [fit for fit in fits if fit is not None]
        if len(known) == len(fits):
            return 2, known
    return None


def _fits(given: str, wanted: str, decl: Decl, ancestors: Ancestors) -> int | None:  # noqa: PLR0911 - the language's cases
    if given in (UNKNOWN, wanted):
        return EXACT if given else FITS
    is_plain = wanted in _BOXES
    if given == NULL:
        return None if is_plain else FITS
    if given == FUNCTION:
        simple = is_plain or wanted.endswith("[]") or wanted in ("String", "Class")
        return None if simple else FITS
    if given in _BOXES:
        if is_plain:
            return FITS if _widens(given, wanted) else None
        above = _ABOVE[_BOXES[given]] | {_BOXES[given], "Object"}
        return BOXED if wanted in above or _is_variable(wanted, decl) else None
    if is_plain:
        held = _UNBOXES.get(given)
        return BOXED if held is not None and (held == wanted or _widens(held, wanted)) else None
    if wanted == "Object" or _is_variable(wanted, decl):
        return FITS
    if given.endswith("[]") or wanted.endswith("[]"):
        if not (given.endswith("[]") and wanted.endswith("[]")):
            return FITS if wanted in ("Serializable", "Cloneable") else None
        inner, outer = given[:-2], wanted[:-2]
        if inner in _BOXES or outer in _BOXES:
            return None
        return _fits(inner, outer, decl, ancestors)
    known = _ABOVE[given] if given in _ABOVE else ancestors(given)
    if known is None:
        return None if wanted in _ABOVE or wanted in _BOXES.values() else MAYBE
    return FITS if wanted in known else None


def _widens(given: str, wanted: str) -> bool:
    if given == "char":
        return wanted in _NUMBERS[2:]
    if given not in _NUMBERS or wanted not in _NUMBERS:
        return False
    return _NUMBERS.index(given) < _NUMBERS.index(wanted)


def _is_variable(name: str, decl: Decl) -> bool:
    return name in decl.parameters or (len(name) == 1 and name.isupper())


def _narrower(one: Decl, other: Decl, ancestors: Ancestors) -> bool:
    """Could whatever the one takes be given to the other?"""
    mine, others = parameters(one), parameters(other)
    if len(mine) != len(others):
        return False
    fits = [
        _fits("Object" if _is_variable(a, one) else a, b, other, ancestors)
        for a, b in zip(mine, others, strict=True)
    ]
    return all(fit in (EXACT, FITS) for fit in fits)
