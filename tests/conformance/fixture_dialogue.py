"""Fixtures of the official suite that talk back: progress, logging, sampling, elicitation, retries.

A handler takes the request context and the call's parameters, as the SDK gives them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from tests.conformance.fixture_content import messages, plain, text

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Handler = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]

_STRING = {"type": "string"}
_NAME = {"name": _STRING}


def dialogue_tools(bus: InMemorySubscriptionBus) -> dict[str, Handler]:
    async def tools_changed(_ctx: Context, _call: types.CallToolRequestParams) -> Result:
        await bus.publish(ToolsListChanged())
        return text("published")

    async def prompts_changed(_ctx: Context, _call: types.CallToolRequestParams) -> Result:
        await bus.publish(PromptsListChanged())
        return text("published")

    return {
        "test_tool_with_logging": logging,
        "test_logging_tool": logging,
        "test_tool_with_progress": progress,
        "test_x_mcp_header": header_argument,
        "test_missing_capability": needs_sampling,
        "test_sampling": push_sampling,
        "test_elicitation": push_elicitation,
        "test_elicitation_sep1034_defaults": push_defaults,
        "test_elicitation_sep1330_enums": push_enumerations,
        "test_trigger_tool_change": tools_changed,
        "test_trigger_prompt_change": prompts_changed,
        "test_input_required_result_elicitation": ask_name,
        "test_streaming_elicitation": ask_name_after_progress,
        "test_input_required_result_sampling": ask_model,
        "test_input_required_result_list_roots": ask_roots,
        "test_input_required_result_request_state": ask_with_state,
        "test_input_required_result_tampered_state": ask_with_sealed_state,
        "test_input_required_result_multiple_inputs": ask_three_things,
        "test_input_required_result_multi_round": ask_twice,
        "test_input_required_result_capabilities": ask_what_the_client_can,
    }


# --------------------------------------------------------------------------- notifications


async def logging(ctx: Context, _call: types.CallToolRequestParams) -> Result:
    for message in ("one", "two", "three"):
        await ctx.session.send_log_message("info", message, related_request_id=ctx.request_id)
    return text("ok")


async def progress(ctx: Context, _call: types.CallToolRequestParams) -> Result:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"step {done}")
    return text("done")


async def header_argument(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    return text(f"region={(call.arguments or {}).get('region')}")


async def needs_sampling(ctx: Context, _call: types.CallToolRequestParams) -> Result:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "needs sampling",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return text("ok")


# --------------------------------------------------------------------------- pushed (handshake protocols)


async def push_sampling(ctx: Context, call: types.CallToolRequestParams) -> Result:
    prompt = types.SamplingMessage(role="user", content=plain((call.arguments or {})["prompt"]))
    answer = await ctx.session.create_message(
        [prompt], max_tokens=100, related_request_id=ctx.request_id
    )
    assert isinstance(answer.content, types.TextContent)
    return text(f"model: {answer.content.text}")


async def push_elicitation(ctx: Context, call: types.CallToolRequestParams) -> Result:
    return await _push(
        ctx, (call.arguments or {})["message"], _object(username=_STRING, email=_STRING)
    )


async def push_defaults(ctx: Context, _call: types.CallToolRequestParams) -> Result:
    status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    schema = _object(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status=status,
        verified={"type": "boolean", "default": True},
    )
    return await _push(ctx, "defaults", {**schema, "required": []})


async def push_enumerations(ctx: Context, _call: types.CallToolRequestParams) -> Result:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    schema = _object(
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", "enum": options, "enumNames": ["A", "B", "C"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return await _push(ctx, "enumerations", {**schema, "required": []})


async def _push(ctx: Context, message: str, schema: dict[str, Any]) -> Result:
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return text(f"{answer.action} {json.dumps(answer.content or {})}")


# --------------------------------------------------------------------------- asked by result (2026 protocol)


async def ask_name(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    answer = (call.input_responses or {}).get("user_name")
    if not isinstance(answer, types.ElicitResult):
        return _ask({"user_name": _form("Name?", **_NAME)})
    return text(f"Hello, {(answer.content or {}).get('name', '?')}!")


async def ask_name_after_progress(ctx: Context, call: types.CallToolRequestParams) -> Result:
    await ctx.session.report_progress(1, 2, "asking")
    return await ask_name(ctx, call)


async def ask_model(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    answer = (call.input_responses or {}).get("capital_question")
    if not isinstance(answer, types.CreateMessageResult):
        return _ask({"capital_question": _sample("Largest lake?")})
    assert isinstance(answer.content, types.TextContent)
    return text(answer.content.text)


async def ask_roots(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    answer = (call.input_responses or {}).get("client_roots")
    if not isinstance(answer, types.ListRootsResult):
        return _ask({"client_roots": types.ListRootsRequest()})
    return text(f"{len(answer.roots)} roots")


async def ask_with_state(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    if "confirm" in (call.input_responses or {}) and call.request_state == "nonce-1":
        return text("state-ok")
    return _ask({"confirm": _form("Confirm", ok={"type": "boolean"})}, "nonce-1")


async def ask_with_sealed_state(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    if call.request_state is not None:  # the boundary lets only our own state through
        return text("state-ok")
    return _ask({"confirm": _form("Confirm", ok={"type": "boolean"})}, "round-1")


async def ask_three_things(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    wanted: dict[str, types.InputRequest] = {
        "user_name": _form("Name?", **_NAME),
        "greeting": _sample("Greet"),
        "client_roots": types.ListRootsRequest(),
    }
    return (
        text("all inputs")
        if wanted.keys() <= (call.input_responses or {}).keys()
        else _ask(wanted, "m")
    )


async def ask_twice(_ctx: Context, call: types.CallToolRequestParams) -> Result:
    state = json.loads(call.request_state or "{}")
    answers = call.input_responses or {}
    match state.get("round"), answers.get("step1"), answers.get("step2"):
        case 1, types.ElicitResult() as first, _:
            name = (first.content or {}).get("name")
            return _ask(
                {"step2": _form("Colour?", color=_STRING)}, json.dumps({"round": 2, "name": name})
            )
        case 2, _, types.ElicitResult() as second:
            return text(f"{state['name']} likes {(second.content or {}).get('color')}")
    return _ask({"step1": _form("Name first?", **_NAME)}, json.dumps({"round": 1}))


async def ask_what_the_client_can(ctx: Context, _call: types.CallToolRequestParams) -> Result:
    capabilities = ctx.session.client_capabilities
    wanted: dict[str, types.InputRequest] = {}
    if capabilities is not None and capabilities.sampling is not None:
        wanted["sample"] = _sample("hello")
    if capabilities is not None and capabilities.elicitation is not None:
        wanted["form"] = _form("name?", **_NAME)
    return _ask(wanted, "capabilities")


def ask_in_prompt(
    params: types.GetPromptRequestParams,
) -> types.GetPromptResult | types.InputRequiredResult:
    answer = (params.input_responses or {}).get("user_context")
    if not isinstance(answer, types.ElicitResult):
        return _ask({"user_context": _form("Which context?", context=_STRING)})
    return messages(plain(f"Use {(answer.content or {}).get('context')}"))


def _ask(
    wanted: dict[str, types.InputRequest], state: str | None = None
) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=wanted, request_state=state)


def _form(message: str, **fields: dict[str, str]) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=_object(**fields))
    )


def _sample(prompt: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=plain(prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


def _object(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}
