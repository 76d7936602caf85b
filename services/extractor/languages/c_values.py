"""What C and C++ text tells of the types of variables, and what a file includes."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.c_declarators import inside, name_of
from services.extractor.languages.nodes import first
from services.extractor.reader import BindingDraft, ImportDraft, Reader, short_expression

_UNTOLD = frozenset({"primitive_type", "sized_type_specifier", "enum_specifier"})
_CALLEES = frozenset(
    {"identifier", "field_expression", "qualified_identifier", "template_function"}
)


def bind_declarations(reader: Reader) -> None:
    """Bind the variables of every declaration; numbers and the like tell nothing."""
    for node in reader.nodes("declaration"):
        shaped = node.child_by_field_name("type")
        if shaped is None or shaped.type in _UNTOLD:
            continue
        inferred = shaped.type == "placeholder_type_specifier"
        tag = shaped.child_by_field_name("name") if shaped.type.endswith("_specifier") else None
        declared = "" if inferred else reader.type_text(shaped if tag is None else tag)
        for declarator in node.children_by_field_name("declarator"):
            name = name_of(declarator)
            if declarator.type == "function_declarator" or (name is None and declared):
                continue
            if name is not None and declared:
                reader.bind(name, declared, "annotation")
                continue
            holder = declarator if declarator.type == "init_declarator" else node  # of a condition
            value = holder.child_by_field_name("value")
            if name is not None:
                _bind_value(reader, name, value)
            else:
                _bind_parts(reader, declarator, value, "")


def bind_ranges(reader: Reader) -> None:
    """Bind the variables of range-based loops and the parameters of lambdas."""
    for node in (*reader.nodes("ranged"), *reader.nodes("handed")):
        shaped = node.child_by_field_name("type")
        declarator = node.child_by_field_name("declarator")
        name = name_of(declarator)
        if shaped is None or shaped.type in _UNTOLD:
            continue
        if name is None:
            _bind_parts(reader, declarator, node.child_by_field_name("right"), "[*]")
        elif shaped.type != "placeholder_type_specifier":
            reader.bind(name, reader.type_text(shaped), "annotation")
        elif (right := node.child_by_field_name("right")) is not None and right.type in _ITERATED:
            reader.bind(name, _plain(reader, right), "element")


def _bind_parts(reader: Reader, names: Node | None, value: Node | None, step: str) -> None:
    """Bind the names of `auto [key, value] = pair`; `step` leads from the value to the pair."""
    while names is not None and names.type != "structured_binding_declarator":
        names = inside(names) if names.type != "reference_declarator" else first(names)
    if value is not None and names is not None and value.type in _ITERATED:
        text = short_expression(_plain(reader, value).encode())
        for at, name in enumerate(names.named_children):
            reader.bindings.append(
                BindingDraft(reader.text(name), f"{text}{step}.#{at}", "alias", name.start_byte)
            )


def _bind_value(reader: Reader, name: Node, value: Node | None) -> None:
    """Bind an `auto` variable to what it is made from."""
    if value is None:
        return
    if value.type == "new_expression":
        text = reader.type_text(value.child_by_field_name("type"))
        reader.bind(name, shape.without_arguments(text), "call")
    elif value.type == "call_expression":
        function = value.child_by_field_name("function")
        given = value.child_by_field_name("arguments")
        if given is not None and function is not None and reader.text(function) == "std::move":
            _bind_value(reader, name, first(given))
        elif function is not None and function.type in _CALLEES:
            reader.bind(name, _plain(reader, function), "call")
    elif value.type == "compound_literal_expression":
        reader.bind(name, reader.type_text(value.child_by_field_name("type")), "annotation")
    elif value.type == "pointer_expression":
        _bind_pointed(reader, name, value)
    elif value.type in _CALLEES or value.type == "subscript_expression":
        reader.bind(name, _plain(reader, value), "alias")


def _bind_pointed(reader: Reader, name: Node, value: Node) -> None:
    """Bind a variable to `*pointer`, which is written with an arrow, or to `&object`."""
    held = value.child_by_field_name("argument")
    if held is not None and held.type in _CALLEES and reader.text(value).startswith("*"):
        reader.bind(name, _plain(reader, held) + "->", "alias")
    else:
        _bind_value(reader, name, held)


_ITERATED = _CALLEES | {"call_expression"}


def _plain(reader: Reader, node: Node) -> str:
    return reader.type_text(node).replace("->", ".")


def includes(reader: Reader) -> None:
    """Record includes; a quoted path, looked for beside the file first, has level 1."""
    for node in reader.nodes("include"):
        path = node.child_by_field_name("path")
        if path is None:
            continue
        text = reader.text(path)
        level = int(text.startswith('"'))
        start = node.start_byte
        reader.imports.append(ImportDraft(text.strip('<>" '), "", "", start, "include", level))


def usings(reader: Reader) -> None:
    """Record using directives and declarations, and namespace aliases."""
    for node in reader.nodes("using"):
        target = first(node)
        if target is None:
            continue
        text = reader.text(target)
        start = node.start_byte
        if any(child.type == "namespace" for child in node.children):
            reader.imports.append(ImportDraft(text, "*", "", start, "using"))
            continue
        module, _, name = text.rpartition("::")
        reader.imports.append(ImportDraft(module, name, name, start, "using"))
        if module:
            last = target.end_byte - len(name.encode())
            reader.mark(last, "import")
            reader.receiver_spans[last] = (target.start_byte, last - 2)
    for node in reader.nodes("namespace_alias"):
        alias = reader.field_text(node, "name")
        target = node.named_children[-1]
        text = reader.text(target)
        reader.imports.append(ImportDraft(text, "", alias, node.start_byte, "using"))
