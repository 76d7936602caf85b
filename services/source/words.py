"""What are the terms of a word, and by which number is a term known?

- A word is a run of letters, digits and underscores, cut where the case changes, at underscores
  and between letters and digits: `HTTPServer2_name` gives http, server, 2, name. A word that had
  several parts also gives its parts joined (`httpserver2name`), so that it can be found whole.
- Letters are folded first (full-width forms, ligatures, accents, dotless i, digits of any script),
  then lower-cased and lightly stemmed. Single letters are dropped, single digits kept. A word that
  folding changed also gives itself as it is written, so that the exact form is preferred.
- Runs in scripts that put no space between words (Han, Kana, Hangul, Thai, Khmer, ...) give each
  pair of neighbouring characters. Of Han, Kana and Hangul a text also gives each character, so that
  a query of one character finds longer words; a query gives it only where it stands alone.
- A term is known by 64 bits: xxh3 of its UTF-8 bytes, exclusive-or a constant of its field, so a
  whole array of body hashes becomes path hashes with one numpy operation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

import xxhash

PATH: Final = "path"  # terms of the path
SYMBOL: Final = "symbol"  # terms of the names declared in the file
DEFINED: Final = "def"  # a declared name, exact case
DEFINED_LOWER: Final = "deflow"  # a declared name, lower case
STEM: Final = "stem"  # the file's stem, see `file_stem`
REFERENCE: Final = "ref"  # a simple name that the file uses, exact case
QUALIFIED: Final = "fq"  # the fully qualified name of a declaration, exact case

MAX_WORD_CHARS = 200  # a longer word is data (base64, a minified line): it gives no terms
MAX_JOINED_CHARS = 60
# Scripts written without spaces, and Hangul, whose particles hang on the word.
_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f"
    "\u3005-\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua980-\ua9df"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
# Vowel signs belong to the word although `\w` leaves them out.
_VOWEL_SIGNS = (
    "\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
    "\u0f71-\u0f84\u0f8d-\u0fbc\u102b-\u103e\u1056-\u1059\u105e-\u1064\u17b4-\u17d3"
)
# Of these a single character is a word, or nearly.
_SYLLABIC = re.compile(
    "[\u3005-\u3007\u3041-\u30fa\u30fd-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U000323af]"
)
_MARKS = (
    "\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200d"
    "\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
)
_ACCENTS = re.compile(f"[{_MARKS}]")


class _Letters(dict[int, str | None]):
    """Code point -> what stands for it where Unicode knows no decomposition."""

    def __missing__(self, code: int) -> str | None:
        # Recorded either way, so that each code point is asked for once.
        digit = unicodedata.decimal(chr(code), -1)
        self[code] = str(digit) if digit >= 0 else chr(code)
        return self[code]


_STAND_INS: dict[str, str] = {
    "\u0131": "i", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ħ": "h", "Ħ": "H",
    "ŧ": "t", "Ŧ": "T", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ð": "d", "Ð": "D", "þ": "th",
    "Þ": "TH",
    # Arabic letters that are written in more than one way.
    "\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u0629": "\u0647",
    "\u0671": "\u0627",
}  # fmt: skip
_letters = _Letters({ord(letter): stand_in for letter, stand_in in _STAND_INS.items()})


_WORD = re.compile(rf"[\w{_VOWEL_SIGNS}]+")
_MARKED_WORD = re.compile(rf"[\w{_VOWEL_SIGNS}][\w{_VOWEL_SIGNS}{_MARKS}]*")
DOTTED_WORD = re.compile(rf"[\w.\-{_VOWEL_SIGNS}{_MARKS}]+")  # a word or a file's name
_RUN = re.compile(rf"[{_UNSPACED}]")
_UNSPACED_SHAPE = "\u4e00"
_PART = re.compile(
    rf"[A-Z]{{2,}}(?=s(?![a-z]))|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|{_UNSPACED_SHAPE}+"
)
_PART_OR_END = re.compile(rf"{_PART.pattern}|\n")


def fold(text: str) -> str:
    """`text` with compatibility forms unified and accents removed; ASCII text is returned as is."""
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).translate(_letters)
    return unicodedata.normalize("NFC", bare)


def stem(word: str) -> str:
    """A lower-case word without its plural, -ing, -ed and final e; both sides of a search agree."""
    if len(word) <= 3 or word[-1] not in "sgde":
        return word
    if word[-1] == "s":
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        if word.endswith("sses"):
            return word[:-2]
        if not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if word.endswith("ing") and len(word) > 5:
        word = _undoubled(word[:-3])
    elif word.endswith("ed") and len(word) > 4:
        word = _undoubled(word[:-2])
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _undoubled(word: str) -> str:
    doubled = len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if doubled else word


class _Shapes(dict[int, str]):
    """Code point -> the ASCII character (or the unspaced mark) that splits the way it does."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _RUN.match(char):
            shape = _UNSPACED_SHAPE
        elif char == "_" or char.isnumeric():
            shape = "_" if char == "_" else "0"
        else:
            shape = "A" if char.isupper() or char.istitle() else "a"
        self[code] = shape
        return shape


