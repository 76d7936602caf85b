"""PHP: what do loops, checks and comments tell of variables, and where are they bound anew?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.languages.php_members import CLASS_NAMES, DOC_VAR, DOC_VAR_NAMED
from services.extractor.reader import BindingDraft, Reader, short_expression

_PLACES = frozenset({
    "variable_name", "member_access_expression", "nullsafe_member_access_expression",
    "scoped_property_access_expression", "subscript_expression",
})  # fmt: skip
_ITERATED = _PLACES | {
    "member_call_expression", "function_call_expression", "scoped_call_expression",
    "nullsafe_member_call_expression",
}  # fmt: skip


def plain(text: str) -> str:
    """Spell an expression as bindings do: `this.repo.find` for `$this->repo->find`."""
    return text.replace("?->", ".").replace("->", ".").replace("$", "")


def declare(reader: Reader) -> None:
    for node in reader.nodes("foreach"):
        _loop(reader, node)
    for node in reader.nodes("closure"):
        _closure(reader, node)
    for node in reader.nodes("checked"):
        _narrow(reader, node)
    for node in reader.nodes("comment"):
        if reader.data.find(b"@var", *node.byte_range) >= 0:
            _documented(reader, node)


def bind(reader: Reader, node: Node) -> None:
    """Bind what an assignment assigns to, from its end on."""
    told, untold = len(reader.bindings), len(reader.untold)
    name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    if name is not None and value is not None:
        _bind_value(reader, name, value)
    if node.end_point[0] > node.start_point[0]:
        for binding in reader.bindings[told:]:
            binding.start = node.end_byte - 1
        late = [(one, node.end_byte - 1, 0) for one, _, _ in reader.untold[untold:]]
        reader.untold[untold:] = late


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    if name.type == "list_literal":
        names, given = name.named_children, value.named_children
        if value.type == "array_creation_expression" and len(names) == len(given):
            for one, element in zip(names, given, strict=True):
                inner = element.named_children
                _bind_value(reader, one, inner[0] if len(inner) == 1 else element)
        else:
            bound_anew(reader, name)
        return
    if name.type not in ("variable_name", "member_access_expression"):
        return
    told = _told(reader, value)
    if told is not None:
        reader.bind(name, *told)
    elif name.type == "variable_name":
        variable = reader.text(name)
        if not reader.text(value).startswith((f"{variable} ", f"({variable} ")):  # `$x ?? new A`
            bound_anew(reader, name)


def _told(reader: Reader, value: Node) -> tuple[str, str] | None:
    """Return what an expression tells of its type, and as what."""
    if value.type == "clone_expression":
        value = first(value) or value
    kind = value.type
    if kind == "object_creation_expression":
        made = first(value)
        if made is not None and made.type in CLASS_NAMES:
            return reader.text(made), "call"
    elif kind.endswith("call_expression"):
        arguments = value.child_by_field_name("arguments")
        if arguments is not None:
            callee = reader.data[value.start_byte : arguments.start_byte]
            return plain(short_expression(callee)), "call"
    elif kind in _PLACES or (
        kind == "class_constant_access_expression" and not reader.text(value).endswith("::class")
    ):
        return plain(short_expression(reader.data[value.start_byte : value.end_byte])), "alias"
    return None


def bound_anew(reader: Reader, target: Node | None) -> None:
    """Note that variables no longer mean what was told of them."""
    if target is None:
        return
    if target.type == "variable_name":
        reader.untold.append((reader.text(target)[1:], target.start_byte, 0))
    elif target.type in ("list_literal", "array_creation_expression", "pair", "by_ref") or (
        target.type == "array_element_initializer"
    ):
        for child in target.named_children:
            bound_anew(reader, child)


def _loop(reader: Reader, node: Node) -> None:
    children = node.named_children
    if len(children) < 2:  # of broken code
        return
    over, target = children[0], children[1]
    if target.type == "pair" and target.named_child_count == 2:
        key, target = target.named_children
        bound_anew(reader, key)
    if target.type == "by_ref":
        target = first(target) or target
    if target.type != "variable_name" or over.type not in _ITERATED:
        bound_anew(reader, target)
        return
    text = plain(short_expression(reader.data[over.start_byte : over.end_byte]))
    reader.bind(target, text, "element")


def _closure(reader: Reader, node: Node) -> None:
    """Bind the parameters of a function without a name, for as long as it is."""
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        name = parameter.child_by_field_name("name")
        if name is None or name.type != "variable_name":
            continue
        text, start, end = reader.text(name)[1:], name.start_byte, node.end_byte - 1
        declared = reader.type_text(parameter.child_by_field_name("type"))
        if declared:
            reader.bindings += [
                BindingDraft(text, "", "block", start),
                BindingDraft(text, declared, "annotation", start),
                BindingDraft(text, "", "widen", end),
            ]
        else:
            reader.untold.append((text, start, end))


def _narrow(reader: Reader, node: Node) -> None:
    """Bind what `if ($x instanceof T)` says inside its block."""
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    check = first(condition)
    while check is not None and check.type == "binary_expression" and body is not None:
        operator = reader.field_text(check, "operator")
        name, right = check.child_by_field_name("left"), check.child_by_field_name("right")
        for one in (check, right) if operator in ("&&", "and") else (check,):
            _narrow_by(reader, one, body.end_byte)
        check = name if operator in ("&&", "and") else None


def _narrow_by(reader: Reader, check: Node | None, end: int) -> None:
    if check is None or reader.field_text(check, "operator") != "instanceof":
        return
    name, declared = check.child_by_field_name("left"), check.child_by_field_name("right")
    if name is None or name.type != "variable_name":
        return
    if declared is not None and declared.type in CLASS_NAMES:
        text, told = reader.text(name)[1:], reader.text(declared)
        reader.bindings.append(BindingDraft(text, told, "narrow", check.start_byte))
        reader.bindings.append(BindingDraft(text, "", "widen", end))


def _documented(reader: Reader, comment: Node) -> None:
    """Bind what `/** @var T $x */` says from the statement behind it on."""
    text = reader.text(comment)
    following = comment.next_named_sibling
    named = DOC_VAR_NAMED.findall(text)
    statement = following.type if following is not None else ""
    at = comment.end_byte
    if following is not None and statement == "foreach_statement":
        body = following.child_by_field_name("body")
        at = body.start_byte if body is not None else at
    elif following is not None and statement == "expression_statement":
        assigned = first(following)
        left = assigned.child_by_field_name("left") if assigned is not None else None
        if left is not None and left.type == "variable_name":
            at = following.end_byte - 1
            found = DOC_VAR.search(text) if not named else None
            named = [(found[1], reader.text(left)[1:])] if found is not None else named
    reader.bindings += [BindingDraft(name, told, "annotation", at) for told, name in named]
