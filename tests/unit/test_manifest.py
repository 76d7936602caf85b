"""How many symbols does an edit touch?"""

from __future__ import annotations

import pytest

from contracts.extract import pack
from contracts.filemap import Entry, FileFacts
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.resolver.content import Kept
from services.resolver.manifest import symbols_changed

SHOP = """
def price():
    return 1


def tax(rate):
    return rate + 2
"""


def _kept(text: str) -> Kept:
    found = extract_file(RepoPath("shop.py"), text.encode())
    assert found.extract is not None
    return Kept(FileFacts("shop.py", "0", "python"), pack(found.extract).body)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (SHOP, 0),
        (f"\n\n{SHOP}", 0),  # moved
        (SHOP.replace("return 1", "return 2"), 1),  # of the same length
        (SHOP.replace("rate + 2", "rate - 2"), 1),
        (SHOP.replace("price", "cost"), 2),  # one name went, one came
        (SHOP.replace("tax(rate)", "tax(rate=1)"), 1),
        ("", 2),
    ],
)
def test_every_edit_of_a_symbol_counts(text: str, changed: int) -> None:
    after = _kept(text)
    entry = Entry(after.file, body=after.body)
    assert symbols_changed(_kept(SHOP), entry) == changed
    assert symbols_changed(None, entry) == len(_names(text))


def _names(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("def ")]
