"""Where do notes stand among the files that answer a question?

A note is held against the files by the evidence of its text (ranking/yardstick.py): it stands where
a file would whose best passage has nearly as much. Evidence by words counts by the share of the question
that the note covers, so that one word in common does not bring up a short note. The files keep their
scores and their order. However many notes there are, after the first they get one place in four
while there are files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from contracts.notes import Note
from services.query.notebook.book import NoteBook
from services.query.notebook.lexicon import F8, best
from services.query.ranking.corpus import F4
from services.query.ranking.reasons import KeywordMatch, keyword_reasons, semantic_reasons
from services.query.ranking.yardstick import Yardstick, passage_bm25, word_worth
from services.source.terms import query_terms
from services.source.words import tokenise

_FILES_PER_NOTE = 3
# A note is a summary, and says once what code repeats: with equal evidence it is the better answer.
_WRITTEN_TO_BE_FOUND = 1.25
F = TypeVar("F")


class NoteHit(Struct, frozen=True):
    """One note of an answer."""

    note: Note
    score: float
    reasons: tuple[str, ...]
    by_meaning: bool


def own_yardstick(book: NoteBook, query: str, vector: F4 | None, space: str) -> Yardstick:
    """What notes are held against where there are no files."""
    words, lexicon = query_terms(query).words, book.texts.lexicon
    worth = (word_worth(len(lexicon.postings(word)[0]), lexicon.live) for word in words)
    return Yardstick(
        words=words, worth=tuple(worth), in_files=(False,) * len(words),
        mean_terms=lexicon.mean_length, best_evidence=0.0, best_score=1.0,
        vector=vector, space=space,
    )  # fmt: skip


def rank(
    book: NoteBook, yardstick: Yardstick, nearest: Sequence[tuple[bytes, float]], limit: int
) -> list[NoteHit]:
    """The best notes, at most `limit`. `nearest` are keys of notes and cosines, best first."""
    shelf = book.texts
    bm25, covered = _by_words(book, yardstick)
    cosine = np.zeros(shelf.lexicon.size)
    for key, value in nearest:
        slot = shelf.slot(key)
        if slot is not None:
            cosine[slot] = value
    evidence = yardstick.evidence(bm25 * covered, cosine)
    words = frozenset(yardstick.words)
    return [
        NoteHit(
            shelf.notes[slot],
            _WRITTEN_TO_BE_FOUND * yardstick.score(float(evidence[slot])),
            tuple(_reasons(shelf.notes[slot], words, by_meaning=bool(cosine[slot] > 0))),
            bool(cosine[slot] > 0),
        )
        for slot in best(evidence, limit).tolist()
    ]


def interleaved(
    files: Sequence[tuple[F, float]], notes: Sequence[NoteHit], limit: int
) -> list[F | NoteHit]:
    """Both by their scores, files first where these are equal; notes within their share.

    A note that had to wait for its place is told with the score it is placed by.
    """
    merged: list[F | NoteHit] = []
    placed_notes = placed_files = 0
    last = math.inf
    while len(merged) < limit and (placed_files < len(files) or placed_notes < len(notes)):
        file = files[placed_files] if placed_files < len(files) else None
        note = notes[placed_notes] if placed_notes < len(notes) else None
        has_share = placed_notes * _FILES_PER_NOTE <= placed_files
        if note is not None and (file is None or (has_share and note.score > file[1])):
            last = min(last, note.score)
            merged.append(replace(note, score=last))
            placed_notes += 1
        elif file is not None:
            last = file[1]
            merged.append(file[0])
            placed_files += 1
    return merged


def _by_words(book: NoteBook, yardstick: Yardstick) -> tuple[F8, F8]:
    """Each note's BM25 and the share of the question's worth that it covers, by slot."""
    lexicon = book.texts.lexicon
    bm25, covered = np.zeros(lexicon.size), np.zeros(lexicon.size)
    whole = 0.0
    for word, worth, in_files in zip(
        yardstick.words, yardstick.worth, yardstick.in_files, strict=True
    ):
        slots, counts = lexicon.postings(word)
        if in_files or len(slots):  # a word that is nowhere says nothing about what covers it
            whole += worth
        if len(slots):
            bm25[slots] += passage_bm25(worth, counts, lexicon.length(slots), yardstick.mean_terms)
            covered[slots] += worth
    return bm25, covered / max(whole, 1e-9)


def _reasons(note: Note, words: frozenset[str], *, by_meaning: bool) -> list[str]:
    if by_meaning:
        return semantic_reasons("memory", topic=note.topic)
    context = note.facts.context if note.facts is not None else ""
    return keyword_reasons(
        KeywordMatch(
            tags=[tag for tag in note.tags if _meets(words, tag)],
            topic=_meets(words, note.topic),
            content=_meets(words, f"{note.title}\n{note.body}\n{context}"),
            key=_meets(words, note.id),
        )
    )


def _meets(words: frozenset[str], text: str) -> bool:
    return not words.isdisjoint(tokenise(text))