_shapes = _Shapes()


def split_word(word: str) -> list[str]:
    """A folded word's parts as written, in order."""
    if word.isascii():
        return _PART.findall(word)
    shape = word.translate(_shapes)
    return [word[found.start() : found.end()] for found in _PART.finditer(shape)]


def split_lines(words: str) -> list[str]:
    """The parts of ASCII words, one word a line; each line's end is a part of its own."""
    return _PART_OR_END.findall(words)


def _run_terms(run: str, *, singles: bool) -> list[str]:
    """Terms of a run in a script without spaces."""
    if len(run) == 1:
        return [run]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return pairs + _SYLLABIC.findall(run) if singles else pairs


def _word_terms(word: str, *, singles: bool) -> list[str]:
    """Terms of one folded word."""
    if len(word) > MAX_WORD_CHARS and not _RUN.search(word):
        return []
    terms: list[str] = []
    parts = split_word(word)
    unspaced = False
    for part in parts:
        if _RUN.match(part):
            unspaced = True
            terms += _run_terms(part, singles=singles)
        elif len(part) > 1:
            terms.append(stem(part.casefold()))
        elif part.isnumeric():
            terms.append(part)
    if len(parts) > 1 and not unspaced:
        joined = "".join(parts).casefold()
        if len(joined) <= MAX_JOINED_CHARS:
            terms.append(joined)
    return terms


def tokenise(text: str, *, singles: bool = True) -> list[str]:
    """Terms of `text` in order, each joined identifier after its parts, the written form last.

    Without `singles`, as for queries, runs in scripts without spaces give pairs only.
    """
    if text.isascii():
        words = _WORD.findall(text)
        return [term for word in words for term in _word_terms(word, singles=singles)]
    terms: list[str] = []
    for written in _MARKED_WORD.findall(unicodedata.normalize("NFKC", text)):
        folded = fold(written)
        for word in _WORD.findall(folded):
            terms += _word_terms(word, singles=singles)
        exact = written.casefold()
        differs = folded and exact != folded.casefold() and not _RUN.search(folded)
        if differs and 1 < len(exact) <= MAX_JOINED_CHARS:
            terms.append(exact)
    return terms


def tokenise_each(words: Sequence[str]) -> list[list[str]]:
    """What `tokenise` gives for each word, with the letters of all folded at once."""
    written = unicodedata.normalize("NFKC", "\n".join(words)).split("\n")
    folded = fold("\n".join(written)).split("\n")
    if not len(words) == len(written) == len(folded):  # a word that holds a line's end
        return [tokenise(word) for word in words]
    return [
        _plain_terms(exact.casefold(), bare)
        if _is_one_part(bare) and _MARKED_WORD.fullmatch(exact)
        else tokenise(word)
        for word, exact, bare in zip(words, written, folded, strict=True)
    ]


def _is_one_part(word: str) -> bool:
    """Whether a folded word is surely one part, in a script that puts spaces between words."""
    if not 1 < len(word) <= MAX_WORD_CHARS or not word.isalpha() or _RUN.search(word):
        return False
    return word == word.lower() or (word[0].isupper() and word[1:].islower())


def _plain_terms(exact: str, folded: str) -> list[str]:
    plain = folded.casefold()
    written = [exact] if exact != plain and 1 < len(exact) <= MAX_JOINED_CHARS else []
    return [stem(plain), *written]


_digest = xxhash.xxh3_64_intdigest


def _hash(term: str) -> int:
    return _digest(term.encode("utf-8", "replace"))


_SALTS: Final[dict[str, int]] = {
    "": 0,
    **{
        field: _hash(f"field {field}")
        for field in (PATH, SYMBOL, DEFINED, DEFINED_LOWER, STEM, REFERENCE, QUALIFIED)
    },
}


def field_salt(field: str) -> int:
    """The constant that turns a body hash into the hash of the same term in `field`."""
    return _SALTS[field]


def hash_term(term: str, field: str = "") -> int:
    """64-bit identity of a term of a body ("") or of one of the fields named above."""
    return _digest(term.encode("utf-8", "replace")) ^ _SALTS[field]


_NAMELESS_STEMS = frozenset({"index", "init", "mod", "main", "lib"})


def normal_stem(text: str) -> str:
    """Letters and digits of `text`, folded, in lower case: how stems are compared."""
    return "".join(_WORD.findall(fold(text))).replace("_", "").casefold()


def file_stem(path: str) -> str:
    """The normal stem of a file; that of its folder when the file is an index, main, lib, ..."""
    folder, _, name = path.rpartition("/")
    own = normal_stem(name.rpartition(".")[0] or name)
    return (normal_stem(folder.rpartition("/")[2]) or own) if own in _NAMELESS_STEMS else own


def plural_variant(word: str) -> str:
    """`word` without its final s, or with one."""
    return word[:-1] if word.endswith("s") else word + "s"
