"""Rust."""

from __future__ import annotations

import re

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.reader import BindingDraft, Draft, ImportDraft, Reader
from tree_sitter import Node

QUERY = """
[(identifier) (type_identifier) (field_identifier) (shorthand_field_identifier)] @id
(type_identifier) @type
(lifetime (identifier) @skip)
(field_expression value: (_) @object)
(scoped_identifier path: (_) @object)
(scoped_type_identifier path: (_) @object)
(call_expression function: [(identifier) (scoped_identifier) (field_expression)]
                 arguments: (arguments) @args.direct)
(call_expression function: (generic_function function: [
    (identifier) @callee (scoped_identifier name: (_) @callee) (field_expression field: (_) @callee)])
                 arguments: (arguments) @args)
(macro_invocation (token_tree) @args.tokens)
(token_tree (token_tree) @args.tokens)
(attribute arguments: (token_tree) @args.tokens)
(struct_expression name: [
  (type_identifier) @new
  (scoped_type_identifier name: (_) @new)
  (generic_type type: [(type_identifier) @new (scoped_type_identifier name: (_) @new)])])
(arguments [(string_literal) (raw_string_literal)] @string)
(token_tree [(string_literal) (raw_string_literal)] @string)
(arguments [(line_comment) (block_comment)] @args.comment)
(attribute [(identifier) @decorator (scoped_identifier name: (_) @decorator)])
(attribute_item) @decoration

(parameter pattern: (identifier) @local)
(let_declaration pattern: (identifier) @local)
(let_condition pattern: (identifier) @local)
(for_expression pattern: (identifier) @local)
(closure_parameters (identifier) @local)
(tuple_pattern (identifier) @local)
(slice_pattern (identifier) @local)
(reference_pattern (identifier) @local)
(ref_pattern (identifier) @local)
(mut_pattern (identifier) @local)
(captured_pattern . (identifier) @local)
(tuple_struct_pattern type: (_) (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(field_pattern pattern: (identifier) @local)
(match_pattern . (identifier) @match_name)
(type_parameter name: (type_identifier) @local)
(const_parameter name: (identifier) @local)
(field_declaration name: (field_identifier) @skip)
(field_initializer field: (field_identifier) @write)
(assignment_expression left: [(identifier) @write (field_expression field: (_) @write)])
(compound_assignment_expr left: [(identifier) @write (field_expression field: (_) @write)])

[(line_comment) (block_comment)] @comment
[(struct_item) (enum_item) (union_item) (trait_item)] @type_item
[(function_item) (function_signature_item)] @function
(impl_item) @impl
[(const_item) (static_item)] @constant
[(type_item) (associated_type)] @alias
(mod_item) @module
(macro_definition) @macro
(let_declaration) @let
(closure_parameters (parameter) @closure_parameter)
(use_declaration) @import @skip.span
(extern_crate_declaration) @extern_crate @skip.span
"""

_NAMES = frozenset({"identifier", "type_identifier"})
_KINDS = {
    "struct_item": "struct",
    "enum_item": "enum",
    "union_item": "union",
    "trait_item": "trait",
}
_IMPL_MEMBERS = frozenset({"function_item", "const_item", "type_item"})
_ROOTS = frozenset({"mod", "lib", "main"})
_LOOK_BACK = 200
_QUALIFIED_TAIL = re.compile(rb"((?:\w+(?:\(\))?(?:\.|::))*\w+(?:\(\))?)(?:\.|::)(\w+)$")
_LITERAL = re.compile(rb"[bcr]*#*\"(.*?)\"?#*$", re.DOTALL)


def module_of(path: str) -> str:
    """Return the module path of a file; `src`, `mod.rs`, `lib.rs` and `main.rs` add nothing."""
    parts = [part for part in path.removesuffix(".rs").split("/") if part != "src"]
    if len(parts) > 1 and parts[-1] in _ROOTS:
        parts = parts[:-1]
    return ".".join(parts)


def literal(raw: bytes) -> str | None:
    found = _LITERAL.match(raw)
    return found[1].decode(errors="replace") if found else None


