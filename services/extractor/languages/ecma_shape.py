"""What stands around a JavaScript declaration: `export`, `declare`, an expression statement."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.reader import Reader

FUNCTION_VALUES = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function"}
)
_WRAPPERS = frozenset({"export_statement", "ambient_declaration", "expression_statement"})


class Outer:
    """The statement around a declaration that starts where its text begins."""

    def __init__(self, around: dict[int, Node]) -> None:
        self._around = around

    def of(self, node: Node) -> Node:
        """Return the outermost statement that only wraps `node`, or `node` itself."""
        found = self._around.get(node.start_byte)
        return node if found is None or found.end_byte < node.end_byte else found


def outer_nodes(reader: Reader) -> Outer:
    """Index the wrapping statements of a file by the start of what they wrap."""
    around: dict[int, Node] = {}
    pending = list(reader.root.named_children) + reader.nodes("export")
    while pending:
        node = pending.pop()
        if node.type not in _WRAPPERS:
            continue
        inner = node.child_by_field_name("declaration")
        if inner is None and node.named_child_count:
            inner = node.named_children[-1]
        depth = 0
        while inner is not None and depth < 3:
            around.setdefault(inner.start_byte, node)
            wraps = inner.type in _WRAPPERS and inner.named_child_count
            inner = inner.named_children[-1] if wraps else None
            depth += 1
    return Outer(around)
