"""Small questions about syntax nodes."""

from __future__ import annotations

from tree_sitter import Node


def first(node: Node | None) -> Node | None:
    """Return the first named child, None when there is none."""
    return node.named_child(0) if node is not None and node.named_child_count else None


def parts(node: Node | None, *kinds: str) -> list[Node]:
    """Return the named children, of the given kinds only if any are given."""
    children = node.named_children if node is not None else []
    return [child for child in children if child.type in kinds] if kinds else children