def declare(reader: Reader) -> None:
    owners = _impls(reader)
    for node in reader.nodes("type_item"):
        _type(reader, node)
    for node in reader.nodes("function"):
        _function(reader, node, owners)
    for node in reader.nodes("constant"):
        kind = "variable" if node.child(0).type == "static" else "constant"
        _simple(reader, kind, node, owners)
    for node in reader.nodes("alias"):
        _simple(reader, "type", node, owners)
    for node in reader.nodes("macro"):
        _simple(reader, "macro", node, owners)
    for node in reader.nodes("module"):
        _module(reader, node)
    for node in reader.nodes("let"):
        _let(reader, node)
    for node in reader.nodes("closure_parameter"):
        pattern = node.child_by_field_name("pattern")
        if pattern is not None:
            declared = reader.type_text(node.child_by_field_name("type"))
            reader.bind(pattern, declared, "parameter")
    for node in reader.nodes("match_name"):  # a lower-case name in a pattern binds, others match
        if reader.data[node.start_byte : node.start_byte + 1].islower():
            reader.locals.append(node.start_byte)
    _macro_receivers(reader)
    for node in reader.nodes("import"):
        _use(reader, node)
    for node in reader.nodes("extern_crate"):
        name = reader.field_text(node, "name")
        alias = reader.field_text(node, "alias") or name
        reader.imports.append(ImportDraft(name, "", alias, node.start_byte, "use"))


def _begin(reader: Reader, kind: str, node: Node, body: Node | None = None) -> Draft | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    draft = shape.begin(reader, kind, name, node, body)
    draft.decorators, draft.start = reader.decorations_before(node.start_byte)
    draft.doc = draft.doc or reader.doc_before(draft.start)
    draft.visibility = _visibility(reader, node)
    return reader.add(draft)


def _visibility(reader: Reader, node: Node) -> str:
    for child in node.children[:2]:
        if child.type == "visibility_modifier":
            return "public" if reader.text(child) == "pub" else "internal"
    return "private"


def _impls(reader: Reader) -> dict[int, tuple[str, bool]]:
    """Map the start of each impl member to its type's name and whether a trait asks for it."""
    owners: dict[int, tuple[str, bool]] = {}
    for node in reader.nodes("impl"):
        subject, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
        body = node.child_by_field_name("body")
        if subject is None:
            continue
        owner = _simple_name(reader.type_text(subject))
        for member in body.named_children if body is not None else ():
            if member.type in _IMPL_MEMBERS:
                owners[member.start_byte] = (owner, trait is not None)
        if trait is not None:
            shape.mark_last(reader, trait, "base", _NAMES)
            base = shape.without_arguments(reader.type_text(trait))
            reader.bindings.append(BindingDraft(owner, base, "base", trait.start_byte))
    return owners


def _simple_name(text: str) -> str:
    return shape.without_arguments(text).lstrip("&*").removeprefix("mut ").rpartition("::")[2]


def _type(reader: Reader, node: Node) -> None:
    body = node.child_by_field_name("body")
    braced = body if body is not None and body.type != "ordered_field_declaration_list" else None
    draft = _begin(reader, _KINDS[node.type], node, braced)
    if draft is None:
        return
    bounds = node.child_by_field_name("bounds")
    if draft.kind == "trait" and bounds is not None:
        named = [b for b in bounds.named_children if b.type.endswith(("identifier", "generic_type"))]
        shape.bases(reader, draft, named, _NAMES)
    draft.bases += [
        binding.type_name for binding in reader.bindings
        if binding.origin == "base" and binding.name == draft.name
    ]  # fmt: skip
    for member in body.named_children if body is not None else ():
        if member.type == "field_declaration":
            field = _begin(reader, "field", member)
            if field is not None:
                field.returns = reader.type_text(member.child_by_field_name("type"))
        elif member.type == "enum_variant":
            variant = _begin(reader, "constant", member)
            if variant is not None:
                variant.visibility = "public"


def _function(reader: Reader, node: Node, owners: dict[int, tuple[str, bool]]) -> None:
    draft = _begin(reader, "function", node, node.child_by_field_name("body"))
    if draft is None:
        return
    for child in node.children:
        if child.type == "function_modifiers":
            draft.modifiers = tuple(reader.text(child).split())
            break
    owner, implements = owners.get(node.start_byte, ("", False))
    draft.owner = owner
    draft.returns = reader.type_text(node.child_by_field_name("return_type"))
    parameters = node.child_by_field_name("parameters")
    has_self = False
    for child in parameters.named_children if parameters is not None else ():
        if child.type == "parameter":
            declared = reader.type_text(child.child_by_field_name("type"))
            draft.params.append((reader.field_text(child, "pattern"), declared))
        elif child.type == "self_parameter":
            has_self = True
    draft.arity = len(draft.params)
    if owner and not has_self:
        draft.modifiers += ("static",)
    if implements:
        draft.visibility = "public"
        draft.modifiers += ("override",)
        shape.override(reader, draft)


