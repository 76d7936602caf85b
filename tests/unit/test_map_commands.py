"""How call graphs are drawn, and that every tool of the code map has a command."""

from __future__ import annotations

import argparse
import io

from rich.console import Console

from contracts.tools.codemap import Graph, GraphNode, SymbolHit
from ops import cli, mapping
from ops.commands import map as map_command
from ops.commands import symbols
from services.query.catalogue import TOOLS

# Reached by commands of their own; the guide tells agents what `--help` tells people.
_OWN = {
    "symbols_search", "refs_find", "graph_callers", "graph_callees", "types_hierarchy",
    "surfaces_list_endpoints", "graph_trace_feature",
}  # fmt: skip
_FOR_AGENTS = {"codemap_guide", "code_get_span", "symbols_get_context"}


def node(name: str, depth: int, *edges: str) -> GraphNode:
    return GraphNode(
        symbol_id=f"M:{name}", display_name=name, kind="method", depth=depth, file_path="a.py",
        line=depth + 1, edges_to=tuple(f"M:{edge}" for edge in edges),
    )  # fmt: skip


GRAPH = Graph(
    root="M:top",
    nodes=(node("top", 0, "left", 'ri"ght'), node("left", 1, "deep"), node('ri"ght', 1, "deep", "top"), node("deep", 2)),
    total_nodes_found=3,
    truncated=False,
)  # fmt: skip


def test_a_graph_is_written_for_graphviz_and_mermaid() -> None:
    dot, mermaid = mapping.dot(GRAPH), mapping.mermaid(GRAPH)

    assert '"M:top" -> "M:left";' in dot
    assert '"M:ri\\"ght" -> "M:top";' in dot
    assert '"M:top" [label="top\\na.py:1"];' in dot
    assert '[label="ri\\"ght\\na.py:2"];' in dot
    assert dot.count("->") == mermaid.count("-->") == 5
    assert 'n2["ri#quot;ght"]' in mermaid


def test_a_tree_shows_every_symbol_once_and_ends_on_cycles() -> None:
    drawn = io.StringIO()
    Console(file=drawn, width=100).print(mapping.tree(GRAPH, upwards=False))
    lines = drawn.getvalue().splitlines()

    assert "top" in lines[0]
    assert sum("deep" in line and "see above" not in line for line in lines) == 1
    assert len(lines) == 5  # `deep` a second time, as a reference


def test_names_stand_out_on_a_terminal() -> None:
    hit = SymbolHit(
        symbol_id="M:a.one", fully_qualified_name="a.one", kind="method", signature="def one()",
        file_path="a.py", line=3, score=-1.0,
    )  # fmt: skip
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, color_system="standard")
    console.print(symbols.line(hit))

    assert "\x1b[2mmethod      \x1b[0m\x1b[1ma.one\x1b[0m\x1b[36m  a.py:3" in drawn.getvalue()


def test_every_tool_of_the_family_has_a_command() -> None:
    reached = {command.tool for command in map_command.COMMANDS.values()} | _OWN | _FOR_AGENTS

    assert reached == {tool.name for tool in TOOLS if tool.family == "codemap"}
    assert {
        "symbols",
        "refs",
        "callers",
        "callees",
        "hierarchy",
        "endpoints",
        "trace",
        "map",
    } <= set(cli.COMMANDS)


def test_options_are_arguments_of_their_tools() -> None:
    parser = argparse.ArgumentParser()
    map_command.add_arguments(parser)
    for command in map_command.COMMANDS.values():
        accepted = {*TOOLS[command.tool].arguments.accepted, "apply"}
        for option, _ in command.options:
            assert option.lstrip("-").replace("-", "_") in accepted, (command.tool, option)
