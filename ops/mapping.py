"""What do the commands on symbols and calls share? Options, the question to the tool, and drawing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text
from rich.tree import Tree

from contracts.tools.codemap import Graph, GraphNode
from ops.ask import Asker, json_text
from ops.node.options import add_place
from ops.tell import tell
from ops.terminal import Terminal
from services.query.catalogue import TOOLS

LIVE = "live"
_PIPED_WIDTH = 240  # whoever reads a pipe cuts lines himself
console = Terminal(width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What every one of these commands takes."""
    parser.add_argument("--repo", help="repository (default: the only one)")
    parser.add_argument(
        "--workspace", default=LIVE, metavar="ID",
        help='which files: "live" (default) as they are now, a workspace, or "" for HEAD\'s baseline',
    )  # fmt: skip
    add_place(parser)


def ask(
    args: argparse.Namespace, tool: str, arguments: Mapping[str, Any], *, reads: bool = True
) -> Any:
    """The tool's answer on the repository that is meant; one that writes needs a running node.

    `reads`: it asks about some state of the files, which --workspace chooses.
    """
    asker = Asker(args)
    repository = asker.repository(args.repo)
    with asker.host.read() as snapshot:
        root = next(row.root for row in snapshot.repos() if row.repo_id == repository)
    workspace = {"workspace_id": args.workspace} if reads and args.workspace else {}
    request = {"repo_path": root, **workspace, **arguments}
    if TOOLS[tool].writes:
        return tell(args, tool, request)
    answer = asker.ask(tool, request)
    asker.host.maps.savings.flush()
    return answer


def told(args: argparse.Namespace, answer: Any) -> bool:
    """Print the whole answer as JSON where that is asked for."""
    if args.json:
        print(json_text(answer))
    return bool(args.json)


def place(path: str | None, line: int) -> Text:
    return Text(f"  {path}:{line}" if path else "", style="cyan")


def notice(text: str) -> None:
    console.print(Text(text, style="dim"), soft_wrap=True)


def add_graph_options(parser: argparse.ArgumentParser, *, depth: int) -> None:
    parser.add_argument("symbol", help="its id, sym_ id or name")
    parser.add_argument("-d", "--depth", type=int, default=depth, help=f"levels (default {depth})")
    parser.add_argument("-n", type=int, default=50, help="symbols of each level (default 50)")
    drawn = parser.add_mutually_exclusive_group()
    drawn.add_argument("--dot", action="store_true", help="print the graph for Graphviz")
    drawn.add_argument("--mermaid", action="store_true", help="print the graph for Mermaid")
    add_options(parser)


def run_graph(args: argparse.Namespace, tool: str) -> int:
    """Ask for a call graph and draw it; 0 when it has more than its root, 1 otherwise."""
    request = {"symbol_id": args.symbol, "depth": args.depth, "limit_per_level": args.n}
    answer = ask(args, tool, request)
    graph: Graph = answer.data
    if told(args, answer):
        return 0 if graph.total_nodes_found else 1
    if args.dot:
        print(dot(graph))
    elif args.mermaid:
        print(mermaid(graph))
    else:
        console.print(tree(graph, upwards=tool == "graph_callers"), soft_wrap=True)
        notice(answer.answer)
    return 0 if graph.total_nodes_found else 1


def tree(graph: Graph, *, upwards: bool) -> Tree:
    nodes = {node.symbol_id: node for node in graph.nodes}
    below: dict[str, list[str]] = {}
    for node in graph.nodes:
        for target in node.edges_to:
            above, under = (target, node.symbol_id) if upwards else (node.symbol_id, target)
            below.setdefault(above, []).append(under)
    tree = Tree(_label(nodes[graph.root]), guide_style="dim")
    shown: set[str] = {graph.root}
    level = [(tree, graph.root)]
    while level:
        following = []
        for branch, name in level:
            for child in sorted(below.get(name, ())):
                if child in shown:
                    if nodes[child].depth > nodes[name].depth or child == name:
                        branch.add(_label(nodes[child]).append("  (see above)", style="dim"))
                    continue
                shown.add(child)
                following.append((branch.add(_label(nodes[child])), child))
        level = following
    return tree


def _label(node: GraphNode) -> Text:
    name = Text().append(node.display_name, "bold")
    return name.append_text(place(node.file_path, node.line))


def dot(graph: Graph) -> str:
    """The graph in the language of Graphviz."""
    lines = ["digraph calls {", "  rankdir=LR;", '  node [shape=box, fontname="monospace"];']
    for node in graph.nodes:
        label = f"{_quoted(node.display_name)}\\n{_quoted(node.file_path or '')}:{node.line}"
        lines.append(f'  "{_quoted(node.symbol_id)}" [label="{label}"];')
    for node in graph.nodes:
        caller = _quoted(node.symbol_id)
        lines += [f'  "{caller}" -> "{_quoted(target)}";' for target in node.edges_to]
    return "\n".join([*lines, "}"])


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def mermaid(graph: Graph) -> str:
    """The graph in the language of Mermaid."""
    number = {node.symbol_id: f"n{at}" for at, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        name = node.display_name.replace('"', "#quot;")
        lines.append(f'  {number[node.symbol_id]}["{name}"]')
    for node in graph.nodes:
        lines += [f"  {number[node.symbol_id]} --> {number[target]}" for target in node.edges_to]
    return "\n".join(lines)


def branches(tree: Tree, nodes: Sequence[Mapping[str, Any]]) -> None:
    """Put a trace's nodes below a tree."""
    for node in nodes:
        branches(tree.add(trace_label(node)), node["children"])


def trace_label(node: Mapping[str, Any]) -> Text:
    label = Text().append(str(node["display_name"]), "bold")
    for note in node["annotations"]:
        label.append(f"  {note['kind']}: {note['value']}", style="green")
    return label
