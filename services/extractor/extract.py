"""Read file versions: bytes and paths in, extracts out. Nothing here touches disk or network."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from zlib import crc32

import msgspec
import numpy as np

from contracts.extract import (
    EXTRACTOR_VERSION,
    PROJECTION_CHARS,
    Binding,
    ChunkSpan,
    Extract,
    Fact,
    Import,
    References,
    Symbol,
    Terms,
    compressed,
)
from contracts.ids import RepoPath
from services.extractor import chunks, languages, scan
from services.extractor.bindings import read_bindings
from services.extractor.facts.read import read_facts
from services.extractor.facts.source import Source
from services.extractor.grammar import Grammar, LimitReached
from services.extractor.imports import read_imports
from services.extractor.reader import Reader
from services.extractor.references import read_references
from services.extractor.table import Lines, Table, settle, symbols
from services.source import tokens
from services.source.charset import to_utf8
from services.source.languages import generated_reason, kind_of, language_of, minified_reason
from services.source.terms import FileWords, build_terms_many

MAX_SYMBOLS = 20_000
_DETAIL_CHARS = 300
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Extraction:
    """What became of one file."""

    language: str  # "" when unknown
    kind: str  # code test doc config vendor example data
    skipped: str = ""  # why there is no extract: generated, minified, extract_failed
    skipped_detail: str = ""  # also: why an extract has no structure
    extract: Extract | None = None


@dataclass(frozen=True)
class _Reading:
    """The structure of a file, as far as its language gives one."""

    quality: str
    table: Table
    chunks: tuple[ChunkSpan, ...]
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    references: References | None = None
    bindings: tuple[Binding, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class _Unfinished:
    """A file whose structure is read; its tokens and terms are counted with those of other files."""

    language: str
    kind: str
    detail: str
    text: str
    extract: Extract  # without tokens and terms
    words: FileWords


def extract_file(path: RepoPath, data: bytes) -> Extraction:
    """Read everything later stages need out of a file's bytes; never raises.

    Generated and minified files are told apart by name and head and get no extract.
    """
    return extract_files([(path, data)])[0]


def extract_files(
    files: Sequence[tuple[RepoPath, bytes]], packed: Sequence[bytes] = ()
) -> list[Extraction]:
    """What `extract_file` gives for each file; their terms are counted together, which is quicker.

    `packed` is what `compressed` gives for each file's bytes, where the caller has it: for most files
    their text is just that.
    """
    # Nodes by the hundred thousand, and no cycles: the collector would only walk them in vain.
    collecting = gc.isenabled()
    gc.disable()
    try:
        known = packed or [b""] * len(files)
        return _finished(
            [_begun(path, data, own) for (path, data), own in zip(files, known, strict=True)]
        )
    finally:
        if collecting:
            gc.enable()


def _begun(path: RepoPath, raw: bytes, packed: bytes) -> Extraction | _Unfinished:
    data = to_utf8(raw)
    kind = kind_of(path)
    language = language_of(path, data[:128])
    reason = generated_reason(path, data) or minified_reason(path, data)
    if reason:
        return Extraction(language, kind, reason.partition(":")[0], reason)
    detail = ""
    lines = Lines(data)
    try:
        language, reading = _structured(path, language, data, lines)
    except Exception as error:  # noqa: BLE001 - odd syntax must not cost the file its text
        detail = f"structure not read: {_described(error)}"
        reading = _scanned(path, "", data, lines, "partial")
    try:
        text = data.removeprefix(_BOM).decode(errors="replace")
        head = text[:PROJECTION_CHARS].encode()
        projection = packed if packed and head == raw else compressed(head)
        extract = _extract(projection, data, lines, reading)
        return _Unfinished(language, kind, detail, text, extract, _words(path, data, reading))
    except Exception as error:  # noqa: BLE001 - one odd file must not stop a pass
        return Extraction(language, kind, "extract_failed", _described(error))


def _finished(begun: Sequence[Extraction | _Unfinished]) -> list[Extraction]:
    """Add tokens and terms, all at once; one by one when a file among them cannot be counted.

    Either kind of counting looks into tables as large as a processor's cache, which would be read
    anew if files were parsed in between.
    """
    unfinished = [each for each in begun if isinstance(each, _Unfinished)]
    try:
        token_counts = [tokens.count(each.text) for each in unfinished]
        terms = build_terms_many([each.words for each in unfinished])
        counted = iter(zip(token_counts, terms, strict=True))
    except Exception as error:  # noqa: BLE001 - one odd file must not stop a pass
        if len(begun) > 1:
            return [_finished([each])[0] for each in begun]
        return [
            Extraction(each.language, each.kind, "extract_failed", _described(error))
            for each in begun
        ]
    return [
        each if isinstance(each, Extraction) else _with_counts(each, *next(counted))
        for each in begun
    ]


def _with_counts(begun: _Unfinished, token_count: int, terms: Terms) -> Extraction:
    extract = msgspec.structs.replace(begun.extract, token_count=token_count, terms=terms)
    return Extraction(begun.language, begun.kind, skipped_detail=begun.detail, extract=extract)


def _described(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{PurePath(frame.filename).name}:{frame.lineno}"
    return f"{type(error).__name__} at {place}: {error}"[:_DETAIL_CHARS]


def _extract(projection: bytes, data: bytes, lines: Lines, reading: _Reading) -> Extract:
    whole = memoryview(data)
    spans = [whole[symbol.start_byte : symbol.end_byte] for symbol in reading.symbols]
    return Extract(
        extractor_version=EXTRACTOR_VERSION,
        quality=reading.quality,
        line_count=lines.count,
        token_count=0,
        text=projection,
        symbols=reading.symbols,
        imports=reading.imports,
        references=reading.references,
        bindings=reading.bindings,
        chunks=reading.chunks,
        facts=reading.facts,
        digests=np.array([crc32(span) for span in spans], "<u4").tobytes(),
    )


def _structured(path: RepoPath, language: str, data: bytes, lines: Lines) -> tuple[str, _Reading]:
    """Return the language, which a header's words may change, and what its grammar gives."""
    grammar = languages.grammar_for(path, language, data)
    if grammar is None:
        return language, _scanned(path, language, data, lines, "text")
    try:
        return grammar.language, _read(path, grammar, data, lines)
    except LimitReached:
        return grammar.language, _scanned(path, language, data, lines, "limit")


