"""Which of several callables of one name do the types of the arguments choose?

Arguments are as the extract writes them. What is not known of one fits everything; where more than
one callable is left then, nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Callable

from services.resolution.overload_rules import JAVA, Rules, plain, rules_of
from services.resolution.summary import Decl

UNKNOWN, NULL, FUNCTION = "", "null", "->"
_SIMPLE = frozenset({*JAVA.boxes, "string", "String", "bool", "Int", "Long", "Double", "Boolean"})
# How a type fits a parameter; None when it does not. PROMOTED is C++'s for what is wider by itself.
EXACT, PROMOTED, FITS, BOXED, MAYBE = range(5)

Ancestors = Callable[[str], "frozenset[str] | None"]  # simple names of all types above, if known


def parameters(decl: Decl, language: str = "java") -> list[str]:
    """Return the plain types of a callable's parameters."""
    inner = decl.suffix[1:-1]
    return [plain(part, language) for part in split(inner)] if inner else []


def split(inner: str) -> list[str]:
    """Split a list of types at its commas, those in brackets left alone."""
    if "(" not in inner and "[" not in inner:
        return inner.split(",")
    found, depth, begin = [], 0, 0
    for at, char in enumerate(inner):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            found.append(inner[begin:at])
            begin = at + 1
    return [*found, inner[begin:]]


def exactly(decl: Decl, given: list[str], language: str = "java") -> bool:
    """Are the parameters what is given, to the letter?"""
    return parameters(decl, language) == given


def differ(one: Decl, own: str) -> bool:
    """Do parameters, as in a symbol id's list, differ so that one cannot override the other?"""
    mine, others = own.strip("()").split(","), one.suffix[1:-1].split(",")
    return any(a != b and a in _SIMPLE and b in _SIMPLE for a, b in zip(mine, others, strict=False))


def pick(
    decls: tuple[Decl, ...], given: list[str], ancestors: Ancestors, language: str = "java"
) -> tuple[Decl, ...]:
    """Return the callables that arguments of these types may mean: one, when they tell."""
    choice = _Choice(rules_of(language), language, ancestors)
    fits = []
    for decl in decls:
        found = choice.fit(decl, given)
        if found is not None:
            fits.append((decl, *found))
    if not fits:
        return decls
    least = min(phase for _, phase, _ in fits)
    sure = [entry for entry in fits if MAYBE not in entry[2]]
    if UNKNOWN in given or not sure:
        return tuple(entry[0] for entry in fits)
    first = [entry for entry in fits if entry[1] == least]
    for kinds in ({EXACT}, {EXACT, PROMOTED}):
        exact = [entry for entry in first if set(entry[2]) <= kinds]
        if len(exact) == 1:
            return (exact[0][0],)
        first = exact or first
    whole = [entry for entry in first if entry[0].arity == len(given)]
    first = whole or first  # what needs no default goes before what does
    best = [
        entry for entry in first
        if entry in sure and all(choice.narrower(entry[0], other[0]) for other in first)
    ]  # fmt: skip
    return (best[0][0],) if len(best) == 1 else tuple(entry[0] for entry in first)


