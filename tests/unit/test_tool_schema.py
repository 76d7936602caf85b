"""How are tools declared, and how do arguments become requests?"""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

import contracts.tools.repocontext as repocontext
from contracts.errors import Fault, Forbidden, InvalidArgument, NotFound, OverBudget
from contracts.tools.base import Answer, Request
from services.query import results
from services.query.arguments import ArgumentReader
from services.query.registry import Catalogue, Tool, tool
from services.query.schema import input_schema, output_schema, problems
from tests.conformance import small_catalogue
from tests.conformance.small_catalogue import EchoRequest, View

REQUESTS = [
    value
    for value in vars(repocontext).values()
    if isinstance(value, type) and issubclass(value, Request) and value is not Request
]
ANSWERS = [
    value
    for value in vars(repocontext).values()
    if isinstance(value, type) and issubclass(value, Answer) and value is not Answer
]
reader = ArgumentReader(EchoRequest)


# --------------------------------------------------------------------------- schemas


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda t: t.__name__)
def test_an_input_schema_has_nothing_a_strict_client_refuses(request_type: type[Struct]) -> None:
    schema = input_schema(request_type)

    assert problems(schema) == []
    assert "anyOf" not in json.dumps(schema)
    assert "title" not in schema
    assert "additionalProperties" not in schema
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("answer_type", ANSWERS, ids=lambda t: t.__name__)
def test_an_output_schema_has_nothing_a_strict_client_refuses(answer_type: type[Struct]) -> None:
    schema = output_schema(answer_type)

    assert problems(schema) == []
    jsonschema.Draft202012Validator.check_schema(schema)


def test_own_arguments_come_first_and_region_last() -> None:
    schema = input_schema(repocontext.AddRepoRequest)

    assert list(schema["properties"]) == [
        "path", "repoId", "includeGlobs", "excludeGlobs", "respectGitignore", "excludeBinary", "region",
    ]  # fmt: skip
    assert schema["required"] == ["path"]


def test_defaults_that_say_something_are_kept_and_the_empty_ones_dropped() -> None:
    properties: Any = input_schema(repocontext.AddRepoRequest)["properties"]

    assert properties["respectGitignore"] == {"type": "boolean", "default": True}
    assert properties["includeGlobs"] == {"type": "array", "items": {"type": "string"}}
    assert properties["region"] == {"type": "string"}


def test_an_enumeration_has_a_type() -> None:
    properties: Any = input_schema(repocontext.ScanRequest)["properties"]

    assert properties["scope"]["type"] == "string"
    assert properties["scope"]["enum"] == ["Files", "Memory", "MemoryTopic", "Packages", "Symbols"]


def test_every_request_of_the_family_takes_a_region() -> None:
    assert all("region" in input_schema(t)["properties"] for t in REQUESTS)


class Loop(Answer, frozen=True, kw_only=True):
    """Contains itself."""

    inner: Loop | None = None


def test_a_struct_that_contains_itself_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="contains itself"):
        output_schema(Loop)


def test_an_entry_leaves_out_what_is_not_known_and_keeps_what_is_empty() -> None:
    entry = repocontext.EntryView(
        key="repo/a", exists=False, kind="repo", repo_id="a", fields={}, tags=(), links={}
    )

    assert msgspec.to_builtins(entry) == {
        "key": "repo/a", "exists": False, "kind": "repo", "repoId": "a",
        "fields": {}, "tags": (), "links": {},
    }  # fmt: skip


# --------------------------------------------------------------------------- declaring


class One(Request, frozen=True, kw_only=True):
    """One argument."""

    name: str


class Loose(Struct):
    """Ignores what it does not know."""

    name: str


class Said(Answer, frozen=True, kw_only=True):
    """An answer."""

    name: str


def test_a_tool_can_be_called_like_the_function_it_was() -> None:
    assert isinstance(small_catalogue.echo, Tool)
    assert (
        small_catalogue.echo.description == "Say what was understood. Use it to look at arguments."
    )


@pytest.mark.parametrize("name", ["Search", "symbols.search", "1st", "a-b", "a" * 41, ""])
def test_a_name_that_some_client_refuses_is_refused_at_import(name: str) -> None:
    with pytest.raises(TypeError, match="name"):

        @tool(name, title="T", family="f", description="Do it.")
        async def body(_view: View, request: One) -> Said:
            return Said(name=request.name)


