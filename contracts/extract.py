"""What did the extractor read out of one file version?

An extract is made once per (path, digest, extractor version) and holds what search, outlines, the
call graph and the framework surfaces need, so that nothing later has to parse the file again.
Everything is deterministic: the same bytes at the same path give the same extract.

Lines are 1-based and inclusive; byte offsets are 0-based and half-open, into the file's raw bytes;
of a file that is not UTF-8, into its text brought into UTF-8 (services/source/charset.py).
Positional Structs (`array_like`) keep the encoding small: fields may only be appended.
"""

from __future__ import annotations

import threading

import msgspec
import zstandard
from msgspec import Struct

EXTRACTOR_VERSION = "4"  # raise it when the same bytes would give another extract
PROJECTION_CHARS = 65_536  # characters of each file kept as its content projection


class Symbol(Struct, frozen=True, array_like=True):
    """One declaration."""

    kind: str  # class interface struct enum trait record union module namespace function method
    #            constructor property event field variable constant type macro heading key component
    #            table view index trigger schema selector target stage service message
    name: str
    fq_name: str  # dotted path inside the language's module, e.g. "pkg.mod.Class.method"
    signature: str  # one line, white space folded, at most 300 characters, no body
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    parent: int = -1  # index of the containing symbol in `Extract.symbols`
    doc: str = ""  # doc comment or docstring, markers removed, at most 600 characters
    visibility: str = ""  # public private protected internal package; "" when the language has none
    arity: int = -1  # declared parameters without the receiver; -1 when not callable
    params: tuple[tuple[str, str], ...] = ()  # (name, declared type or "")
    returns: str = ""  # declared return type, or the declared type of a field or variable
    modifiers: tuple[str, ...] = ()  # static abstract async override final const partial ...
    decorators: tuple[
        str, ...
    ] = ()  # decorator, annotation or attribute source text, one line each
    bases: tuple[str, ...] = ()  # base types as written, without generic arguments


class Import(Struct, frozen=True, array_like=True):
    """One imported binding, as the source states it."""

    module: str  # module, package, path or namespace as written ("" for none)
    name: str  # member imported from it; "*" wildcard; "" when the module itself is bound
    alias: str  # the local name it binds; "" when it binds none (C include, wildcard)
    line: int
    kind: str = "import"  # import export include use using require mod
    level: int = 0  # leading dots of a relative Python import
    scope: int = -1  # index of the symbol whose body holds it; -1 at module level


class References(Struct, frozen=True, array_like=True):
    """Uses of names, column by column; every array has one entry per use, in source order.

    Arrays are little-endian bytes, read with numpy.frombuffer.
    """

    strings: tuple[str, ...]  # the table that name, receiver and literal index
    kind: bytes  # u1, index into REFERENCE_KINDS
    name: bytes  # u4, the used simple name
    receiver: bytes  # i4, receiver or qualifier text ("self", "obj.field", "pkg"); -1 for none
    line: bytes  # u4
    column: bytes  # u4, 0-based byte column of the name
    scope: bytes  # i4, index of the enclosing symbol; -1 at module level
    argc: bytes  # i2, arguments of a call; -1 otherwise
    literal: bytes  # i4, first string-literal argument of a call; -1 for none
    arguments: bytes = b""  # i4, what is written as arguments of a call, a line each: ":T" when its
    #                         text tells its type, else an expression, or ""; -1 for none. Only where
    #                         a language tells callables of one name apart by it


REFERENCE_KINDS = (
    "call", "new", "read", "write", "type", "base", "decorator", "import", "override", "raise",
)  # fmt: skip


class Binding(Struct, frozen=True, array_like=True):
    """A local, field or parameter whose type can be told from its text."""

    scope: int  # enclosing symbol index, -1 at module level
    name: str  # "x", or "self.x" / "this.x" for a field; "return" for what the scope returns
    type_name: str  # declared type, or the callee of `x = Callee(...)`
    origin: str  # annotation, call, alias, parameter, local; element: what iterating it gives;
    #              callback: "callee@2.0", parameter 0 of a function that is argument 2 of callee;
    #              narrow: a checked type, up to the next widen of the name, or with a leading "?"
    #              a check of a member, "?kind=expression"; context: "T@0", parameter 0 of what is
    #              expected to be a T; block: declared anew, also up to the next widen of the name
    line: int


class Fact(Struct, frozen=True, array_like=True):
    """What a file says of its program's surface: to its framework, database, settings or logs.

    Values are "display|metadata". What only another file tells is a hole: `{=NAME}` or
    `{=module:NAME}` a constant; `{?}` stays unknown. services/surfaces fills holes and joins
    prefixes.
    """

    kind: str  # one of FACT_KINDS, or one of JOIN_KINDS, which only serve to compose routes
    value: str  # route "GET /path", config "key|pattern", db_table "schema.table|source", ...
    symbol: int  # index of the enclosing or decorated symbol, -1 at module level
    line: int
    confidence: str = "high"  # high, medium, low
    detail: str = ""  # framework, or what it adds
    owner: str = ""  # route, mount: the router it hangs on; router: its own name
    target: str = ""  # route: its handler; mount: what is mounted; router: the router it is made of


