"""Is what clients are shown what we last agreed on, and what does it cost a model?

`UPDATE_GOLDEN=1 pytest tests/golden/test_tools_catalog.py` writes tools.json anew; read its
difference before you keep it: names, arguments and their meaning are promises to clients.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.instructions import instructions
from services.query.registry import AGENT
from services.query.resources import ADDRESSES
from services.query.schema import properties
from services.query.toolbox import Toolbox
from services.query.visibility import Policy, Visibility
from services.source import tokens

GOLDEN = Path(__file__).with_name("tools.json")
TOKENS = 8_000  # of the full catalogue in the model's view: name, description, input schema

OFFERS = {
    "single": Policy(mode="single"),
    "workspace": Policy(mode="workspace"),
    "single, read-only": Policy(mode="single", writes=False),
    "workspace, read-only": Policy(mode="workspace", writes=False),
    "single, no workspace root": Policy(mode="single", workspace_root=False),
    "workspace, no workspace root": Policy(mode="workspace", workspace_root=False),
}


def offered(policy: Policy) -> list[str]:
    return list(Visibility(TOOLS, policy).tools(LOCAL))


def model_tokens() -> dict[str, int]:
    seen: dict[str, int] = {}
    for tool in TOOLS:
        shown = tool.listing(structured=False)
        view = {key: shown[key] for key in ("name", "description", "inputSchema")}
        seen[tool.name] = tokens.count(msgspec.json.encode(view).decode())
    return seen


def current() -> dict[str, Any]:
    seen = model_tokens()
    made = {
        "modelTokens": {"total": sum(seen.values()), **seen},
        "offers": {name: offered(policy) for name, policy in OFFERS.items()},
        "scopes": {tool.name: tool.scope for tool in TOOLS},
        "tools": [tool.listing(structured=True) for tool in TOOLS],
    }
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return decoded


def test_the_catalogue_is_the_golden_one() -> None:
    made = current()

    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    golden = msgspec.json.decode(GOLDEN.read_bytes())

    for part, content in made.items():
        assert content == golden[part], part
    assert made.keys() == golden.keys()


def test_the_tools_cost_a_model_no_more_than_agreed() -> None:
    seen = model_tokens()

    assert sum(seen.values()) < TOKENS


def test_the_agent_profile_costs_a_model_little() -> None:
    visibility = Visibility(TOOLS, Policy(profile=AGENT))
    shown = [*visibility.tools(LOCAL).values(), *Toolbox(visibility).tools.values()]
    listings = [tool.listing(structured=False) for tool in shown]
    views = [
        {key: entry[key] for key in ("name", "description", "inputSchema")} for entry in listings
    ]

    assert len(shown) <= 8
    assert sum(tokens.count(msgspec.json.encode(view).decode()) for view in views) <= 1_500


def test_single_mode_onboards_by_bootstrap_and_workspace_mode_by_add_repo() -> None:
    single, workspace = offered(OFFERS["single"]), offered(OFFERS["workspace"])
    workspace_only = {
        "repocontext_list_repos", "repocontext_add_repo", "repocontext_remove_repo", "repocontext_reset_index",
    }  # fmt: skip

    assert set(single) - set(workspace) == {"repocontext_bootstrap"}
    assert set(workspace) - set(single) == workspace_only


@pytest.mark.parametrize("mode", ["single", "workspace"])
def test_without_writes_only_reading_tools_are_offered(mode: str) -> None:
    names = offered(OFFERS[f"{mode}, read-only"])

    assert names
    assert not any(TOOLS[name].writes for name in names)


@pytest.mark.parametrize(
    ("mode", "onboarding"),
    [("single", "repocontext_bootstrap"), ("workspace", "repocontext_add_repo")],
)
def test_without_a_workspace_root_nothing_that_walks_is_offered(mode: str, onboarding: str) -> None:
    lost = set(offered(OFFERS[mode])) - set(offered(OFFERS[f"{mode}, no workspace root"]))

    assert lost == {"repocontext_changed", onboarding}


def test_writing_tools_of_the_family_are_marked_destructive() -> None:
    family = [tool for tool in TOOLS if tool.family == "repocontext"]

    assert all(tool.hints["readOnlyHint"] is not tool.writes for tool in family)
    assert all(tool.hints.get("destructiveHint", False) is tool.writes for tool in family)


def test_every_tool_of_the_family_takes_a_region() -> None:
    family = [tool for tool in TOOLS if tool.family == "repocontext"]

    assert all("region" in properties(tool.arguments.schema) for tool in family)


def test_instructions_and_resources_name_tools_that_exist() -> None:
    names = {tool.name for tool in TOOLS}
    texts = [instructions(profile, "demo") for profile in TOOLS.profiles()]
    words = {word.strip(".,;:") for text in texts for word in text.split()}

    assert {word for word in words if word.startswith("repocontext_")} <= names
    assert {address.tool for address in ADDRESSES} <= names
