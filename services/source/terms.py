"""How does text become search terms?

The same terms serve the lexical index, the static vectors and queries. `words.tokenise` says
plainly what they are; `build_terms_many` counts them for all chunks of many files at once: the
interpreter touches no character, word or term, but for words never met before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from contracts.extract import Terms
from services.source.query_text import STOP_WORDS, QueryTerms, query_terms
from services.source.ragged import bounds, ranges
from services.source.word_keys import find_words
from services.source.word_table import current_table, hash_names
from services.source.words import (
    DEFINED,
    DEFINED_LOWER,
    PATH,
    QUALIFIED,
    REFERENCE,
    STEM,
    SYMBOL,
    field_salt,
    file_stem,
    fold,
    hash_term,
    normal_stem,
    plural_variant,
    stem,
    tokenise,
)

__all__ = [
    "DEFINED", "DEFINED_LOWER", "PATH", "QUALIFIED", "REFERENCE", "STEM", "STOP_WORDS", "SYMBOL",
    "FileWords", "QueryTerms", "TermArrays", "TermCounts", "build_terms", "build_terms_many",
    "context_text", "count_terms", "field_salt", "file_stem", "fold", "hash_term", "normal_stem", "plural_variant", "query_terms",
    "stem", "tokenise",
]  # fmt: skip

U1 = npt.NDArray[np.uint8]
U4 = npt.NDArray[np.uint32]
U8 = npt.NDArray[np.uint64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TermArrays:
    """Numpy views over a `Terms`, without copying; shapes as in `contracts.extract.Terms`."""

    chunk_offsets: U4
    chunk_hash: U8
    chunk_tf: U1
    chunk_length: U4
    context_offsets: U4
    context_hash: U8
    field_hash: U8
    field_tf: U1
    path_length: int
    symbols_length: int

    @classmethod
    def of(cls, terms: Terms) -> TermArrays:
        """Views over `terms`, which must outlive them."""
        return cls(
            chunk_offsets=np.frombuffer(terms.chunk_offsets, "<u4"),
            chunk_hash=np.frombuffer(terms.chunk_hash, "<u8"),
            chunk_tf=np.frombuffer(terms.chunk_tf, "u1"),
            chunk_length=np.frombuffer(terms.chunk_length, "<u4"),
            context_offsets=np.frombuffer(terms.context_offsets, "<u4"),
            context_hash=np.frombuffer(terms.context_hash, "<u8"),
            field_hash=np.frombuffer(terms.field_hash, "<u8"),
            field_tf=np.frombuffer(terms.field_tf, "u1"),
            path_length=terms.path_length,
            symbols_length=terms.symbols_length,
        )


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Distinct terms of several texts, ascending within each text."""

    offsets: I8  # [texts + 1]
    hashes: U8
    tf: I8
    lengths: I8  # [texts], terms with repeats


def count_terms(texts: Sequence[str]) -> TermCounts:
    """Count the terms of every text in one vectorised pass."""
    table = current_table()
    encoded = [text.encode("utf-8", "replace") for text in texts]
    data = b" ".join((b"", *encoded, b""))
    starts, ends = find_words(data)
    found = table.numbers(data, starts, ends)
    text_starts = np.cumsum([1, *(len(text) + 1 for text in encoded)])
    sizes = np.diff(np.searchsorted(starts, text_starts))
    bits = int(found.max(initial=0)).bit_length()
    found += np.repeat(np.arange(len(texts)) << bits, sizes)
    # The number of a text and, below it, of a word; what is half as wide is sorted twice as fast.
    pairs: U4 | I8 = found.astype(np.uint32) if len(texts) << bits <= 1 << 32 else found
    pairs.sort()
    is_first = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    repeats = np.diff(first, append=len(pairs))
    distinct = pairs[first].astype(np.int64)
    owner, word = distinct >> bits, distinct & ((1 << bits) - 1)

    word_starts, word_hashes = table.arrays()
    starts = word_starts[word]
    terms_per_word = word_starts[word + 1] - starts
    owner, tf = np.repeat(owner, terms_per_word), np.repeat(repeats, terms_per_word)
    lengths = np.bincount(owner, weights=tf, minlength=len(texts)).astype(np.int64)
    hashes = word_hashes[ranges(starts, terms_per_word)]
    return TermCounts(*_distinct(owner, hashes, tf, len(texts)), lengths)


