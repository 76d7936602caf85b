"""Declarations of JavaScript and TypeScript as drafts."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.ecma_values import told_of
from services.extractor.reader import BindingDraft, Draft, Reader

_MODIFIERS = frozenset(
    {"static", "abstract", "async", "readonly", "declare", "const", "get", "set"}
)
_PARAMETER_PROPERTY = frozenset({"accessibility_modifier", "override_modifier", "readonly"})
_HEAD_END = re.compile(r"(?:\s|=>|[{;=])+$")
_ALIAS_CHARS = 800  # a union may have many members
_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})


def annotation(reader: Reader, node: Node | None) -> str:
    """Return the type of a `: T` annotation."""
    return reader.type_text(node).lstrip(": ") if node is not None else ""


def export_modifiers(node: Node) -> tuple[str, ...]:
    """Return ("export",), ("export", "default") or nothing for a wrapping statement."""
    if node.type != "export_statement":
        return ()
    if any(child.type == "default" for child in node.children):
        return ("export", "default")
    return ("export",)


def _begin(reader: Reader, kind: str, name: Node | None, node: Node, outer: Node) -> Draft:
    """Start a draft that spans `outer`; the signature ends before the body of `node`."""
    start, end = outer.start_byte, outer.end_byte
    draft = Draft(kind, reader.text(name) if name is not None else "", start, end)
    if name is not None:
        draft.name_start = name.start_byte
    body = node.child_by_field_name("body")
    text_start = _after_decorators(outer, node)
    head_end = body.start_byte if body is not None else end
    draft.signature = _HEAD_END.sub("", reader.line(text_start, head_end))
    draft.doc = reader.doc_before(start)
    draft.modifiers = export_modifiers(outer)
    if draft.modifiers:
        draft.visibility = "public"
    return draft


def _after_decorators(outer: Node, node: Node) -> int:
    start = outer.start_byte
    for holder in (outer, node):
        for child in holder.children:
            if child.type != "decorator":
                break
            start = child.end_byte
    return start


def function(reader: Reader, node: Node, outer: Node, name: Node | None = None) -> Draft | None:
    """Declare a function; `name` names one that is a value."""
    name = name or node.child_by_field_name("name")
    draft = _begin(reader, "function", name, node, outer)
    _callable(reader, draft, node)
    head = reader.data[node.start_byte : node.start_byte + 8]
    if head.startswith(b"async"):
        draft.modifiers += ("async",)
    if name is None:
        draft.name = "default" if "default" in draft.modifiers else "exports"
    return reader.add(draft)


def _callable(reader: Reader, draft: Draft, node: Node) -> None:
    draft.returns = annotation(reader, node.child_by_field_name("return_type"))
    single = node.child_by_field_name("parameter")
    if single is not None:
        draft.params = [(reader.text(single), "")]
    parameters = node.child_by_field_name("parameters")
    for child in parameters.named_children if parameters is not None else ():
        _parameter(reader, draft, child)
    draft.arity = len(draft.params)


def _parameter(reader: Reader, draft: Draft, node: Node) -> None:
    kind = node.type
    if kind in ("comment", "ERROR", "decorator"):
        return
    if kind in ("required_parameter", "optional_parameter"):
        pattern = node.child_by_field_name("pattern")
        if pattern is None or pattern.type == "this":
            return
        reader.typed_parameters.add(node.start_byte)
        declared = annotation(reader, node.child_by_field_name("type"))
        draft.params.append((_pattern_text(reader, pattern), declared))
        if any(child.type in _PARAMETER_PROPERTY for child in node.children):
            _parameter_property(reader, node, pattern, declared)
    else:
        pattern = node.child_by_field_name("left") if kind == "assignment_pattern" else node
        if pattern is not None:
            draft.params.append((_pattern_text(reader, pattern), ""))


def _pattern_text(reader: Reader, pattern: Node) -> str:
    return reader.line(pattern.start_byte, pattern.end_byte, 80)


def _parameter_property(reader: Reader, node: Node, pattern: Node, declared: str) -> None:
    """`constructor(private name: T)` declares a field of the class."""
    draft = Draft("field", reader.text(pattern), node.start_byte, node.end_byte)
    draft.signature = reader.line(node.start_byte, node.end_byte)
    draft.returns = declared
    draft.visibility, draft.modifiers = _member_modifiers(reader, node)
    draft.scopeless = True
    draft.lift = 1
    told = told_of(reader, node.child_by_field_name("value")) if not declared else None
    if told is not None and told[0]:
        reader.bindings.append(BindingDraft(f"this.{draft.name}", *told, node.start_byte))
    reader.add(draft)


def _member_modifiers(reader: Reader, node: Node) -> tuple[str, tuple[str, ...]]:
    """Return visibility and modifiers of a class member."""
    visibility = "public"
    modifiers = []
    for child in node.children:
        kind = child.type
        if kind == "accessibility_modifier":
            visibility = reader.text(child)
        elif kind == "override_modifier":
            modifiers.append("override")
        elif kind in _MODIFIERS:
            modifiers.append(kind)
        elif kind in ("private_property_identifier", "private_identifier"):
            visibility = "private"
    return visibility, tuple(modifiers)


def class_like(reader: Reader, node: Node, outer: Node, name: Node | None = None) -> Draft | None:
    name = name or node.child_by_field_name("name")
    draft = _begin(reader, "class", name, node, outer)
    draft.decorators, draft.start = reader.decorations_before(draft.start)
    draft.doc = draft.doc or reader.doc_before(draft.start)
    for holder in (outer, node) if outer is not node else (node,):
        draft.decorators += _decorators(reader, holder)
    if node.type == "abstract_class_declaration":
        draft.modifiers += ("abstract",)
    for child in node.named_children:
        if child.type == "class_heritage":
            _heritage(reader, draft, child)
    if name is None:
        draft.name = "default" if "default" in draft.modifiers else "exports"
    reader.add(draft)
    body = node.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        if member.type in ("public_field_definition", "field_definition"):
            _field(reader, member)
        elif member.type in ("abstract_method_signature", "method_signature"):
            method(reader, member)
    return draft


def _decorators(reader: Reader, node: Node) -> tuple[str, ...]:
    return tuple(
        reader.line(child.start_byte, child.end_byte)
        for child in node.children
        if child.type == "decorator"
    )


def _heritage(reader: Reader, draft: Draft, node: Node) -> None:
    clauses = [child for child in node.named_children if child.type.endswith("_clause")] or [node]
    for clause in clauses:
        for base in clause.named_children:
            if base.type in ("type_arguments", "comment"):
                continue
            _base(reader, draft, base)


def _base(reader: Reader, draft: Draft, node: Node) -> None:
    text = reader.type_text(node)
    draft.bases.append(text.partition("<")[0].partition("(")[0])
    while node.type in ("generic_type", "call_expression", "nested_type_identifier"):
        inner = node.child_by_field_name("name") or node.child_by_field_name("function")
        if inner is None:
            return
        node = inner
    if node.type == "member_expression":
        inner = node.child_by_field_name("property")
        node = node if inner is None else inner
    if node.type in ("identifier", "type_identifier", "property_identifier"):
        reader.mark(node.start_byte, "base")


def method(reader: Reader, node: Node) -> None:
    """Declare a method of a class, an object literal or an interface."""
    name = node.child_by_field_name("name")
    if name is None or name.type == "computed_property_name":
        return
    decorators, start = reader.decorations_before(node.start_byte)
    draft = _begin(reader, "method", name, node, node)
    draft.name = draft.name.strip("'\"")
    draft.doc = draft.doc or reader.doc_before(start)
    draft.start, draft.decorators = start, decorators
    draft.visibility, draft.modifiers = _member_modifiers(reader, node)
    _callable(reader, draft, node)
    if draft.name == "constructor":
        draft.kind = "constructor"
    elif "get" in draft.modifiers or "set" in draft.modifiers:
        draft.kind, draft.arity, draft.params = "property", -1, []
    if node.type == "abstract_method_signature" and "abstract" not in draft.modifiers:
        draft.modifiers += ("abstract",)
    _overrides(reader, draft)
    reader.add(draft)


def _overrides(reader: Reader, draft: Draft) -> None:
    if "override" in draft.modifiers:
        reader.mark(draft.name_start, "override")
        draft.name_start = -1


def _field(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is None or name.type == "computed_property_name":
        return
    value = node.child_by_field_name("value")
    decorators, start = reader.decorations_before(node.start_byte)
    shape = value if value is not None and value.type in _VALUES else node
    draft = _begin(reader, "field", name, shape, node)
    draft.name = draft.name.strip("'\"")
    draft.decorators = decorators + _decorators(reader, node)
    draft.start = start
    draft.doc = draft.doc or reader.doc_before(start)
    draft.visibility, draft.modifiers = _member_modifiers(reader, node)
    draft.returns = annotation(reader, node.child_by_field_name("type"))
    if shape is value:
        draft.kind = "method"
        _callable(reader, draft, shape)
    elif value is not None and not draft.returns:
        told = told_of(reader, value)
        if told is not None and told[0]:
            reader.bindings.append(BindingDraft(f"this.{draft.name}", *told, name.start_byte))
    _overrides(reader, draft)
    reader.add(draft)


def pair(reader: Reader, node: Node) -> None:
    """Declare `name: function` of an object literal."""
    key = node.child_by_field_name("key")
    value = node.child_by_field_name("value")
    if key is None or value is None or key.type not in ("property_identifier", "string"):
        return
    draft = _begin(reader, "method", key, value, node)
    draft.name = draft.name.strip("'\"")
    _callable(reader, draft, value)
    reader.add(draft)


def interface(reader: Reader, node: Node, outer: Node) -> None:
    draft = _begin(reader, "interface", node.child_by_field_name("name"), node, outer)
    for child in node.named_children:
        if child.type == "extends_type_clause":
            for base in child.named_children:
                _base(reader, draft, base)
    reader.add(draft)
    body = node.child_by_field_name("body")
    _called(reader, draft, body)
    _signatures(reader, body)


def _called(reader: Reader, draft: Draft, body: Node | None) -> None:
    """Let an interface that can be called, or constructed, say with what and what that gives."""
    for kind in ("call_signature", "construct_signature"):
        for member in body.named_children if body is not None else ():
            if member.type == kind:
                _callable(reader, draft, member)
                draft.arity = -1
                if not draft.returns:
                    draft.returns = annotation(reader, member.child_by_field_name("type"))
                return


def _signatures(reader: Reader, body: Node | None) -> None:
    for member in body.named_children if body is not None else ():
        if member.type == "method_signature":
            method(reader, member)
        elif member.type == "property_signature":
            name = member.child_by_field_name("name")
            if name is None or name.type == "computed_property_name":
                continue
            draft = _begin(reader, "property", name, member, member)
            draft.name = draft.name.strip("'\"")
            draft.returns = annotation(reader, member.child_by_field_name("type"))
            draft.visibility, draft.modifiers = _member_modifiers(reader, member)
            reader.add(draft)


def type_alias(reader: Reader, node: Node, outer: Node) -> None:
    draft = _begin(reader, "type", node.child_by_field_name("name"), node, outer)
    value = node.child_by_field_name("value")
    if value is not None:
        draft.returns = reader.line(value.start_byte, value.end_byte, _ALIAS_CHARS)
    reader.add(draft)
    if value is not None and value.type == "object_type":
        _signatures(reader, value)


def enum(reader: Reader, node: Node, outer: Node) -> None:
    reader.add(_begin(reader, "enum", node.child_by_field_name("name"), node, outer))
    body = node.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        name = member.child_by_field_name("name") if member.type == "enum_assignment" else member
        if name is None or member.type == "comment":
            continue
        draft = Draft(
            "constant", reader.text(name).strip("'\""), member.start_byte, member.end_byte
        )
        draft.name_start = name.start_byte
        draft.signature = reader.line(member.start_byte, member.end_byte)
        draft.doc = reader.doc_before(member.start_byte)
        draft.visibility = "public"
        reader.add(draft)


def namespace(reader: Reader, node: Node, outer: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    draft = _begin(reader, "namespace", name, node, outer)
    draft.name = draft.name.strip("'\"")
    reader.locals += [child.start_byte for child in name.named_children]
    reader.add(draft)
