"""Digests name content, old ones are checked under their own algorithm, a NUL makes a file binary."""

from __future__ import annotations

import hashlib

import pytest

from contracts.errors import InvalidArgument
from services.source.digest import RunningDigest, digest_of, holds
from services.source.sniff import is_binary


def test_a_digest_is_xxh3_with_128_bits_in_canonical_order() -> None:
    # The two reference values of the algorithm's own test suite that need no seed.
    assert digest_of(b"") == "xx128:99aa06d3014798d86001c324468d497f"
    assert digest_of(b"a") == "xx128:a96faf705af16834e6c632b61e964e1f"


def test_a_digest_fed_in_pieces_is_the_digest_of_the_whole() -> None:
    running = RunningDigest()
    for piece in (b"one ", b"", b"two"):
        running.update(piece)

    assert running.value() == digest_of(b"one two")


def test_a_digest_holds_for_its_content_only() -> None:
    assert holds(digest_of(b"text"), b"text")
    assert not holds(digest_of(b"text"), b"test")


def test_an_old_digest_is_checked_as_sha256() -> None:
    old = hashlib.sha256(b"text").hexdigest()

    assert holds(old, b"text")
    assert holds(old.upper(), b"text")
    assert not holds(old, b"test")


@pytest.mark.parametrize("text", ["", "xx128:", "xx128:" + "g" * 32, "sha1:" + "0" * 40, "0" * 63])
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="not a digest"):
        holds(text, b"")


def test_only_a_nul_among_the_first_8000_bytes_makes_a_file_binary() -> None:
    assert is_binary(b"\0")
    assert is_binary(b"a" * 7_999 + b"\0")
    assert not is_binary(b"a" * 8_000 + b"\0")
    assert not is_binary(b"")
    assert not is_binary("naïve\x01\x7f".encode("latin-1"))