def _distinct(owner: I8, hashes: U8, tf: I8, owners: int) -> tuple[I8, U8, I8]:
    """Offsets by owner, the distinct hashes of each, ascending, and the sums of their counts."""
    order = _order(owner, hashes, owners)
    owner, hashes, tf = owner[order], hashes[order], tf[order]
    is_first = np.ones(len(owner), np.bool_)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
    distinct = np.flatnonzero(is_first)
    if len(distinct):
        tf = np.add.reduceat(tf, distinct)
    return bounds(np.bincount(owner[distinct], minlength=owners)), hashes[distinct], tf


def _order(owner: I8, hashes: U8, owners: int) -> I8:
    """The order by owner, then hash.

    One key holds the owner and the leading bits of the hash, because one fast sort beats a
    lexical sort of two columns; when the bits left out turn out to matter, that is done instead.
    """
    bits = np.uint64(max(owners - 1, 1).bit_length())
    key = (owner.astype(np.uint64) << (np.uint64(64) - bits)) | (hashes >> bits)
    order = np.argsort(key)
    ordered_key, ordered_hash = key[order], hashes[order]
    if np.any((ordered_key[1:] == ordered_key[:-1]) & (ordered_hash[1:] != ordered_hash[:-1])):
        return np.lexsort((hashes, owner))
    return order


@dataclass(frozen=True, slots=True)
class FileWords:
    """What one file's terms are made of; the order of names and references does not matter."""

    path: str
    chunks: Sequence[str] = ()
    enclosing: Sequence[Sequence[str]] = ()  # names of the symbols around the start of each chunk
    symbol_names: Sequence[str] = ()
    fq_names: Sequence[str] = ()
    references: Sequence[str] = ()
    reference_counts: Sequence[int] = ()  # how often each of `references` counts; (): once


def build_terms(
    path: str,
    chunks: Sequence[str],
    enclosing: Sequence[Sequence[str]],
    symbol_names: Sequence[str],
    fq_names: Sequence[str],
    references: Sequence[str],
) -> Terms:
    """Count the terms of one file; the arguments are fields of `FileWords`."""
    return build_terms_many(
        [FileWords(path, chunks, enclosing, symbol_names, fq_names, references)]
    )[0]


def build_terms_many(files: Sequence[FileWords]) -> list[Terms]:
    """Count the terms of each file, in one pass; a file's terms depend on nothing but itself."""
    texts = [chunk for file in files for chunk in file.chunks]
    numbers: dict[str, int] = {}  # many chunks have the same symbols around them
    context = [
        numbers.setdefault(context_text(file.path, names), len(numbers))
        for file in files
        for names in file.enclosing
    ]
    after_chunks, after_contexts = len(texts), len(texts) + len(numbers)
    texts += numbers
    texts += [file.path for file in files]
    texts += [" ".join(file.symbol_names) for file in files]
    counts = count_terms(texts)
    own_context = np.array(context, np.int64) + after_chunks
    context_sizes = np.diff(counts.offsets)[own_context]
    return _split(
        files,
        counts,
        bounds(context_sizes),
        counts.hashes[ranges(counts.offsets[own_context], context_sizes)],
        _count_fields(files, counts, after_contexts),
    )