def _read(path: RepoPath, grammar: Grammar, data: bytes, lines: Lines) -> _Reading:
    root = grammar.parse(data).root_node
    reader = Reader(grammar, path, data, root, grammar.captures(root), grammar.module(path))
    grammar.declare(reader)
    del reader.drafts[MAX_SYMBOLS:]
    table = settle(reader.drafts, grammar)
    uses = read_references(reader, table, lines)
    declared = symbols(reader.module, table, lines)
    imports = read_imports(reader, table, lines)
    return _Reading(
        quality="partial" if root.has_error else "full",
        chunks=chunks.cut(data, root if grammar.chunks_by_tree else None, lines),
        table=table,
        symbols=declared,
        imports=imports,
        references=uses.references,
        bindings=read_bindings(reader, table, lines, uses),
        facts=_facts(
            Source(path, grammar.language, data, declared, imports, uses.references, lines, table)
        ),
    )


def _facts(source: Source) -> tuple[Fact, ...]:
    try:
        return read_facts(source)
    except Exception:  # noqa: BLE001 - an odd use of a framework must not cost the file its structure
        return ()


def _scanned(path: RepoPath, language: str, data: bytes, lines: Lines, quality: str) -> _Reading:
    table = settle(scan.outline(language, data))
    declared = symbols(scan.module_of(path), table, lines)
    return _Reading(
        quality=quality,
        chunks=chunks.cut(data, None, lines),
        table=table,
        symbols=declared,
        facts=_facts(Source(path, language, data, declared, (), None, lines, table)),
    )


def _words(path: RepoPath, data: bytes, reading: _Reading) -> FileWords:
    used, counts = _used_names(reading.references)
    return FileWords(
        path,
        chunks=[
            data[chunk.start_byte : chunk.end_byte].decode(errors="replace")
            for chunk in reading.chunks
        ],
        enclosing=[_enclosing_names(reading.table, chunk.start_byte) for chunk in reading.chunks],
        symbol_names=[symbol.name for symbol in reading.symbols],
        fq_names=[symbol.fq_name for symbol in reading.symbols],
        references=used,
        reference_counts=counts,
    )


def _enclosing_names(table: Table, position: int) -> list[str]:
    """Name the symbols around a byte, outermost first."""
    names = []
    scope = table.scope_at(position)
    while scope >= 0:
        names.append(table.drafts[scope].name)
        scope = table.drafts[scope].parent
    return names[::-1]


def _used_names(references: References | None) -> tuple[list[str], list[int]]:
    """Each name that is used, and how often."""
    if references is None:
        return [], []
    counts = np.bincount(np.frombuffer(references.name, "<u4"))
    used = np.flatnonzero(counts)
    strings = references.strings
    return [strings[number] for number in used.tolist()], counts[used].tolist()
