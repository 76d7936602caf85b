"""How are the posting lists of the lexical index made, joined and looked up?

Pure array work, a few vectorised passes for each operation whatever the number of terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from store.segment_format import U1, U8, Ordinals, Postings

I8 = NDArray[np.int64]


def invert(hashes: U8, terms_of_owner: I8, tf: U1) -> Postings:
    """Turn term lists, owner after owner, into postings; `terms_of_owner` gives their lengths."""
    order = _stable_order(hashes)
    ordered = hashes[order]
    heads = _run_heads(ordered)
    owners = np.repeat(np.arange(len(terms_of_owner), dtype=np.uint32), terms_of_owner)
    return Postings(
        terms=ordered[heads],
        starts=np.append(heads, len(hashes)).astype(np.uint32),
        ordinals=owners[order],
        tf=tf[order],
    )


def renumber(postings: Postings, number: I8, *, all_live: bool) -> Postings:
    """Give every ordinal its new number and drop the postings of those without one (-1)."""
    ordinals = number[postings.ordinals]
    if all_live:
        return Postings(postings.terms, postings.starts, ordinals.astype(np.uint32), postings.tf)
    keep: NDArray[np.bool_] = ordinals >= 0
    kept_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(keep)))
    starts = kept_before[postings.starts]
    is_left = np.diff(starts) > 0
    return Postings(
        terms=postings.terms[is_left],
        starts=np.append(starts[:-1][is_left], starts[-1]).astype(np.uint32),
        ordinals=ordinals[keep].astype(np.uint32),
        tf=postings.tf[keep],
    )


def join(parts: Sequence[Postings], *, is_woven: bool) -> Postings:
    """Join the lists of equal terms in the order of `parts`.

    `is_woven` says that ordinals of one part may lie between those of another, so that each list
    has to be sorted.
    """
    terms = np.concatenate([part.terms for part in parts])
    lengths = np.concatenate([np.diff(part.starts) for part in parts]).astype(np.int64)
    ordinals = np.concatenate([part.ordinals for part in parts])
    tf = np.concatenate([part.tf for part in parts])

    order = np.argsort(terms, kind="stable")  # sorted runs: the sort only merges them
    sources = (np.cumsum(lengths) - lengths)[order]
    lengths, terms = lengths[order], terms[order]
    targets = np.cumsum(lengths) - lengths
    gather = np.repeat(sources - targets, lengths)
    gather += np.arange(len(gather))
    ordinals, tf = ordinals[gather], tf[gather]

    heads = _run_heads(terms)
    starts = np.append(targets[heads], len(tf)).astype(np.uint32)
    if is_woven:
        ranks = np.repeat(np.arange(len(heads), dtype=np.uint64), np.diff(starts))
        inner = np.argsort((ranks << np.uint64(32)) | ordinals, kind="stable")
        ordinals, tf = ordinals[inner], tf[inner]
    return Postings(terms[heads], starts, ordinals, tf)


def ranges(postings: Postings, terms: U8) -> tuple[I8, I8]:
    """Return where the postings of each of `terms` start and stop; equal when there are none."""
    if not len(postings.terms) or not len(terms):
        nowhere = np.zeros(len(terms), np.int64)
        return nowhere, nowhere
    at = np.minimum(np.searchsorted(postings.terms, terms), len(postings.terms) - 1)
    starts = postings.starts[at].astype(np.int64)
    stops = np.where(postings.terms[at] == terms, postings.starts[at + 1], starts)
    return starts, stops.astype(np.int64)


def lookup(postings: Postings, term: int) -> tuple[Ordinals, U1]:
    """Return the ordinals that hold the term, and how often."""
    starts, stops = ranges(postings, np.array([term], np.uint64))
    span = slice(int(starts[0]), int(stops[0]))
    return postings.ordinals[span], postings.tf[span]


def _stable_order(hashes: U8) -> I8:
    """Return the stable sorting order, by sorting values instead of positions: far faster.

    The low bits of each hash give way to its position. Two hashes that then look alike (rare) may
    come out mixed, which the check sees.
    """
    bits = np.uint64(max(len(hashes) - 1, 0).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    keys = (hashes & ~low) | np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order = (keys & low).astype(np.int64)
    ordered = hashes[order]
    if np.any(ordered[1:] < ordered[:-1]):
        return np.argsort(hashes, kind="stable")
    return order


def _run_heads(values: NDArray[Any]) -> I8:
    """Return where runs of equal values begin."""
    is_head = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_head[1:])
    return np.flatnonzero(is_head)