def _count_fields(
    files: Sequence[FileWords], counts: TermCounts, after_contexts: int
) -> tuple[I8, U8, I8]:
    """Offsets by file, hashes and counts of the terms and names that are salted by their field."""
    offsets = counts.offsets[after_contexts:]
    after_paths = len(files)
    in_fields = slice(int(offsets[0]), None)
    hashes = [counts.hashes[in_fields].copy()]
    in_paths = int(offsets[after_paths] - offsets[0])
    hashes[0][:in_paths] ^= np.uint64(field_salt(PATH))
    hashes[0][in_paths:] ^= np.uint64(field_salt(SYMBOL))
    numbers = np.arange(len(files))
    owners = [np.repeat(np.tile(numbers, 2), np.diff(offsets))]
    tf = [counts.tf[in_fields]]
    for field, names in (
        (DEFINED, [file.symbol_names for file in files]),
        (DEFINED_LOWER, [[name.lower() for name in file.symbol_names] for file in files]),
        (STEM, [[file_stem(file.path)] for file in files]),
        (REFERENCE, [file.references for file in files]),
        (QUALIFIED, [file.fq_names for file in files]),
    ):
        together = [name for own in names for name in own]
        known = _hashes(together) if field == QUALIFIED else hash_names(together)
        hashes.append(known ^ np.uint64(field_salt(field)))
        owners.append(np.repeat(numbers, [len(own) for own in names]))
        tf.append(_uses(files) if field == REFERENCE else np.ones(len(together), np.int64))
    return _distinct(np.concatenate(owners), np.concatenate(hashes), np.concatenate(tf), len(files))


def _hashes(names: Sequence[str]) -> U8:
    """One hash for each name; full names hardly ever come twice, to remember them is no use."""
    return np.fromiter(map(hash_term, names), np.uint64, len(names))


def _uses(files: Sequence[FileWords]) -> I8:
    """How often each reference of each file counts."""
    return np.array(
        [count for file in files for count in file.reference_counts or [1] * len(file.references)],
        np.int64,
    )


def _split(
    files: Sequence[FileWords],
    counts: TermCounts,
    context_offsets: I8,
    context_hashes: U8,
    fields: tuple[I8, U8, I8],
) -> list[Terms]:
    """Give each file its part of the arrays; chunks and contexts stand in the files' order."""
    chunk_hash, chunk_tf = counts.hashes.astype("<u8"), _saturated(counts.tf)
    lengths = counts.lengths.astype("<u4")
    context_hash = context_hashes.astype("<u8")
    field_hash, field_tf = fields[1].astype("<u8"), _saturated(fields[2])
    field_ends = fields[0].tolist()
    path_lengths = counts.lengths[-2 * len(files) : -len(files)].tolist()
    symbols_lengths = counts.lengths[-len(files) :].tolist()
    found = []
    first = 0
    for number, file in enumerate(files):
        last = first + len(file.chunks)
        chunk_bounds = counts.offsets[first : last + 1]
        context_bounds = context_offsets[first : last + 1]
        in_chunks = slice(int(chunk_bounds[0]), int(chunk_bounds[-1]))
        in_contexts = slice(int(context_bounds[0]), int(context_bounds[-1]))
        in_fields = slice(field_ends[number], field_ends[number + 1])
        found.append(
            Terms(
                chunk_offsets=(chunk_bounds - in_chunks.start).astype("<u4").tobytes(),
                chunk_hash=chunk_hash[in_chunks].tobytes(),
                chunk_tf=chunk_tf[in_chunks].tobytes(),
                chunk_length=lengths[first:last].tobytes(),
                context_offsets=(context_bounds - in_contexts.start).astype("<u4").tobytes(),
                context_hash=context_hash[in_contexts].tobytes(),
                field_hash=field_hash[in_fields].tobytes(),
                field_tf=field_tf[in_fields].tobytes(),
                path_length=path_lengths[number],
                symbols_length=symbols_lengths[number],
            )
        )
        first = last
    return found


def context_text(path: str, enclosing: Sequence[str]) -> str:
    """What a chunk's vector holds beside the chunk: its path and the names around it."""
    return f"{path} {' '.join(enclosing)}"


def _saturated(tf: I8) -> U1:
    return np.minimum(tf, 255).astype(np.uint8)
