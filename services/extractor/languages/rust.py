"""Rust: items, their members and what is said about them."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import (
    rust_flow,
    rust_imports,
    rust_tokens,
    rust_values,
    shape,
)
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.nodes import parts
from services.extractor.languages.rust_impls import Impl, read_impls
from services.extractor.languages.rust_query import QUERY
from services.extractor.reader import BindingDraft, Draft, Reader

_KINDS = {
    "struct_item": "struct",
    "enum_item": "enum",
    "union_item": "union",
    "trait_item": "trait",
    "const_item": "constant",
    "static_item": "variable",
    "type_item": "type",
    "associated_type": "type",
}
_KEYWORDS = (  # among the tokens of a macro they are names like others
    b"as async await break const continue dyn else enum extern fn for if impl in let loop match mod "
    b"move mut pub ref return static struct trait type unsafe use where while"
)
_PRELUDE = frozenset({b"_", b"Some", b"None", b"Ok", b"Err"})
_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:async|unsafe|const|extern(?: \"\w*\")?)[ \t]+)*"
    rb"(?P<keyword>fn|struct|enum|trait|mod|union|impl)\b"
    rb"(?:(?<=impl)(?:<[^{\n]*?>)?[ \t]+(?:[^{\n]*?\bfor[ \t]+)?[&\w:]*?|(?<!impl)[ \t]+)(?P<name>\w+)\b(?!::)[^\n{;]*",
    re.MULTILINE,
)
_HEAD_KINDS = {
    b"fn": "function",
    b"struct": "struct",
    b"enum": "enum",
    b"trait": "trait",
    b"union": "union",
    b"impl": "",
}
_TYPE_NAMES = frozenset({"identifier", "type_identifier"})
_LITERAL = re.compile(rb"[bcr]*#*\"(.*?)\"?#*\Z", re.DOTALL)
_FOLDED = frozenset({"mod", "lib", "main"})


def module_of(path: str) -> str:
    """Return the module path of a file; `src`, `mod.rs`, `lib.rs` and `main.rs` add nothing."""
    names = [name for name in path.removesuffix(".rs").split("/") if name != "src"]
    if names[-1] in _FOLDED:
        names.pop()
    return ".".join(names).replace("-", "_")


def literal(raw: bytes) -> str | None:
    found = _LITERAL.match(raw)
    return found[1].decode(errors="replace") if found else None


def declare(reader: Reader) -> None:
    for node in reader.nodes("type_item"):
        _type(reader, node)
    impls = read_impls(reader)
    for node in reader.nodes("function"):
        _function(reader, node, impls.get(node.start_byte))
    for draft in declare_lost(reader, _HEAD, _HEAD_KINDS):
        draft.visibility = "public" if draft.signature.startswith("pub ") else "private"
    for node in reader.nodes("value"):
        _value(reader, node, impls.get(node.start_byte))
    for node in reader.nodes("macro"):
        _macro(reader, node)
    for node in reader.nodes("module"):
        _module(reader, node)
    data = reader.data
    binders = [  # a name in a pattern binds, unless it is a constant's
        node
        for node in reader.nodes("binder")
        if not data[node.start_byte : node.start_byte + 1].isupper()
    ]
    reader.locals += [node.start_byte for node in binders]
    for node in reader.nodes("path"):
        if data[node.start_byte : node.start_byte + 1].isupper() and reader.text(node) != "Self":
            reader.mark(node.start_byte, "type")
    _skip_self_type(reader)
    rust_values.declare(reader)
    rust_flow.declare(reader)
    bound = {binding.start for binding in reader.bindings}
    reader.untold += [
        (reader.text(node), node.start_byte, 0)
        for node in binders
        if node.start_byte not in bound
        and node.parent is not None
        and node.parent.type != "parameter"
    ]
    rust_flow.settle(reader)
    rust_tokens.read_tokens(reader)
    rust_imports.read_imports(reader)


def _begin(reader: Reader, kind: str, node: Node, body: Node | None) -> Draft | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    draft = shape.begin(reader, kind, name, node, body)
    draft.decorators, draft.start = reader.decorations_before(node.start_byte)
    if draft.start < node.start_byte:
        draft.doc = draft.doc or reader.doc_before(draft.start)
    draft.visibility = _visibility(reader, node)
    return reader.add(draft)


def _visibility(reader: Reader, node: Node) -> str:
    """Return public, internal for `pub(crate)` and the like, private for none."""
    for child in parts(node, "visibility_modifier"):
        return "public" if reader.text(child) == "pub" else "internal"
    return "private"


def _type(reader: Reader, node: Node) -> None:
    body = node.child_by_field_name("body")
    is_tuple = body is not None and body.type == "ordered_field_declaration_list"
    draft = _begin(reader, _KINDS[node.type], node, None if is_tuple else body)
    if draft is None:
        return
    bounds = node.child_by_field_name("bounds")
    if draft.kind == "trait":
        named = parts(bounds, "type_identifier", "scoped_type_identifier", "generic_type")
        shape.bases(reader, draft, named, _TYPE_NAMES)
    if is_tuple:
        return
    for member in parts(body, "field_declaration"):
        _field(reader, member, "")
    for member in parts(body, "enum_variant"):
        variant = _begin(reader, "constant", member, None)
        if variant is not None:
            for field in parts(member.child_by_field_name("body"), "field_declaration"):
                _field(reader, field, variant.name)


def _field(reader: Reader, node: Node, variant: str) -> None:
    draft = _begin(reader, "field", node, None)
    if draft is not None:
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        draft.prefix = variant


def _function(reader: Reader, node: Node, impl: Impl | None) -> None:
    draft = _begin(reader, "function", node, node.child_by_field_name("body"))
    if draft is None:
        return
    for modifiers in parts(node, "function_modifiers"):
        words = reader.text(modifiers).split()
        draft.modifiers = tuple(word for word in words if word.isidentifier())
    draft.returns = reader.type_text(node.child_by_field_name("return_type"))
    has_self = False
    parameters = node.child_by_field_name("parameters")
    for child in parts(parameters, "self_parameter", "parameter", "variadic_parameter"):
        if child.type == "variadic_parameter":
            draft.params.append(("", "..."))
            continue
        pattern = child.child_by_field_name("pattern")
        if child.type == "self_parameter" or (pattern is not None and pattern.type == "self"):
            has_self = True
        else:
            declared = reader.type_text(child.child_by_field_name("type"))
            is_name = pattern is not None and pattern.type == "identifier"
            draft.params.append((reader.text(pattern) if pattern and is_name else "", declared))
    draft.arity = len(draft.params)
    if impl is not None:
        _join(reader, draft, impl)
        if has_self:
            reader.bindings.append(BindingDraft("self", impl.subject, "parameter", node.start_byte))
        else:
            draft.modifiers += ("static",)


def _value(reader: Reader, node: Node, impl: Impl | None) -> None:
    draft = _begin(reader, _KINDS[node.type], node, None)
    if draft is None:
        return
    draft.returns = reader.type_text(node.child_by_field_name("type"))
    if node.type == "static_item":
        is_mutable = bool(parts(node, "mutable_specifier"))
        draft.modifiers = ("static", "mut") if is_mutable else ("static",)
    if impl is not None:
        _join(reader, draft, impl)
    elif draft.kind != "type" and draft.returns:
        reader.bindings.append(
            BindingDraft(draft.name, draft.returns, "annotation", node.start_byte)
        )


def _join(reader: Reader, draft: Draft, impl: Impl) -> None:
    """Give a member to the type it is implemented for; a trait's member overrides the trait's."""
    draft.owner = impl.owner
    if draft.kind == "function":
        draft.kind = "method"
    if impl.trait is not None:
        draft.visibility = "public"
        reader.receiver_spans[draft.name_start] = impl.trait
        shape.override(reader, draft)


def _macro(reader: Reader, node: Node) -> None:
    draft = _begin(reader, "macro", node, None)
    if draft is not None:
        draft.signature = f"macro_rules! {draft.name}"
        if "#[macro_export]" in draft.decorators:
            draft.visibility = "public"


def _module(reader: Reader, node: Node) -> None:
    body = node.child_by_field_name("body")
    if body is not None:
        _begin(reader, "module", node, body)
    else:
        rust_imports.read_module(reader, node)


def _skip_self_type(reader: Reader) -> None:
    """Leave `Self` out where it only stands for the type around it, but keep `Self { .. }`."""
    data = reader.data
    created = set(reader.starts("new"))
    skipped = reader.captures.setdefault("skip", [])
    skipped += [
        node
        for node in [*reader.nodes("type"), *reader.nodes("path")]
        if data.startswith(b"Self", node.start_byte)
        and node.end_byte == node.start_byte + 4
        and node.start_byte not in created
    ]


def settle(draft: Draft, parent: Draft | None) -> None:
    """Members of traits and enums are as visible as these."""
    if parent is not None and parent.kind in ("trait", "enum") and not draft.owner:
        draft.visibility = parent.visibility


RUST = Grammar(
    language="rust",
    bundle="rust",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    settle=settle,
    noise=_PRELUDE.union(_KEYWORDS.split()),
    self_name="self",
)
