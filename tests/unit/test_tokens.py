"""Token counts are exact whichever engine makes them."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import InvalidArgument, Unavailable
from services.source import tokens

ADVERSARIAL = [
    "",
    " ",
    "<|endoftext|> and <|fim_prefix|><|endofprompt|>",
    "I'LL don'T we'Re x'S",
    "a" * 5_000,
    "ab" * 5_000,
    " " * 5_000 + "x",
    "\n" * 3_000 + "\r\n\t \r\n",
    "\x00\x01\x7f" * 300,
    "/" * 3_000 + "\n///",
    "\uff11\uff12\uff13\uff145678\uff19",
    "\u2028\u00a0\u3000 a\u200b\ufeffb",
    "e\u0301" * 200 + "ǅ" + "\u017f's K'K",
    "🏳️\u200d🌈👩\u200d👩\u200d👧" * 50,
    "мама мыла раму 中文字符 हिन्दी ไทย",
    "def f(self, *, key: dict[str, int] = {}) -> None:\n\treturn self.__x\n" * 20,
    '{"a":[1,2,3],"b":"\\u00e9"}' * 50,
    "camelCaseHTTPServer2XMLParser_v10",
]


@pytest.fixture(scope="module", params=tokens.ENCODINGS)
def engines(request: pytest.FixtureRequest) -> tuple[tokens.QuickEngine, tokens.ReferenceEngine]:
    return tokens.QuickEngine(request.param), tokens.ReferenceEngine(request.param)


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_both_engines_give_the_same_tokens(engines, text):
    quick, reference = engines
    assert quick.encode(text) == reference.encode(text)
    assert quick.count(text) == reference.count(text) == len(reference.encode(text))


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab AB01\n\r\t '/\u00a0é中\u0301ǅ!_-\u200d😀sS"), max_size=60)
)
def test_both_engines_count_the_same_on_random_text(text):
    for encoding in tokens.ENCODINGS:
        assert _quick(encoding).count(text) == _reference(encoding).count(text)


_ENGINES: dict[tuple[str, str], object] = {}


def _quick(encoding: str) -> tokens.QuickEngine:
    return _ENGINES.setdefault(("quick", encoding), tokens.QuickEngine(encoding))


def _reference(encoding: str) -> tokens.ReferenceEngine:
    key = ("reference", encoding)
    if key not in _ENGINES:
        _ENGINES[key] = tokens.ReferenceEngine(encoding)
    return _ENGINES[key]


def test_known_counts_of_the_published_encodings():
    assert tokens.count("hello world") == 2
    assert tokens.count("hello world", "cl100k_base") == 2
    assert tokens.count("antidisestablishmentarianism", "cl100k_base") == 6
    assert tokens.count("antidisestablishmentarianism", "o200k_base") == 6


def test_special_tokens_count_as_the_text_they_are():
    assert tokens.count("<|endoftext|>") > 1


def test_lone_surrogates_count_like_replacement_characters():
    assert tokens.count("a\ud800b") == tokens.count("a\ufffd\ufffd\ufffdb")


def test_the_reference_survives_a_blank_run_that_overflows_its_matcher():
    text = "x" + " " * 1_200_000 + "y"
    reference = _reference("o200k_base").count(text)
    assert abs(reference - _quick("o200k_base").count(text)) <= 24


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
@pytest.mark.parametrize("limit", [0, 1, 2, 7, 100, 10_000])
def test_truncated_text_is_a_prefix_within_the_limit(text, limit):
    cut = tokens.truncate(text, limit)
    assert text.startswith(cut)
    assert tokens.count(cut) <= limit
    if tokens.count(text) <= limit:
        assert cut == text


def test_truncation_keeps_nearly_all_tokens_allowed():
    text = "".join(f"value_{number} = compute({number})\n" for number in range(2_000))
    cut = tokens.truncate(text, 500)
    assert 495 <= tokens.count(cut) <= 500


def test_an_unknown_encoding_is_refused_by_name():
    with pytest.raises(InvalidArgument, match="gpt2"):
        tokens.count("x", "gpt2")


def test_a_damaged_vocabulary_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/o200k_base.tiktoken.xz").write_bytes(lzma.compress(b"YQ== 0\n"))
    monkeypatch.setattr(tokens.resources, "files", lambda _package: tmp_path)
    with pytest.raises(Unavailable, match="SHA-256"):
        tokens.ReferenceEngine("o200k_base")
