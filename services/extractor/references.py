"""Turn captures into columns of name uses.

A name token has one kind. Where several fit, the more telling wins: `raise Broken("x")` is a raise,
`@route("/x")` a decorator, both with the argument count and literal of the call they also are.

Left out are names that mean nothing outside their function: locals and parameters that are read or
assigned. Calls stay even when the called name is a local, because a callback is worth seeing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from contracts.extract import References
from services.extractor.arguments import Arguments
from services.extractor.local_names import locals_by_scope
from services.extractor.names import CALL, READ, Names, kinds_of, receivers_of
from services.extractor.reader import EXPRESSION_CHARS, KIND_CODES, Reader, short_expression
from services.extractor.table import Lines, Table

MAX_REFERENCES = 200_000
LITERAL_CHARS = 1_000
_MEANINGLESS_FOR_LOCALS = frozenset(KIND_CODES[kind] for kind in ("read", "write", "type"))
_SHORTENED = re.compile(rb"[({\n]")  # marks of an expression that has a shorter form

_COLUMNS = 7  # kind name receiver start scope argc literal


class Uses(NamedTuple):
    """What `read_references` found."""

    references: References | None
    called_locals: list[tuple[int, str, int]]  # (scope, name, start) where a local is called


def read_references(reader: Reader, table: Table, lines: Lines) -> Uses:
    """Return every use of a name in source order."""
    names = Names(reader)
    arguments = Arguments(reader, names)
    kinds = kinds_of(reader, table, names, arguments.called)
    starts = sorted(kinds)[:MAX_REFERENCES]
    if not starts:
        return Uses(None, [])
    scopes = table.scopes_at(starts)
    strings = _Strings(reader)
    rows, called_locals = _rows(
        names, kinds, starts, scopes, receivers_of(reader, names), arguments, strings,
        locals_by_scope(reader, table, names), reader.grammar.noise,
    )  # fmt: skip
    called = [
        (scope, reader.data[start : names.ends[start]].decode(errors="replace"), start)
        for scope, start in called_locals
    ]
    if not rows:
        return Uses(None, called)
    given = _arguments(reader.arguments, rows, strings.numbers) if reader.arguments else b""
    return Uses(_columns(rows, strings, lines, given), called)


def _rows(  # noqa: PLR0913 - the one hot loop; its inputs are columns
    names: Names,
    kinds: dict[int, int],
    starts: list[int],
    scopes: list[int],
    receivers: dict[int, tuple[int, int]],
    arguments: Arguments,
    strings: _Strings,
    locals_of: dict[int, set[bytes]],
    noise: frozenset[bytes],
) -> tuple[list[int], list[tuple[int, int]]]:
    """Make one row per use, one behind the other, and list the calls of locals as (scope, start)."""
    rows: list[int] = []
    called_locals: list[tuple[int, int]] = []
    add = rows.extend
    data, ends, counts, literals = names.data, names.ends, arguments.counts, arguments.literals
    numbers, receiver_numbers = strings.numbers, strings.receivers
    nothing: frozenset[bytes] = frozenset()
    bare_calls = strings.bare_calls
    for start, scope in zip(starts, scopes, strict=True):
        kind = kinds[start]
        name = data[start : ends[start]]
        span = receivers.get(start)
        if span is not None:
            receiver = receiver_numbers[data[span[0] : span[1]]]
        else:
            receiver = -1
            if name in locals_of.get(scope, nothing):
                if kind in _MEANINGLESS_FOR_LOCALS or name in noise:
                    continue
                if kind == CALL:
                    called_locals.append((scope, start))
            elif bare_calls and kind == READ and not name[:1].isupper() and name[:1] != b"@":
                kind = CALL
                counts[start] = 0
        if start not in counts:
            add((kind, numbers[name], receiver, start, scope, -1, -1))
        elif start in literals:
            literal = strings.literal(literals[start])
            add((kind, numbers[name], receiver, start, scope, counts[start], literal))
        else:
            add((kind, numbers[name], receiver, start, scope, counts[start], -1))
    return rows, called_locals


class _Numbers(dict[bytes, int]):
    """Number of each text, in order of appearance; looking one up adds it."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


class _Receivers(dict[bytes, int]):
    """Number of the short form of each receiver's source text."""

    def __init__(self, numbers: _Numbers, told: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._numbers, self._told = numbers, told

    def __missing__(self, raw: bytes) -> int:
        plain = len(raw) < EXPRESSION_CHARS and _SHORTENED.search(raw) is None
        text = raw if plain else short_expression(self._told(raw)).encode()
        number = self[raw] = self._numbers[text]
        return number


class _Strings:
    """The table that names, receivers and literals share."""

    def __init__(self, reader: Reader) -> None:
        self.numbers = _Numbers()
        self.receivers = _Receivers(self.numbers, reader.grammar.receiver)
        self._literal = reader.grammar.literal
        self.bare_calls = reader.grammar.bare_calls

    def literal(self, raw: bytes) -> int:
        text = self._literal(raw[: 4 * LITERAL_CHARS])
        return -1 if text is None else self.numbers[text[:LITERAL_CHARS].encode()]

    def table(self) -> tuple[str, ...]:
        return tuple([raw.decode("utf-8", "replace") for raw in self.numbers])


def _arguments(written: dict[int, str], rows: list[int], numbers: _Numbers) -> bytes:
    """Return the number of each call's arguments as text."""
    starts = rows[3::_COLUMNS]
    texts = [written.get(start) for start in starts]
    found = [-1 if text is None else numbers[text.encode()] for text in texts]
    return np.array(found, "<i4").tobytes()


def _columns(rows: list[int], strings: _Strings, lines: Lines, arguments: bytes) -> References:
    columns = np.fromiter(rows, np.int64, len(rows)).reshape(-1, _COLUMNS).T
    kind, name, receiver, start, scope, argc, literal = columns
    line = lines.breaks.searchsorted(start)
    return References(
        strings=strings.table(),
        kind=kind.astype("u1").tobytes(),
        name=name.astype("<u4").tobytes(),
        receiver=receiver.astype("<i4").tobytes(),
        line=(line + 1).astype("<u4").tobytes(),
        column=(start - lines.starts[line]).astype("<u4").tobytes(),
        scope=scope.astype("<i4").tobytes(),
        argc=argc.astype("<i2").tobytes(),
        literal=literal.astype("<i4").tobytes(),
        arguments=arguments,
    )
