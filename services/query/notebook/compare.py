"""Does a statement agree with what is stored?"""

from __future__ import annotations

from msgspec import Struct

from services.query.notebook.words import fact_terms, is_negated, jaccard

ALIKE = 0.35  # below it two statements are taken to be about different things
_MOST_TERMS = 12


class Comparison(Struct, frozen=True):
    """A stored statement beside a candidate."""

    conflict: bool
    similarity: float  # 0..1, three decimals
    added: tuple[str, ...]  # terms of the candidate alone
    removed: tuple[str, ...]  # terms of the stored statement alone


def compare_fact(stored: str, candidate: str) -> Comparison:
    """Compare by terms, and by whether one of the two denies."""
    before, after = fact_terms(stored), fact_terms(candidate)
    similarity = round(jaccard(before, after), 3)
    known, given = set(before), set(after)
    return Comparison(
        conflict=is_negated(stored) != is_negated(candidate) or similarity < ALIKE,
        similarity=similarity,
        added=tuple(term for term in after if term not in known)[:_MOST_TERMS],
        removed=tuple(term for term in before if term not in given)[:_MOST_TERMS],
    )
