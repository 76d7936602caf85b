"""How is a file of one language parsed, and by what bounds?

Parsing is bounded twice: by a budget of parser steps in proportion to the size, which is the same
on every machine, and by a ceiling of wall time for scanners that stall inside one step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tree_sitter import Node, Parser, Query, QueryCursor, Tree
from tree_sitter_language_pack import get_language

if TYPE_CHECKING:
    from services.extractor.reader import Draft, Reader

MAX_PARSED_BYTES = 3_000_000
CEILING_SECONDS = 10.0
_STEPS_BASE = 4_000  # parser callbacks; ordinary code needs 5 to 15 for each KiB
_BYTES_PER_STEP = 8
_LONG_LINE_BYTES = 20_000
_MAX_DEPTH = 250  # hand-written code stays below 60

Captures = dict[str, list[Node]]


class LimitReached(Exception):
    """Parsing would cost more than a file is worth."""


def _no_module(_path: str) -> str:
    return ""


def _plain_literal(raw: bytes) -> str | None:
    return raw[1:-1].decode(errors="replace")


def _as_is(data: bytes) -> bytes:
    return data


def _keep(_draft: Draft, _parent: Draft | None) -> None:
    return None


@dataclass(frozen=True, eq=False)
class Grammar:
    """One language: its grammar, its query, and the hooks that the query cannot express.

    See services/extractor/reader.py for the capture names that `query` may use.
    """

    language: str
    bundle: str  # name of the grammar in tree_sitter_language_pack
    query: str
    declare: Callable[[Reader], None]  # turns captures into drafts, imports and bindings
    module: Callable[[str], str] = _no_module  # path -> dotted module that prefixes full names
    literal: Callable[[bytes], str | None] = _plain_literal  # None: not a constant string
    settle: Callable[[Draft, Draft | None], None] = _keep  # last word once the parent is known
    prepare: Callable[[bytes], bytes] = _as_is  # blanks out what its grammar cannot read
    receiver: Callable[[bytes], bytes] = _as_is  # one that is called, before its arguments go
    constructors: frozenset[str] = frozenset()
    noise: frozenset[bytes] = frozenset()  # name tokens that mean nothing, like `var`
    self_name: str = ""  # how methods call their object, when fields are used through it
    bare_calls: bool = False  # a plain lower-case name that is no local calls a method
    chunks_by_tree: bool = True  # False where the tree covers only part of the file
    slow_on_long_lines: bool = False  # its scanner measures columns, quadratic in a line's length
    _local: threading.local = field(default_factory=threading.local, repr=False)

    @cached_property
    def compiled(self) -> Query:
        return Query(get_language(self.bundle), self.query)  # type: ignore[arg-type]

    def parse(self, data: bytes) -> Tree:
        """Parse a whole file; raises LimitReached."""
        if len(data) > MAX_PARSED_BYTES:
            raise LimitReached
        if self.slow_on_long_lines and _longest_line(data) > _LONG_LINE_BYTES:
            raise LimitReached
        parser = self._parser()
        steps = _STEPS_BASE + len(data) // _BYTES_PER_STEP
        deadline = time.monotonic() + CEILING_SECONDS
        monotonic = time.monotonic

        def over_budget(_offset: int, _has_error: bool) -> bool:
            nonlocal steps
            steps -= 1
            return steps < 0 or monotonic() > deadline

        view = memoryview(self.prepare(data))
        try:
            return parser.parse(lambda offset, _point: view[offset:], progress_callback=over_budget)
        except ValueError:
            parser.reset()
            raise LimitReached from None

    def captures(self, root: Node) -> Captures:
        """Run the query over a tree, down to _MAX_DEPTH.

        Every open pattern above a node costs time at that node, so that a query over a tree as deep
        as the file is long would be quadratic. (A time limit is no way out: tree-sitter 0.26.1
        crashes when a query is given a progress callback.)
        """
        cursor = QueryCursor(self.compiled)
        cursor.set_max_start_depth(_MAX_DEPTH)
        return cursor.captures(root)

    def _parser(self) -> Parser:
        parser: Parser | None = getattr(self._local, "parser", None)
        if parser is None:
            parser = self._local.parser = Parser(get_language(self.bundle))  # type: ignore[arg-type]
        return parser


def _longest_line(data: bytes) -> int:
    return max(map(len, data.split(b"\n")))
