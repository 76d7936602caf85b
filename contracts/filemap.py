"""What does the code map keep of one file, so that a manifest can be searched without reading code?

`Columns` is what every file gives to the index of its manifest: symbols, search terms and links,
ready to be put behind those of other files. The rest is read when a symbol is shown: a live file has
its body on record already, a file of a baseline or an overlay brings it.

Columns are little-endian bytes; texts are UTF-8 joined by line feeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import xxhash
from msgspec import Struct

from contracts.extract import Fact, compressed, decompressed

COLUMNS_VERSION = "2"  # raise it when the same edges would give other columns

SYMBOL_KINDS = (
    "", "class", "struct", "interface", "enum", "delegate", "record", "method", "property",
    "field", "event", "constant", "constructor", "indexer", "operator",
)  # fmt: skip
# How a link's key was made: the symbol it leads to, a symbol it may lead to, the mere name, the
# type that a type of the file stands below.
RESOLVED, CANDIDATE, NAMED, RELATION = range(4)
MODULE_LEVEL = -1


class Columns(Struct, frozen=True, array_like=True):
    """One file's share of a manifest's index."""

    ids: bytes  # symbol ids
    names: bytes  # simple names
    id_key: bytes  # u8[symbols], `key_of` the id
    stable_key: bytes  # u8[symbols], the 16 hex of the stable id
    kind: bytes  # u1[symbols] into SYMBOL_KINDS; 0: no symbol of code
    start: bytes  # u4[symbols], lines
    end: bytes  # u4[symbols]
    parent: bytes  # i4[symbols]
    terms: bytes  # distinct search terms of the file
    posting_term: bytes  # u4[postings]
    posting_symbol: bytes  # u4[postings]
    posting_weight: bytes  # u1[postings]
    link_key: bytes  # u8[links]
    link_tag: bytes  # u1[links]: RESOLVED, CANDIDATE, NAMED, RELATION
    link_kind: bytes  # u1[links] into EDGE_KINDS; of relations into RELATION_KINDS
    link_confidence: bytes  # u1[links]: 0 low, 1 medium, 2 high
    link_source: bytes  # i4[links], symbol index; -1 at module level
    link_line: bytes  # u4[links]
    link_row: bytes  # u4[links], row of the file's edges or relations
    quality: int = 0  # 2 full, 1 partial, 0 no structure
    references: int = 0  # uses of names in the file
    language: str = ""
    facts: bytes = b""  # msgpack of the body's facts; b"" for none
    signatures: bytes = b""  # of symbols of code; a blank for the others
    docs: bytes = b""  # their docs, at most 160 characters each


class FileFacts(Struct, frozen=True, array_like=True):
    """One file of a baseline or an overlay, without what is in its blobs."""

    path: str
    digest: str  # "" where an overlay hides the file
    language: str = ""
    kind: str = ""
    quality: str = ""
    line_count: int = 0
    token_count: int = 0


class Entry(Struct, frozen=True, array_like=True):
    """One file on its way into a manifest. Blobs are those of live files, byte for byte."""

    file: FileFacts
    columns: bytes = b""  # zstd of Columns
    body: bytes = b""  # as contracts.extract packs it
    edges: bytes = b""  # zstd, as services/resolution encodes them


_encode = msgspec.msgpack.Encoder().encode
_columns = msgspec.msgpack.Decoder(Columns).decode
_facts = msgspec.msgpack.Decoder(tuple[Fact, ...]).decode
_entries = msgspec.msgpack.Decoder(tuple[Entry, ...]).decode


def key_of(text: str, tag: int = RESOLVED) -> int:
    """The number by which links and symbols find each other."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), seed=tag)


def keys_of(texts: Sequence[str], tag: int = RESOLVED) -> list[int]:
    """What `key_of` gives for each text."""
    digest = xxhash.xxh3_64_intdigest
    try:
        return [digest(text.encode(), tag) for text in texts]
    except UnicodeEncodeError:  # a surrogate that stands alone
        return [digest(text.encode("utf-8", "surrogatepass"), tag) for text in texts]


def pack_columns(columns: Columns) -> bytes:
    return compressed(_encode(columns))


def unpack_columns(blob: bytes | memoryview) -> Columns:
    return _columns(decompressed(blob))


def pack_facts(facts: tuple[Fact, ...]) -> bytes:
    return _encode(facts) if facts else b""


def unpack_facts(blob: bytes) -> tuple[Fact, ...]:
    return _facts(blob) if blob else ()


def pack_entries(entries: Iterable[Entry]) -> bytes:
    """Bring entries into the form of a manifest's part."""
    return _encode(tuple(entries))


def unpack_entries(data: bytes | memoryview) -> tuple[Entry, ...]:
    return _entries(data)


def joined(texts: Iterable[str]) -> bytes:
    """Texts as one column."""
    given = list(texts)
    if not all(given):
        given = [text or " " for text in given]
    whole = "\n".join(given)
    if whole.count("\n") >= len(given):
        whole = "\n".join([text.replace("\n", " ") for text in given])
    return whole.encode("utf-8", "replace")


def split(column: bytes) -> list[str]:
    """The texts of a column; an empty one has none."""
    return column.decode().split("\n") if column else []
