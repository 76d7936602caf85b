"""What is a class's table called where frameworks make it the plural of its name?"""

from __future__ import annotations

import re

_ODD = {
    "person": "people", "man": "men", "woman": "women", "child": "children", "mouse": "mice",
    "datum": "data", "medium": "media", "status": "statuses", "quiz": "quizzes", "ox": "oxen",
    "analysis": "analyses", "index": "indices", "vertex": "vertices", "matrix": "matrices",
}  # fmt: skip
_SAME = frozenset(
    [
        "equipment",
        "information",
        "rice",
        "money",
        "species",
        "series",
        "fish",
        "sheep",
        "jeans",
        "police",
        "news",
        "data",
        "media",
    ]
)


def plural(name: str) -> str:
    """Return the plural of a snake_case name: of its last word."""
    head, underscore, word = name.rpartition("_")
    return head + underscore + _word(word)


def _word(word: str) -> str:
    if word in _SAME:
        return word
    if word in _ODD:
        return _ODD[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if re.search(r"(?:s|x|z|ch|sh)$", word):
        return word + "es"
    if re.search(r"[^f]fe$", word):
        return word[:-2] + "ves"
    return word + "s"
