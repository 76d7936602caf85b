"""What do files give to the index of their manifest? Pure: bodies and edges in, columns out."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from contracts.extract import Body
from contracts.filemap import SYMBOL_KINDS, Columns, joined, keys_of, pack_facts
from services.resolution.edges import FileEdges
from services.resolution.ids import stable_numbers, symbol_id, symbol_kind
from services.resolver.links import links_of
from services.resolver.posting_batches import postings_of_each

_BATCH_FILES = 128
_BATCH_SYMBOLS = 8_192  # bodies of a batch are in memory together
_SNIPPET = 160  # characters of a doc that a hit shows
_QUALITIES = {"full": 2, "partial": 1}
_KINDS = {kind: number for number, kind in enumerate(SYMBOL_KINDS)}


class ResolvedFile(NamedTuple):
    """What is known of a file once its names are resolved."""

    path: str
    language: str
    quality: str
    body: Body
    edges: FileEdges
    summary: bytes = b""


def columns_of_each(files: Iterable[ResolvedFile]) -> Iterator[tuple[ResolvedFile, Columns]]:
    """Each file with its columns, worked out many at once; the same file gives the same bytes."""
    batch: list[ResolvedFile] = []
    symbols = 0
    for file in files:
        batch.append(file)
        symbols += len(file.body.symbols)
        if len(batch) == _BATCH_FILES or symbols >= _BATCH_SYMBOLS:
            yield from zip(batch, _columns_of_each(batch), strict=True)
            batch, symbols = [], 0
    if batch:
        yield from zip(batch, _columns_of_each(batch), strict=True)


def _columns_of_each(files: Sequence[ResolvedFile]) -> list[Columns]:
    symbols = list(chain.from_iterable([file.body.symbols for file in files]))
    ids = [symbol_id(file.language, symbol) for file in files for symbol in file.body.symbols]
    kinds = bytes([_KINDS.get(symbol_kind(symbol), 0) for symbol in symbols])
    code = [symbol if kind else None for symbol, kind in zip(symbols, kinds, strict=True)]
    names = [symbol.name for symbol in symbols]
    signatures = [symbol.signature if symbol else "" for symbol in code]
    docs = [_snippet(symbol.doc) if symbol and symbol.doc else "" for symbol in code]
    id_keys = _packed("Q", keys_of(ids))
    stable = [stable_numbers(file.path, file.language, file.body.symbols) for file in files]
    stable_keys = _packed("Q", list(chain.from_iterable(stable)))
    starts = _packed("I", [symbol.start_line for symbol in symbols])
    ends = _packed("I", [symbol.end_line for symbol in symbols])
    parents = _packed("i", [symbol.parent for symbol in symbols])
    bounds = list(pairwise(accumulate([len(file.body.symbols) for file in files], initial=0)))
    all_postings = postings_of_each([code[first:last] for first, last in bounds])
    all_links = links_of([file.edges for file in files])
    return [
        Columns(
            ids=joined(ids[first:last]),
            names=joined(names[first:last]),
            id_key=id_keys[8 * first : 8 * last],
            stable_key=stable_keys[8 * first : 8 * last],
            kind=kinds[first:last],
            start=starts[4 * first : 4 * last],
            end=ends[4 * first : 4 * last],
            parent=parents[4 * first : 4 * last],
            terms=joined(postings.terms),
            posting_term=postings.term,
            posting_symbol=postings.symbol,
            posting_weight=postings.weight,
            link_key=links.key,
            link_tag=links.tag,
            link_kind=links.kind,
            # of a file that did not parse as a whole nothing is certain
            link_confidence=links.confidence if file.quality == "full" else bytes(len(links.tag)),
            link_source=links.source,
            link_line=links.line,
            link_row=links.row,
            quality=_QUALITIES.get(file.quality, 0),
            references=len(file.edges.kind),
            language=file.language,
            facts=pack_facts(file.body.facts),
            signatures=joined(signatures[first:last]),
            docs=joined(docs[first:last]),
        )
        for file, (first, last), postings, links in zip(
            files, bounds, all_postings, all_links, strict=True
        )
    ]


def _snippet(doc: str) -> str:
    return " ".join(doc.split())[:_SNIPPET]


def _packed(code: str, values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)
