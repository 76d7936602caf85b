"""What can be delivered of a file?

    span      the whole body, or passages of it; passages are those that search ranks
    outline   a line for each declaration, in units of one top-level declaration each
    pointer   the path, with the lines and the symbol to look at

Which units a file has depends on its version and, for the order of passages, on the question; never
on the budget. So a receipt stands for the same text whenever it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from contracts.extract import PROJECTION_CHARS, ChunkSpan, Symbol
from contracts.tools.context import UnitKind
from services.query.bundle.receipts import content_hash, receipt

_PASSAGE_CHARS = 6_000  # a passage longer than this has a line nobody wants to read
_OUTLINE_LINES = 60
_DETAILS = frozenset({"field", "variable", "constant", "key", "property", "selector"})


class Piece(Struct, frozen=True):
    """One unit that may be delivered."""

    kind: UnitKind
    receipt: str
    text: str
    symbol: str | None = None
    first: int = 0  # lines of the file, 1-based and inclusive; 0: the whole body
    last: int = 0

    @property
    def lines(self) -> str | None:
        return f"{self.first}-{self.last}" if self.first else None


class Source(Struct, frozen=True, kw_only=True):
    """One ranked file, as the index has it."""

    repo_id: str
    path: str
    score: float
    reasons: tuple[str, ...]
    digest: str
    full_read_tokens: int | None
    text: str | None  # the content projection; None: recorded without
    symbols: tuple[Symbol, ...] = ()
    chunks: tuple[ChunkSpan, ...] = ()
    ranked: tuple[int, ...] = ()  # ordinals of the chunks that match, best first
    symbol: Symbol | None = None  # the one the question seems to mean


class Candidate:
    """The units of one file, made when they are asked for."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.text
        self.content_hash = content_hash(source.digest if text is None else text)
        # What lies beyond the projection is not in the hash, so such a file is never "all there".
        self.complete = text is not None and len(text) < PROJECTION_CHARS

    def _piece(
        self, kind: UnitKind, text: str, symbol: str | None = None, first: int = 0, last: int = 0
    ) -> Piece:
        source = self.source
        lines = f"{first}-{last}" if first else None
        mark = receipt(source.repo_id, source.path, self.content_hash, kind, symbol, lines)
        return Piece(kind, mark, text, symbol, first, last)

    @cached_property
    def _lines(self) -> list[str]:
        return (self.source.text or "").split("\n")

    @cached_property
    def whole(self) -> Piece | None:
        """The whole body; None when there is none or it is blank."""
        text = self.source.text
        return self._piece("span", text) if text and not text.isspace() else None

    @cached_property
    def passages(self) -> tuple[Piece, ...]:
        """Passages that match, best first."""
        chunks = self.source.chunks
        pieces = []
        for ordinal in self.source.ranked:
            span = chunks[ordinal]
            # A line that two chunks share belongs to the first.
            before = chunks[ordinal - 1].end_line if ordinal else 0
            first, last = max(span.start_line, before + 1), min(span.end_line, len(self._lines))
            text = "\n".join(self._lines[first - 1 : last])
            if text and not text.isspace() and len(text) <= _PASSAGE_CHARS:
                inner = around(self.source.symbols, first, last)
                symbol = None if inner is None else inner.fq_name
                pieces.append(self._piece("span", text, symbol, first, last))
        return tuple(pieces)

    @cached_property
    def outline(self) -> tuple[Piece, ...]:
        """One unit for each top-level declaration, its members' lines below its own."""
        return tuple(
            self._piece(
                "outline",
                "\n".join(lines),
                top.fq_name,
                top.start_line,
                max(top.start_line, top.end_line),
            )
            for top, lines in _outline(self.source.symbols)
        )

    @cached_property
    def outline_by_match(self) -> tuple[Piece, ...]:
        """The same units, those first that the question seems to mean."""
        wanted = self.pointer
        return tuple(
            sorted(
                self.outline,
                key=lambda piece: piece.first > wanted.last or piece.last < wanted.first,
            )
        )

    @cached_property
    def pointer(self) -> Piece:
        """The path alone, and where to look."""
        source = self.source
        symbol = source.symbol
        if symbol is not None:
            return self._piece(
                "pointer", source.path, symbol.fq_name, symbol.start_line, symbol.end_line
            )
        if source.ranked:
            span = source.chunks[source.ranked[0]]
            return self._piece("pointer", source.path, None, span.start_line, span.end_line)
        return self._piece("pointer", source.path)


def around(symbols: Sequence[Symbol], first: int, last: int) -> Symbol | None:
    """The smallest symbol that most of the lines belong to."""
    most = (last - first + 1) / 2
    found: Symbol | None = None
    for symbol in symbols:
        if symbol.start_line > last or symbol.end_line < first:
            continue
        shared = min(symbol.end_line, last) - max(symbol.start_line, first) + 1
        if shared > most and (found is None or _size(symbol) < _size(found)):
            found = symbol
    return found


def _size(symbol: Symbol) -> int:
    return symbol.end_line - symbol.start_line


def _outline(symbols: Sequence[Symbol]) -> list[tuple[Symbol, list[str]]]:
    """Top-level declarations with the lines of their outline, at most 60 lines in all."""
    depths: list[int] = []
    for symbol in symbols:
        depths.append(depths[symbol.parent] + 1 if 0 <= symbol.parent < len(depths) else 0)
    shown = list(range(len(symbols)))
    if len(shown) > _OUTLINE_LINES:
        shown = [at for at in shown if not depths[at] or symbols[at].kind not in _DETAILS]
    if len(shown) > _OUTLINE_LINES:
        shown = [at for at in shown if not depths[at]]
    found: list[tuple[Symbol, list[str]]] = []
    for at in shown[:_OUTLINE_LINES]:
        symbol = symbols[at]
        line = f"{'  ' * depths[at]}{symbol.signature or symbol.name} @{symbol.start_line}"
        if depths[at] and found:
            found[-1][1].append(line)
        else:
            found.append((symbol, [line]))
    return found
