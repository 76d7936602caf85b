"""People's languages: what is written in any script or encoding is found by a query in it."""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

FILES = {
    "ja/library.py": ("utf-8", "# 図書館の本を検索する\ndef find_book(title):\n    return title\n"),
    "ja/payment.py": (
        "cp932",
        "# 支払いを処理する。注文を確認\ndef pay(order):\n    return order\n",
    ),
    "ja/users.py": (
        "utf-8",
        "class ユーザー管理:\n    def 追加(self, 名前):\n        return 名前\n",
    ),
    "zh/login.py": ("gb18030", "# 用户登录失败时记录日志，请不要修改\ndef login():\n    pass\n"),
    "zh/cache.py": ("utf-8", "# 清除数据库连接的缓存\ndef clear():\n    pass\n"),
    "ko/mail.py": ("utf-8", "# 이메일을 보내는 함수\ndef send():\n    pass\n"),
    "th/files.txt": ("utf-8", "ฟังก์ชันนี้ค้นหาไฟล์ในโฟลเดอร์\n"),
    "km/files.txt": ("utf-8", "ស្វែងរកឯកសារនៅក្នុងថត\n"),
    "hi/search.txt": ("utf-8", "यह फ़ंक्शन उपयोगकर्ता की खोज करता है\n"),
    "ru/base.py": ("cp1251", "# Проверить соединение с базой данных\ndef check():\n    pass\n"),
    "el/myth.txt": ("utf-8", "Ο Σίσυφος σπρώχνει τον βράχο\n"),
    "ar/hello.txt": ("utf-8", "مَرْحَبًا بِالعَالَم الجديد\n"),
    "he/hello.txt": ("utf-8", "שָׁלוֹם עוֹלָם חדש\n"),
    "de/window.py": ("latin-1", "# Größe des Fensters prüfen\ndef size():\n    pass\n"),
    "de/street.py": ("utf-8", "def straße_suchen(name):\n    return name\n"),
    "fr/accented.txt": ("utf-8", "Le résumé du candidat\n"),
    "fr/plain.txt": ("utf-8", "The resume of a candidate\n"),
    "tr/city.txt": ("utf-8", "İstanbul ve Isparta hakkında ışık\n"),
    "win/report.txt": ("utf-16", "Quarterly ledger of the zebra department\n"),
    "wide/code.txt": ("utf-8", "Ｆｕｌｌｗｉｄｔｈ　ｍａｒｋｅｒ\n"),
    "emoji/party.txt": ("utf-8", "🎉 party 👩‍💻 time ❤️\n"),
}
QUESTIONS = [
    ("図書館", "ja/library.py"),
    ("図", "ja/library.py"),
    ("本を検索", "ja/library.py"),
    ("支払い", "ja/payment.py"),
    ("ユーザー管理", "ja/users.py"),
    ("ﾕｰｻﾞｰ管理", "ja/users.py"),
    ("用户登录", "zh/login.py"),
    ("缓存", "zh/cache.py"),
    ("이메일", "ko/mail.py"),
    ("ค้นหาไฟล์", "th/files.txt"),
    ("ស្វែងរកឯកសារ", "km/files.txt"),
    ("उपयोगकर्ता खोज", "hi/search.txt"),
    ("соединение с базой", "ru/base.py"),
    ("СОЕДИНЕНИЕ", "ru/base.py"),
    ("ΣΊΣΥΦΟΣ", "el/myth.txt"),
    ("σισυφος", "el/myth.txt"),
    ("مرحبا", "ar/hello.txt"),
    ("שלום", "he/hello.txt"),
    ("Fenster Größe", "de/window.py"),
    ("GROSSE Fensters", "de/window.py"),
    ("strasse suchen", "de/street.py"),
    ("STRAßE", "de/street.py"),
    ("résumé", "fr/accented.txt"),
    ("resume", "fr/plain.txt"),
    ("istanbul", "tr/city.txt"),
    ("isik", "tr/city.txt"),
    ("ledger zebra", "win/report.txt"),
    ("fullwidth marker", "wide/code.txt"),
    ("🎉 party", "emoji/party.txt"),
]


@pytest.fixture
async def running(broker: Broker, tmp_path: Path) -> AsyncIterator[Node]:
    root = tmp_path / "tree"
    for path, (encoding, text) in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode(encoding))
    async with node(broker, tmp_path / "state", root) as started:
        await started.add(root)
        await started.indexed()
        yield started


async def first(running: Node, query: str) -> str:
    found = await running.call("repocontext_search", repoId="demo", query=query, k=3)
    return str(found.hits[0].entry.path) if found.hits else ""


async def test_every_language_finds_its_file(running: Node) -> None:
    found = {query: await first(running, query) for query, _ in QUESTIONS}

    assert found == dict(QUESTIONS)


async def test_the_other_spelling_is_found_after_the_exact_one(running: Node) -> None:
    for query in ("résumé", "resume"):
        found = await running.call("repocontext_search", repoId="demo", query=query, k=5)
        paths = [hit.entry.path for hit in found.hits]
        assert {"fr/accented.txt", "fr/plain.txt"} <= set(paths[:2])


async def test_odd_queries_are_answered(running: Node) -> None:
    for query in ("x", "🎉", "the of and", "?!", "\u0301", "日" * 4_000, "'" * 4_000):
        found = await running.call("repocontext_search", repoId="demo", query=query, k=500)
        assert len(found.hits) <= len(FILES), query[:9]