@pytest.mark.parametrize("description", ["", "x" * 401, f"{'long ' * 40}. Then more."])
def test_a_description_that_does_not_fit_is_refused_at_import(description: str) -> None:
    with pytest.raises(TypeError, match=r"description|sentence"):

        @tool("fine", title="T", family="f", description=description)
        async def body(_view: View, request: One) -> Said:
            return Said(name=request.name)


def test_a_request_that_would_ignore_arguments_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match="ignore arguments"):

        @tool("fine", title="T", family="f", description="Do it.")
        async def body(_view: View, request: Loose) -> Said:
            return Said(name=request.name)


def test_a_body_of_another_shape_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match="async def"):

        @tool("fine", title="T", family="f", description="Do it.")  # type: ignore[arg-type]  # the point
        def body(_view: View, request: One) -> Said:
            return Said(name=request.name)


class Either(Request, frozen=True, kw_only=True):
    """An argument of two types."""

    value: int | str


def test_an_argument_of_two_types_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match=r"\$\.value"):

        @tool("fine", title="T", family="f", description="Do it.")
        async def body(_view: View, _request: Either) -> Said:
            return Said(name="")


def test_a_reading_tool_cannot_ask_for_more_than_the_read_scope() -> None:
    with pytest.raises(TypeError, match="read scope"):

        @tool("fine", title="T", family="f", description="Do it.", scope="admin")
        async def body(_view: View, request: One) -> Said:
            return Said(name=request.name)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(TypeError, match="two tools"):
        Catalogue([small_catalogue.echo, small_catalogue.echo])


def test_a_catalogue_takes_the_tools_of_modules_in_their_order() -> None:
    module = ModuleType("tools")
    vars(module).update(second=small_catalogue.write, first=small_catalogue.echo, other=3)

    found: Catalogue[View] = Catalogue.of(module)

    assert [t.name for t in found] == ["small_write", "small_echo"]


def test_hints_tell_reading_from_writing() -> None:
    assert small_catalogue.echo.hints == {"readOnlyHint": True, "openWorldHint": False}
    assert small_catalogue.remove.hints["destructiveHint"] is True
    assert small_catalogue.write.hints["destructiveHint"] is False


# --------------------------------------------------------------------------- arguments


def refused(arguments: dict[str, Any]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        reader.read(arguments)
    return caught.value


def test_a_right_call_is_read() -> None:
    request = reader.read({"text": "a", "count": 2, "globs": ["*.py"], "links": {"r": ["k"]}})

    assert request == EchoRequest(text="a", count=2, globs=("*.py",), links={"r": ("k",)})


@pytest.mark.parametrize(
    ("given_value", "field", "understood"),
    [
        ({"count": "5"}, "count", 5),
        ({"count": 5.0}, "count", 5),
        ({"count": None}, "count", 3),
        ({"ratio": "0.25"}, "ratio", 0.25),
        ({"loud": "true"}, "loud", True),
        ({"globs": '["*.py","*.c"]'}, "globs", ("*.py", "*.c")),
        ({"links": '{"r":["k"]}'}, "links", {"r": ("k",)}),
        ({"links": None}, "links", None),
        ({"scope": "memorytopic"}, "scope", "MemoryTopic"),
        ({"scope": " FILES "}, "scope", "Files"),
        ({"region": "local"}, "region", "local"),
        ({"region": ""}, "region", ""),
        ({"count": 10**30}, "count", 10**30),
    ],
)
def test_what_clients_really_send_is_understood(
    given_value: dict[str, Any], field: str, understood: object
) -> None:
    assert getattr(reader.read({"text": "a", **given_value}), field) == understood


def test_an_undeclared_argument_is_named_with_the_accepted_ones() -> None:
    fault = refused({"text": "a", "repo_id": "x"})

    assert "'repo_id'" in fault.message
    assert "did you mean repoId?" in fault.hint
    assert "text, scope, count" in fault.hint
    assert fault.details["reason"] == "undeclared_argument"


def test_an_undeclared_argument_is_refused_even_where_others_are_wrong_too() -> None:
    assert refused({"other": 1}).details["reason"] == "undeclared_argument"


@pytest.mark.parametrize("arguments", [{}, {"text": None}, {"count": 1}])
def test_a_missing_argument_is_named(arguments: dict[str, Any]) -> None:
    fault = refused(arguments)

    assert "'text'" in fault.message
    assert fault.details["reason"] == "missing_argument"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"text": "  "}, "text"), ({"text": ""}, "text"), ({"text": "a", "repoId": " \t"}, "repoId")],
)
def test_a_blank_argument_is_named(arguments: dict[str, Any], name: str) -> None:
    fault = refused(arguments)

    assert fault.message == f"{name} is blank"
    assert fault.details["reason"] == "blank_argument"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"text": 5}, "text"),
        ({"text": "a", "count": "many"}, "count"),
        ({"text": "a", "count": True}, "count"),
        ({"text": "a", "globs": [1]}, "globs[0]"),
        ({"text": "a", "globs": "*.py"}, "globs"),
        ({"text": "a", "globs": "[" * 100_000}, "globs"),
        ({"text": "a", "links": {"r": 5}}, "links"),
    ],
)
def test_a_wrong_type_is_explained_with_its_place(arguments: dict[str, Any], place: str) -> None:
    fault = refused(arguments)

    assert fault.message.startswith(place)
    assert "xpected" in fault.message
    assert fault.details["reason"] == "unbindable_argument"


