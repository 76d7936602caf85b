"""Of which type is an argument, in the words of its declaration?"""

from __future__ import annotations

from services.resolution.engine import Engine
from services.resolution.expressions import CALL, INDEX, TYPE_CLOSE, TYPE_OPEN, Chain
from services.resolution.overload_rules import plain, rules_of
from services.resolution.overloads import UNKNOWN
from services.resolution.scopes import CALLABLE
from services.resolution.summary import TYPE_LIKE, VALUES, Decl
from services.resolution.values import Found


class ArgumentTypes:
    """Types as seen from one place."""

    def __init__(self, engine: Engine, path: str, context: str, language: str = "java") -> None:
        self.engine, self.path, self.context, self.language = engine, path, context, language

    def element(self, told: str, depth: int) -> str:
        """Return a written type, or what is that deep in arrays of it."""
        if not told.startswith(TYPE_OPEN):
            called = told.endswith(CALL) and told[:-2].replace(".", "").isalnum()
            made = called and told[:-2].rpartition(".")[2][:1].isupper()
            return plain(told[:-2], self.language) if made and depth == 0 else UNKNOWN
        text = plain(told.strip(TYPE_OPEN + TYPE_CLOSE), self.language)
        for _ in range(depth):
            if not text.endswith("[]"):
                return UNKNOWN
            text = text[:-2]
        return UNKNOWN if len(text) == 1 else text

    def of(self, found: Found, steps: Chain) -> str:
        """Return the type of what was looked up, called and indexed."""
        if not found.decls:
            return UNKNOWN
        decl = found.decls[0]
        if decl.kind in TYPE_LIKE and steps == (CALL,):
            return decl.name
        if decl.kind == "constant" and not decl.told and not steps:
            outer, _, last = decl.container.rpartition(".")
            enums = [one for one in self.engine.decls(outer, last) if one.kind == "enum"]
            return enums[0].name if enums else UNKNOWN
        if decl.kind in VALUES and CALL not in steps:
            return self._written(decl, len(steps))
        if decl.kind in CALLABLE and steps[:1] == (CALL,) and set(steps[1:]) <= {INDEX}:
            told = {
                self._written(one, len(steps) - 1)
                for one in self.engine.decls(decl.container, decl.name)
            }
            return told.pop() if len(told) == 1 else UNKNOWN
        return UNKNOWN

    def made(self, name: str, steps: Chain) -> str:
        """Return the type that an undeclared name makes one of when it is called."""
        rules = rules_of(self.language)
        known = name in rules.above or (rules.bare and name[:1].isupper())
        return name if known and steps == (CALL,) else UNKNOWN

    def _written(self, decl: Decl, depth: int) -> str:
        text = self.element(decl.told[0], depth) if len(decl.told) == 1 else UNKNOWN
        return UNKNOWN if text in decl.parameters else text

    def ancestors(self, name: str) -> frozenset[str] | None:
        """Return the simple names of all types above one; None when some are not known."""
        found = self.engine.dotted(name, self.path, self.context)
        if not found.decls or found.decls[0].kind not in TYPE_LIKE:
            return None
        line, missing = self.engine.lineage(found.decls[0])
        names = frozenset([decl.name for decl in line])
        return None if missing else names