class _Choice:
    """One choice, by a language's rules and what is known of types from one place."""

    def __init__(self, rules: Rules, language: str, ancestors: Ancestors) -> None:
        self.rules, self.language, self.ancestors = rules, language, ancestors

    def fit(self, decl: Decl, given: list[str]) -> tuple[int, list[int]] | None:
        """Return in which phase of the language's search a callable takes arguments, and how each fits."""
        wanted = parameters(decl, self.language)
        if len(wanted) >= len(given) >= len(wanted) - decl.optional:
            fits = [self.fits(one, to, decl) for one, to in zip(given, wanted, strict=False)]
            known = [fit for fit in fits if fit is not None]
            if len(known) == len(fits):
                return (1 if BOXED in known else 0), known
        if "variadic" in decl.modifiers and wanted:
            each = wanted[-1].removesuffix("[]")
            spread = wanted[:-1] + [each] * (len(given) - len(wanted) + 1)
            fits = [self.fits(one, to, decl) for one, to in zip(given, spread, strict=False)]
            known = [fit for fit in fits if fit is not None]
            if len(known) == len(fits):
                return 2, known
        return None

    def fits(self, given: str, wanted: str, decl: Decl) -> int | None:  # noqa: PLR0911 - a language's cases
        rules = self.rules
        if wanted.endswith("?"):
            if given == NULL:
                return FITS
            wanted = plain(wanted[:-1], self.language)
        given = given.rstrip("?")
        if given in (UNKNOWN, wanted):
            return EXACT if given else FITS
        is_plain = wanted in rules.boxes
        if given == NULL:
            if rules.converts:
                return FITS if wanted.endswith("*") else None if is_plain else BOXED
            return None if is_plain else FITS
        if given == FUNCTION:
            simple = is_plain or wanted.endswith("[]") or wanted in rules.texts
            return None if simple or wanted.endswith("*") else FITS
        if rules.converts:
            return self._converted(given, wanted, decl)
        if given in rules.boxes:
            if is_plain:
                return FITS if self._widens(given, wanted) else None
            box = rules.boxes[given]
            above = rules.above.get(box, frozenset()) | {box, *rules.roots}
            return BOXED if wanted in above or _is_variable(wanted, decl) else None
        if is_plain:
            held = next((one for one, box in rules.boxes.items() if box == given), None)
            return BOXED if held is not None and self._holds(held, wanted) else None
        return self._object(given, wanted, decl)

    def _holds(self, held: str, wanted: str) -> bool:
        return held == wanted or self._widens(held, wanted)

    def _object(self, given: str, wanted: str, decl: Decl) -> int | None:
        rules = self.rules
        if wanted in rules.roots or _is_variable(wanted, decl):
            return FITS
        if given.endswith("[]") or wanted.endswith("[]"):
            if not (given.endswith("[]") and wanted.endswith("[]")):
                return FITS if wanted in ("Serializable", "Cloneable", "IEnumerable") else None
            inner, outer = given[:-2], wanted[:-2]
            if inner in rules.boxes or outer in rules.boxes:
                return None
            return self.fits(inner, outer, decl)
        known = rules.above[given] if given in rules.above else self.ancestors(given)
        if known is None:
            library = wanted in rules.above or wanted in rules.boxes.values()
            return None if library else MAYBE
        return FITS if wanted in known else None

    def _converted(self, given: str, wanted: str, decl: Decl) -> int | None:  # noqa: PLR0911 - C++'s cases
        rules = self.rules
        if _is_variable(wanted.rstrip("*"), decl):
            told = given in rules.boxes or given.endswith("*") or given in rules.above
            return FITS if told or self.ancestors(given) is not None else MAYBE
        is_number, wants_number = given in rules.boxes, wanted in rules.boxes
        if is_number and wants_number:
            return PROMOTED if _PROMOTIONS.get(given) == wanted else BOXED
        if given.endswith("*"):
            if wanted == "bool":
                return PROMOTED  # goes before whatever a constructor makes
            if wants_number:
                return None
            if not wanted.endswith("*"):
                texts = given in ("char*", "wchar_t*") and wanted in rules.texts
                return FITS if texts else BOXED if wanted not in rules.above else None
            if wanted == "void*":
                return FITS
            inner, outer = given[:-1], wanted[:-1]
            if inner in rules.boxes or outer in rules.boxes or inner.endswith("*"):
                return None
            return self._object(inner, outer, decl)
        if wanted.endswith("*"):
            return None
        if is_number:
            return None if wanted in rules.above else BOXED
        if wants_number:
            return None if given in rules.above else BOXED
        found = self._object(given, wanted, decl)
        return BOXED if found is None and wanted not in rules.above else found

    def _widens(self, given: str, wanted: str) -> bool:
        numbers = self.rules.numbers
        if given == self.rules.letters:
            return wanted in numbers[self.rules.wide :]
        if given not in numbers or wanted not in numbers:
            return False
        return numbers.index(given) < numbers.index(wanted)

    def narrower(self, one: Decl, other: Decl) -> bool:
        """Could whatever the one takes be given to the other?"""
        mine, others = parameters(one, self.language), parameters(other, self.language)
        if len(mine) != len(others):
            return False
        root = next(iter(self.rules.roots), "")
        fits = [
            self.fits(root if root and _is_variable(a, one) else a.rstrip("?"), b, other)
            for a, b in zip(mine, others, strict=True)
        ]
        return all(fit in (EXACT, FITS) for fit in fits)


_PROMOTIONS = {
    "char": "int", "short": "int", "bool": "int", "signedchar": "int", "unsignedchar": "int",
    "unsignedshort": "int", "float": "double", "int8_t": "int", "uint8_t": "int", "int16_t": "int",
    "uint16_t": "int",
}  # fmt: skip


def _is_variable(name: str, decl: Decl) -> bool:
    return name in decl.parameters or (len(name) == 1 and name.isupper())
