"""Functions and macros of C and C++."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.c_declarators import function_of, name_of, type_text
from services.extractor.languages.c_heads import begin, macro_start, prefixes, qualify
from services.extractor.languages.nodes import parts
from services.extractor.reader import Draft, Reader

_TESTS = frozenset({"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})
_GUARD_BYTES = 300
_EVERYWHERE = 99  # a lift past everything: macros know no scopes


def function(reader: Reader, node: Node, declarator: Node | None, outer: Node) -> Draft | None:
    """Declare a function; `outer` is the template or friend declaration around it."""
    made, name = _made(declarator)
    if made is None or name is None:
        return None
    is_cpp = reader.grammar.language == "cpp"
    broken = node.type == "ERROR"
    body = None if broken else node.child_by_field_name("body")
    opening = body
    if body is not None and is_cpp:
        opening = next((c for c in node.children if c.type == "field_initializer_list"), body)
    draft = begin(reader, "function", name, outer, opening)
    if not broken:
        prefixes(reader, draft, node)
        draft.returns = type_text(reader, node, declarator)
    if is_cpp:
        _suffixes(reader, draft, made)
    if node.type == "field_declaration" and reader.field_text(node, "default_value") == "0":
        draft.modifiers += ("abstract",)
    if node.type != "function_definition":
        draft.modifiers += ("declaration",)
    _parameters(reader, draft, made.child_by_field_name("parameters"), node)
    qualify(reader, draft, name)
    if draft.name in _TESTS and len(draft.params) == 2:
        _name_test(draft)
    if "override" in draft.modifiers:
        shape.override(reader, draft)
    return draft


def torn_function(reader: Reader, node: Node, shaped: Node | None, child: Node) -> Draft | None:
    """Declare a function whose declaration did not parse, with the type right before it."""
    draft = function(reader, node, child, child)
    if draft is None or shaped is None:
        return draft
    if shaped.type.endswith(("_type", "_specifier", "type_identifier")):
        draft.start = macro_start(reader, shaped.start_byte)
        draft.signature = reader.line(draft.start, draft.end)
        draft.doc = reader.doc_before(draft.start)
        draft.returns = reader.type_text(shaped)
    return draft


def _made(declarator: Node | None) -> tuple[Node | None, Node | None]:
    """Return the function declarator and the name in it."""
    name = last = name_of(declarator)
    while last is not None and last.type == "qualified_identifier":
        last = last.child_by_field_name("name")
    if last is not None and last.type == "operator_cast":
        return last.child_by_field_name("declarator"), name
    made = function_of(declarator)
    if made is None:
        return None, None
    return made, name


def _suffixes(reader: Reader, draft: Draft, made: Node) -> None:
    """Take what C++ writes behind the parameters."""
    for child in made.named_children:
        kind = child.type
        if kind == "trailing_return_type":
            draft.returns = reader.type_text(child).removeprefix("->").strip()
        elif kind in ("virtual_specifier", "noexcept", "type_qualifier"):
            draft.modifiers += (reader.text(child).partition("(")[0],)


def _name_test(draft: Draft) -> None:
    """Call `TEST(Suite, Name) {}` by its suite and name; its types are no parameters."""
    (first_name, first_type), (last_name, last_type) = draft.params
    draft.prefix, draft.name = first_type or first_name, last_type or last_name
    draft.params, draft.arity, draft.name_start = [], 0, -1


def _parameters(reader: Reader, draft: Draft, parameters: Node | None, node: Node) -> None:
    typed = _old_style_types(reader, node) if node.type == "function_definition" else {}
    for child in parts(parameters):
        if child.type == "identifier":
            text = reader.text(child)
            draft.params.append((text, typed.get(text, "")))
        elif child.type.endswith("parameter_declaration"):
            declarator = child.child_by_field_name("declarator")
            declared = type_text(reader, child, declarator)
            if declared == "void" and declarator is None:
                continue
            name = name_of(declarator)
            text = reader.text(name) if name is not None else ""
            if "variadic" in child.type:
                text = "..." + text
            draft.params.append((text, declared))
        elif child.type == "variadic_parameter":
            draft.params.append(("...", ""))
    draft.arity = len(draft.params)


def _old_style_types(reader: Reader, function: Node) -> dict[str, str]:
    """Return the types that K&R C declares between a function's head and body."""
    types = {}
    for declaration in parts(function, "declaration"):
        for declarator in declaration.children_by_field_name("declarator"):
            name = name_of(declarator)
            if name is not None:
                types[reader.text(name)] = type_text(reader, declaration, declarator)
    return types


def macro(reader: Reader, node: Node) -> None:
    """Declare a macro, unless it only guards a header."""
    name = node.child_by_field_name("name")
    if name is None or name.end_byte == name.start_byte or _is_guard(reader, node, name):
        return
    value = node.child_by_field_name("value")
    parameters = node.child_by_field_name("parameters")
    draft = begin(reader, "macro", name, node, value if parameters is not None else None)
    draft.visibility = "public"
    draft.lift = _EVERYWHERE
    if parameters is not None:
        names = reader.text(parameters).strip("()\\ ").split(",")
        draft.params = [(text, "") for name in names if (text := name.strip("\\ \r\n\t"))]
        draft.arity = len(draft.params)


def _is_guard(reader: Reader, node: Node, name: Node) -> bool:
    """Is this the `#define X` right behind a header's `#ifndef X`?"""
    if node.child_by_field_name("value") is not None:
        return False
    before = reader.data[max(0, node.start_byte - _GUARD_BYTES) : node.start_byte].rstrip()
    guarded = reader.data[name.start_byte : name.end_byte]
    if not before.endswith(guarded) or not before[: -len(guarded)].rstrip().endswith(b"ifndef"):
        return False
    reader.locals.append(name.start_byte)  # a name that nothing else means
    return True