FACT_KINDS = (
    "route", "config", "db_table", "di_registration", "middleware", "exception", "log",
    "retry_policy",
)  # fmt: skip
JOIN_KINDS = ("router", "mount")


class ChunkSpan(Struct, frozen=True, array_like=True):
    """One passage for search."""

    start_byte: int
    end_byte: int
    start_line: int
    end_line: int


class Terms(Struct, frozen=True, array_like=True):
    """Hashed search terms of the file (see services/source/terms.py), as little-endian arrays."""

    chunk_offsets: bytes  # u4[chunks + 1] into the two arrays below
    chunk_hash: bytes  # u8, distinct terms of each chunk, ascending within the chunk
    chunk_tf: bytes  # u1, occurrences, at most 255
    chunk_length: bytes  # u4[chunks], terms with repeats
    context_offsets: bytes  # u4[chunks + 1]: path and enclosing-symbol terms, for the dense vector
    context_hash: bytes  # u8
    field_hash: (
        bytes  # u8, terms salted by field: path, symbol names, definitions, stem, references
    )
    field_tf: bytes  # u1
    path_length: int  # terms with repeats
    symbols_length: int


class Extract(Struct, frozen=True):
    """Everything read out of one file version."""

    extractor_version: str
    quality: str  # full, partial (syntax errors), text (no grammar), limit (parse limit reached)
    line_count: int
    token_count: int  # exact o200k tokens of the whole body
    text: bytes  # zstd of the UTF-8 content projection; undecodable bytes became U+FFFD
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    references: References | None = None
    bindings: tuple[Binding, ...] = ()
    chunks: tuple[ChunkSpan, ...] = ()
    terms: Terms | None = None
    facts: tuple[Fact, ...] = ()
    digests: bytes = b""  # u4[symbols], CRC-32 of each one's bytes


class Body(Struct, frozen=True, array_like=True):
    """The part of an extract that only symbol and graph questions read; stored as one blob."""

    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    references: References | None
    bindings: tuple[Binding, ...]
    chunks: tuple[ChunkSpan, ...]
    facts: tuple[Fact, ...] = ()
    digests: bytes = b""  # u4[symbols], CRC-32 of each one's bytes


class _FactsOfBody(Struct, frozen=True, array_like=True):
    """A body of which nothing but the facts is decoded."""

    symbols: msgspec.Raw
    imports: msgspec.Raw
    references: msgspec.Raw
    bindings: msgspec.Raw
    chunks: msgspec.Raw
    facts: tuple[Fact, ...] = ()


class Packed(Struct, frozen=True, kw_only=True):
    """An extract as it travels and is cached: whoever folds it need not decode the symbols."""

    extractor_version: str
    quality: str
    line_count: int
    token_count: int
    text: bytes  # zstd of the content projection
    body: bytes  # zstd of msgpack of Body
    fq_names: tuple[str, ...]  # of Body.symbols, in order
    chunks: int
    terms: Terms | None


_body_encoder = msgspec.msgpack.Encoder()
_body_decoder = msgspec.msgpack.Decoder(Body)
_facts_decoder = msgspec.msgpack.Decoder(_FactsOfBody)


class _Codecs(threading.local):
    """zstd contexts are costly to make and must not be shared between threads."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=1).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_codecs = _Codecs()


def compressed(data: bytes) -> bytes:
    """Zstd at its quickest level."""
    return _codecs.compress(data)


def decompressed(data: bytes | memoryview) -> bytes:
    """What `compressed` was given."""
    return _codecs.decompress(data)


def pack(extract: Extract) -> Packed:
    """Bring an extract into the form that travels."""
    body = Body(
        extract.symbols, extract.imports, extract.references, extract.bindings, extract.chunks,
        extract.facts, extract.digests,
    )  # fmt: skip
    return Packed(
        extractor_version=extract.extractor_version,
        quality=extract.quality,
        line_count=extract.line_count,
        token_count=extract.token_count,
        text=extract.text,
        body=compressed(_body_encoder.encode(body)),
        fq_names=tuple(symbol.fq_name for symbol in extract.symbols),
        chunks=len(extract.chunks),
        terms=extract.terms,
    )


def unpack_body(blob: bytes | memoryview) -> Body:
    """Decode a stored body."""
    return _body_decoder.decode(decompressed(blob))


def unpack_facts(blob: bytes | memoryview) -> tuple[Fact, ...]:
    """Decode only the facts of a stored body, which is several times quicker."""
    return _facts_decoder.decode(decompressed(blob)).facts
