"""How are facts asked for and answers remembered, so that what an answer depends on is known?

Every question notes the keys it asked for, answers from memory included: they are what the answer
depends on. An answer that ran into itself depends on where the circle was entered: it is kept for
the file at hand only, so that no file's edges depend on which files came before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from services.resolution.families import Family
from services.resolution.index import PROJECT, Index, Key
from services.resolution.summary import ABOVE, PACKAGES, SETTINGS, Decl, Fact, ImportFact

_MOST_ANSWERS = 150_000  # kept, some 100 MB
_UNTAINTED = 1 << 30  # deeper than any question


class Needs:
    """The keys that an answer was read from, and the needs of the answers it was made from."""

    __slots__ = ("keys", "others")

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.others: list[Needs] = []

    def all_keys(self) -> set[Key]:
        found: set[Key] = set()
        seen, pending = {self}, [self]
        while pending:
            one = pending.pop()
            found.update(one.keys)
            for other in one.others:
                if other not in seen:
                    seen.add(other)
                    pending.append(other)
        return found


class Answers:
    """The facts of one family of languages, and what was made out of them."""

    def __init__(self, index: Index, family: Family) -> None:
        self.index = index
        self.family = family
        self.members = index.space(family.name).members
        self.project = index.space(PROJECT)
        self.needs = Needs()
        self._memory: dict[Any, tuple[Any, Needs]] = {}
        self._own_memory: dict[Any, tuple[Any, Needs]] = {}  # answers that ran into themselves
        self._busy: dict[Any, int] = {}
        self._tainted = _UNTAINTED  # least depth of a question that its own answer ran into
        self._pure = True
        # Within one question: how deep type arguments are put into type arguments, and how often.
        self.nested = self.spent = 0

    def facts(self, container: str, name: str) -> tuple[Fact, ...]:
        self.needs.keys.append((container, name))
        inner = self.members.get(container)
        return inner.get(name, ()) if inner is not None else ()

    def decls(self, container: str, name: str) -> tuple[Decl, ...]:
        self.needs.keys.append((container, name))
        inner = self.members.get(container)
        return cast(tuple[Decl, ...], inner.get(name, ())) if inner is not None else ()

    def decls_in(self, path: str, container: str, name: str) -> tuple[Decl, ...]:
        """Return declarations of one file when files are modules, of all files otherwise."""
        found = self.decls(container, name)
        if found and self.family.filed and (len(found) > 1 or found[0].path != path):
            return tuple([decl for decl in found if decl.path == path])
        return found

    def imports(self, path: str, alias: str) -> tuple[ImportFact, ...]:
        return cast(tuple[ImportFact, ...], self.facts(f"@{path}", alias))

    def settings(self, path: str) -> tuple[Decl, ...]:
        """Return the keys of a package or compiler settings file."""
        return self.projects(SETTINGS, path)

    def projects(self, container: str, name: str) -> tuple[Decl, ...]:
        """Return facts of package and compiler settings."""
        self.needs.keys.append((container, name))
        return cast(tuple[Decl, ...], self.project.facts((container, name)))

    def is_package(self, name: str) -> bool:
        return bool(self.facts(PACKAGES, name))

    def holds_packages(self, name: str) -> bool:
        """Is it a package, or the beginning of the name of one?"""
        return bool(self.facts(PACKAGES, name)) or bool(self.facts(ABOVE, name))

    def remembered(self, question: Any, answer: Callable[[], Any], unknown: Any = None) -> Any:
        """Return an answer from memory or work it out; `unknown` when it is being worked out."""
        known = self._memory.get(question)
        if known is None:
            known = self._own_memory.get(question)
            self._pure = self._pure and known is None
        if known is not None:
            self.needs.others.append(known[1])
            return known[0]
        busy = self._busy
        if question in busy:
            self._tainted, self._pure = min(self._tainted, busy[question]), False
            return unknown
        outer_needs, outer_taint, outer_pure = self.needs, self._tainted, self._pure
        outer_effort = self.nested, self.spent
        self.nested = self.spent = 0
        depth = busy[question] = len(busy)
        self.needs, self._tainted, self._pure = Needs(), _UNTAINTED, True
        try:
            found = answer()
            if not self.needs.keys and len(self.needs.others) == 1:
                self.needs = self.needs.others[0]  # nothing of its own
            if self._pure:
                self._memory[question] = (found, self.needs)
            elif self._tainted >= depth:
                self._own_memory[question] = (found, self.needs)
                self._tainted = _UNTAINTED
        finally:
            del busy[question]
            outer_needs.others.append(self.needs)
            self.needs = outer_needs
            self.nested, self.spent = outer_effort
            self._tainted = min(self._tainted, outer_taint)
            self._pure = self._pure and outer_pure
        return found

    def begin(self) -> Needs:
        """Start on another file; return what will hold the keys it asks for."""
        self._own_memory = {}
        if len(self._memory) > _MOST_ANSWERS:
            self._memory = {}
        self.needs = Needs()
        return self.needs

    def forget(self) -> None:
        """Let go of answers: the facts have changed."""
        self._memory = {}
        self._own_memory = {}