def test_an_unknown_value_is_answered_with_the_known_ones() -> None:
    fault = refused({"text": "a", "scope": "Everything"})

    assert fault.hint == "one of Files, MemoryTopic"
    assert fault.details["reason"] == "unknown_value"


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert refused({"text": "\ud800"}).details["reason"] == "unbindable_argument"


def test_an_argument_nested_without_end_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(10_000):
        nested = [nested]

    assert refused({"text": "a", "globs": nested}).details["reason"] == "unbindable_argument"


def test_another_region_is_refused() -> None:
    with pytest.raises(Forbidden) as caught:
        reader.read({"text": "a", "region": "eu-2"})

    assert caught.value.details["reason"] == "region"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(reader.accepted) | st.text(max_size=5)


@given(st.dictionaries(names, json_values, max_size=6))
def test_any_arguments_are_read_or_refused_with_a_reason(arguments: dict[str, Any]) -> None:
    outcome = _outcome(arguments)

    if isinstance(outcome, Fault):
        assert outcome.details["reason"]
        json.dumps(results.of_fault(outcome), ensure_ascii=False).encode()
    else:
        assert outcome.text.strip()
        assert set(arguments) <= set(reader.accepted)


def _outcome(arguments: dict[str, Any]) -> EchoRequest | Fault:
    try:
        return reader.read(arguments)
    except (InvalidArgument, Forbidden) as fault:
        return fault


# --------------------------------------------------------------------------- results


def test_both_halves_carry_the_same_facts() -> None:
    result: Any = results.of_answer(Said(name="é"))

    assert json.loads(result["content"][0]["text"]) == result["structuredContent"] == {"name": "é"}
    assert result["isError"] is False


def test_one_half_can_be_left_out() -> None:
    assert "structuredContent" not in results.of_answer(Said(name="a"), "text")
    assert results.of_answer(Said(name="a"), "structured")["content"] == []


def test_an_answer_over_the_limit_is_refused() -> None:
    with pytest.raises(OverBudget):
        results.of_answer(Said(name="x" * 100), limit=100)


def test_a_fault_reads_as_code_message_and_hint() -> None:
    result: Any = results.of_fault(
        NotFound("no such file", hint="look again", reason="missing_target")
    )

    assert result["isError"] is True
    assert result["content"] == [
        {"type": "text", "text": "NOT_FOUND: no such file\nHint: look again"}
    ]
    assert result["_meta"]["repofold/error"] == {
        "code": "NOT_FOUND",
        "message": "no such file",
        "retryable": False,
        "hint": "look again",
        "reason": "missing_target",
    }


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\0", "\x1b", "\x85", "\u2028", "\u2029", "\u202e", "\udc80"]
)
def test_a_fault_cannot_forge_a_line_or_hide_text(character: str) -> None:
    text = results.text_of_fault(Fault(f"a{character}b", hint=f"c{character}d"))

    assert text == "INTERNAL: a b\nHint: c d"


def test_a_fault_is_cut_to_two_thousand_characters() -> None:
    text = results.text_of_fault(InvalidArgument("m" * 9_000, hint="h" * 9_000))

    assert len(text) <= results.TEXT_CHARS
    assert "Hint: hhh" in text
