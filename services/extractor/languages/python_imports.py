"""Python import statements."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.reader import ImportDraft, Reader


def read_import(reader: Reader, node: Node) -> None:
    start = node.start_byte
    module_node = node.child_by_field_name("module_name")
    if node.type == "import_statement":
        for module, alias, token in _imported(reader, node):
            bound = alias or module.partition(".")[0]
            reader.imports.append(ImportDraft(module, "", bound, start))
            reader.mark(_last_name(reader, token), "import")
        return
    module, level = "__future__", 0
    if module_node is not None:
        text = reader.text(module_node).replace(" ", "")
        module = text.lstrip(".")
        level = len(text) - len(module)
    for name, alias, token in _imported(reader, node):
        reader.imports.append(ImportDraft(module, name, alias or name, start, level=level))
        at = token.start_byte
        reader.mark(at, "import")
        if module_node is not None:
            reader.receiver_spans[at] = module_node.byte_range
    if any(child.type == "wildcard_import" for child in node.named_children):
        reader.imports.append(ImportDraft(module, "*", "", start, level=level))


def _imported(reader: Reader, node: Node) -> list[tuple[str, str, Node]]:
    """Return (name, alias, name node) of everything an import statement lists."""
    found = []
    for child in node.children_by_field_name("name"):
        if child.type == "aliased_import":
            name = child.child_by_field_name("name")
            if name is not None:
                found.append((reader.text(name), reader.field_text(child, "alias"), name))
        else:
            found.append((reader.text(child), "", child))
    return found


def _last_name(reader: Reader, dotted: Node) -> int:
    names = dotted.named_children
    if len(names) > 1:
        reader.receiver_spans[names[-1].start_byte] = (dotted.start_byte, names[-2].end_byte)
    return names[-1].start_byte if names else dotted.start_byte
