"""A bundle keeps its ceiling as it is sent, whatever the files, the budget and what is held already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp_types import JSONRPCResponse

from contracts.events.index import Possession
from contracts.extract import ChunkSpan, Symbol
from contracts.tools.context import Bundle, Level
from services.query import results
from services.query.bundle.answer import Answered, Question, answer
from services.query.bundle.candidates import Candidate, Source
from services.query.bundle.cost import SCAFFOLD, Prices
from services.query.bundle.pack import BUDGET_MOST, Order
from services.query.bundle.receipts import Held, held
from services.source import tokens

PRICES = Prices(tokens.count)
_SERVER = {"name": "repofold", "title": "Repofold", "version": "10.20.30"}
_STAMP = {"io.modelcontextprotocol/serverInfo": {**_SERVER, "description": "A live index of code repositories for coding agents."}}  # fmt: skip

PIECES = (
    "def place(self, basket):\n    return basket.total\n", "x = 1\n", '"' * 30, "\\" * 40, "\x00\x01\x1f\x7f",
    "\\\"\\n\\u0041", "注文を確定する", "🦘🧵👩‍👩‍👧‍👦", "\r\n\t\t", " " * 50, "\n\n\n", "a" * 60, "[]{}()<>;:,./|" * 4,
    "\u2028\u2029\u202e", "é\u0301", "0123456789" * 3, "'''\"\"\"`", "}]},{\"", "<|endoftext|>", "\b\f",
)  # fmt: skip
PARTS = ("src", "a b", "日本", "\\", '"', "x" * 80, "..", "\x01", "Z", "service.py")
LEVEL_CHOICES: tuple[Level | None, ...] = (None, None, "slices", "outline", "paths")


def text_of(random: Random) -> str:
    return "".join(random.choices(PIECES, k=int(60 * random.random() ** 2)))


def name_of(random: Random) -> str:
    return "/".join(random.choices(PARTS, k=random.randint(1, 5)))


def source_of(random: Random) -> Source:
    """A file with any text, cut anywhere, whose best passages are any."""
    text = None if random.random() < 0.1 else text_of(random)
    lines = 1 if text is None else text.count("\n") + 1
    cuts = sorted({1, lines + 1, *(random.randint(1, lines) for _ in range(random.randint(0, 6)))})
    chunks = tuple(ChunkSpan(0, 0, first, end - 1) for first, end in pairwise(cuts))
    symbols = tuple(
        Symbol("function", "f", name_of(random), f"def f{number}()", first, first + 5, 0, 0)
        for number in range(random.randint(0, 4))
        for first in (random.randint(1, lines),)
    )
    return Source(
        repo_id="demo",
        path=name_of(random),
        score=0.1234,
        reasons=tuple(f"symbol:{name_of(random)}" for _ in range(random.randint(0, 6))),
        digest="xx128:0",
        full_read_tokens=None if text is None else tokens.count(text),
        text=text,
        symbols=symbols,
        chunks=chunks,
        ranked=tuple(random.sample(range(len(chunks)), k=random.randint(0, len(chunks)))),
        symbol=symbols[0] if symbols else None,
    )


@dataclass
class Case:
    """One repository and one request."""

    files: Sequence[Source]
    budget: int
    top: int = 10
    level: Level | None = None
    task: str = "task"
    held: Held = field(default_factory=Held)

    def answer(self, budget: int | None = None, held: Held | None = None) -> Answered:
        question = Question(
            repo_id="demo",
            task=self.task,
            mode="semantic",
            path="semantic.approximate",
            session="s",
        )
        order = Order(budget or self.budget, self.top, self.level)
        return answer(question, self.candidates(), order, held or self.held, PRICES)

    def candidates(self) -> list[Candidate]:
        unique = {source.path: source for source in self.files}
        return [Candidate(source) for source in unique.values()]


def case_of(seed: int) -> Case:
    """Any repository and any request; by a seed, since drawing them piece by piece takes seconds."""
    random = Random(seed)
    return Case(
        files=[source_of(random) for _ in range(random.randint(0, 7))],
        budget=int(10 ** random.uniform(0, 4.3)),
        top=random.randint(1, 12),
        level=random.choice(LEVEL_CHOICES),
        task=text_of(random) or "task",
    )


cases = st.integers(0, 2**48).map(case_of)


def sent_tokens(bundle: Bundle) -> int:
    """Tokens of the whole message, as the SDK writes it."""
    result = {**results.of_answer(bundle), "_meta": _STAMP}
    message = JSONRPCResponse(jsonrpc="2.0", id=123_456, result=result)
    return tokens.count(message.model_dump_json(by_alias=True, exclude_unset=True))


def check(case: Case, answered: Answered) -> None:
    bundle = answered.bundle
    if bundle.entries:
        assert sent_tokens(bundle) <= bundle.response_tokens <= bundle.budget_tokens
        assert bundle.response_tokens >= SCAFFOLD
    else:
        assert bundle.response_tokens == 0
        assert not bundle.reused or sent_tokens(bundle) <= bundle.budget_tokens
    assert len(bundle.entries) <= case.top
    assert bundle.total_tokens == sum(tokens.count(entry.content) for entry in bundle.entries)
    order = [source.path for source in {each.path: each for each in case.files}.values()]
    places = [order.index(entry.path) for entry in bundle.entries]
    assert places == sorted(set(places))
    for priced in answered.entries:
        pieces = sorted(priced.pieces, key=lambda piece: piece.first)
        texts = []
        for piece, unit in zip(pieces, priced.entry.units, strict=True):
            marked = tokens.count(piece.text) != unit.token_count
            texts.append(f"@@ {unit.lines} @@\n{piece.text}" if marked else piece.text)
        assert priced.entry.units
        assert priced.entry.content == "\n".join(texts)


@settings(max_examples=600, deadline=None)
@given(cases)
@example(Case([], 1))
def test_the_whole_result_as_sent_never_exceeds_its_budget(case: Case) -> None:
    check(case, case.answer())


@settings(max_examples=400, deadline=None)
@given(cases, st.data())
def test_reuse_withholds_what_is_held_and_a_retry_always_delivers(
    case: Case, data: st.DataObject
) -> None:
    first = case.answer(budget=BUDGET_MOST)
    receipts = [unit.receipt for entry in first.bundle.entries for unit in entry.units]
    seen = data.draw(st.sets(st.sampled_from(receipts))) if receipts else set()
    whole = [(one.entry.path, one.candidate.content_hash) for one in first.entries if one.is_whole]
    owned = data.draw(st.sets(st.sampled_from(whole))) if whole else set()
    holds = Held(frozenset(seen), frozenset(owned))

    second = case.answer(held=holds)
    check(case, second)
    delivered = {unit.receipt for entry in second.bundle.entries for unit in entry.units}
    assert not delivered & seen
    assert not {entry.path for entry in second.bundle.entries} & {path for path, _ in owned}

    retry = second.bundle.retry_budget_tokens
    if second.bundle.entries or retry is None:
        # Nothing is left to ask for at all, or the budget was enough.
        assert (
            second.bundle.entries or not case.answer(budget=BUDGET_MOST, held=holds).bundle.entries
        )
    else:
        assert retry > case.budget
        again = case.answer(budget=retry, held=holds)
        check(case, again)
        assert again.bundle.entries


@settings(max_examples=150, deadline=None)
@given(cases)
def test_what_was_delivered_is_never_delivered_again(case: Case) -> None:
    holds = Held()
    for _ in range(4):
        answered = case.answer(held=holds)
        receipts = {unit.receipt for entry in answered.bundle.entries for unit in entry.units}
        assert receipts.isdisjoint(holds.receipts)
        assert answered.bundle.reused_count >= len(holds.receipts)
        holds = Held(holds.receipts | receipts)


@given(st.text(max_size=20), st.text(alphabet="@0a/", max_size=8), st.booleans())
def test_a_claim_counts_only_with_a_delivery_of_that_version(
    path: str, version: str, given_whole: bool
) -> None:
    version = version.replace("@", "")
    possessions = [Possession(path, version)] if given_whole else [Possession(path, version + "x")]  # type: ignore[arg-type]
    holds = held((), [f"{path}@{version}"], (), possessions)
    assert holds.files == (frozenset({(path, version)}) if given_whole else frozenset())