def _simple(
    reader: Reader, kind: str, node: Node, owners: dict[int, tuple[str, bool]]
) -> None:
    body = next((c for c in node.children if c.type == "macro_rule"), None)
    draft = _begin(reader, kind, node, body)
    if draft is not None:
        draft.owner = owners.get(node.start_byte, ("", False))[0]
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        if kind == "macro":
            draft.signature = f"macro_rules! {draft.name}"


def _module(reader: Reader, node: Node) -> None:
    body = node.child_by_field_name("body")
    if body is not None:
        _begin(reader, "module", node, body)
        return
    name = node.child_by_field_name("name")
    if name is not None:
        text = reader.text(name)
        reader.imports.append(ImportDraft(text, "", text, node.start_byte, "mod"))
        reader.mark(name.start_byte, "import")


def settle(draft: Draft, parent: Draft | None) -> None:
    if parent is not None and parent.kind == "trait" and not draft.owner:
        draft.visibility = "public"


def _let(reader: Reader, node: Node) -> None:
    name, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    if name is None or name.type != "identifier":
        return
    declared = reader.type_text(node.child_by_field_name("type"))
    if declared:
        reader.bind(name, declared, "annotation")
        return
    while value is not None and value.type in (
        "try_expression", "await_expression", "reference_expression",
    ):  # fmt: skip
        value = value.named_children[-1] if value.named_child_count else None
    if value is None:
        return
    if value.type == "call_expression":
        function = value.child_by_field_name("function")
        if function is not None and function.type == "generic_function":
            function = function.child_by_field_name("function")
        if function is not None:
            reader.bind(name, reader.type_text(function), "call")
    elif value.type == "struct_expression":
        text = reader.type_text(value.child_by_field_name("name"))
        reader.bind(name, shape.without_arguments(text), "call")
    elif value.type in ("identifier", "field_expression", "scoped_identifier"):
        reader.bind(name, reader.type_text(value), "alias")


def _macro_receivers(reader: Reader) -> None:
    """Inside a macro's tokens nothing is parsed: tell a call's receiver from its text."""
    data = reader.data
    for node in reader.nodes("args.tokens"):
        end = node.start_byte
        if data[end - 1 : end] == b"!":
            end -= 1
        first = max(0, end - _LOOK_BACK)
        found = _QUALIFIED_TAIL.search(data[first:end])
        if found:
            reader.receiver_spans[first + found.start(2)] = (
                first + found.start(1), first + found.end(1),
            )  # fmt: skip


def _use(reader: Reader, node: Node) -> None:
    argument = node.child_by_field_name("argument")
    kind = "export" if node.child(0).type == "visibility_modifier" else "use"
    if argument is not None:
        _use_tree(reader, argument, "", kind)


def _use_tree(reader: Reader, node: Node, prefix: str, kind: str, depth: int = 0) -> None:
    shape_of = node.type
    start = node.start_byte
    if depth > 20:
        return
    if shape_of in ("scoped_use_list", "use_list"):
        path = node.child_by_field_name("path")
        inner = _joined(prefix, reader.text(path)) if path is not None else prefix
        listed = node.child_by_field_name("list") or node
        for child in listed.named_children:
            if child is not path:
                _use_tree(reader, child, inner, kind, depth + 1)
    elif shape_of == "use_wildcard":
        path_text = reader.text(node.named_children[0]) if node.named_child_count else ""
        reader.imports.append(ImportDraft(_joined(prefix, path_text), "*", "", start, kind))
    elif shape_of == "use_as_clause":
        path = node.child_by_field_name("path")
        alias = reader.field_text(node, "alias")
        if path is not None:
            _use_name(reader, path, prefix, "" if alias == "_" else alias, kind)
    elif shape_of in ("identifier", "scoped_identifier", "self", "crate", "super"):
        _use_name(reader, node, prefix, None, kind)


def _use_name(reader: Reader, node: Node, prefix: str, alias: str | None, kind: str) -> None:
    path = _joined(prefix, reader.text(node)).removesuffix("::self")
    module, _, name = path.rpartition("::")
    if node.type == "self" or not module:  # the module itself
        draft = ImportDraft(path, "", name if alias is None else alias, node.start_byte, kind)
    else:
        draft = ImportDraft(module, name, name if alias is None else alias, node.start_byte, kind)
    reader.imports.append(draft)
    last = node.child_by_field_name("name") or node
    reader.mark(last.start_byte, "import")
    path_node = node.child_by_field_name("path")
    if path_node is not None:
        reader.receiver_spans[last.start_byte] = path_node.byte_range


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix and path else prefix or path


RUST = Grammar(
    language="rust",
    bundle="rust",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    settle=settle,
    noise=frozenset({b"_"}),
    self_name="self",
)
