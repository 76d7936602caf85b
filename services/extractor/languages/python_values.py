"""What Python assignments write to, and what they tell of types."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import BindingDraft, Reader, short_expression

_RETURNED = "return"


def mark_name(reader: Reader, node: Node, kind: str) -> None:
    """Mark the last name of `a.b`, `a.b(...)` or `a.b[...]`."""
    if node.type in ("call", "subscript", "generic_type"):
        node = first(node) or node
    if node.type == "attribute":
        inner = node.child_by_field_name("attribute")
        node = node if inner is None else inner
    if node.type == "identifier":
        reader.mark(node.start_byte, kind)


def assigned(reader: Reader, left: Node | None) -> None:
    """Note what an assignment's left side writes to."""
    if left is None:
        return
    if left.type == "identifier":
        reader.targets.append(left.start_byte)
    elif left.type == "attribute":
        name = left.child_by_field_name("attribute")
        if name is not None:
            reader.mark(name.start_byte, "write")
    elif left.type in ("pattern_list", "tuple_pattern", "list_pattern", "expression_list"):
        for child in left.named_children:
            if child.type == "attribute":
                assigned(reader, child)


def assignment(reader: Reader, node: Node) -> None:
    left = node.child_by_field_name("left")
    assigned(reader, left)
    declared = node.child_by_field_name("type")
    if left is not None:
        _fields(reader, left, node, reader.type_text(declared))
    if left is not None and left.type in ("pattern_list", "tuple_pattern"):
        _bind_each(reader, left, node.child_by_field_name("right"))
    if left is None or left.type not in ("identifier", "attribute"):
        return
    if declared is not None:
        reader.bind(left, reader.type_text(declared), "annotation")
        return
    right = node.child_by_field_name("right")
    if right is not None:
        _bind_value(reader, left, right)


def named(reader: Reader, node: Node) -> None:
    """Bind the name of `name := value`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and value is not None:
        _bind_value(reader, name, value)


def _bind_each(reader: Reader, left: Node, right: Node | None) -> None:
    """Bind the names of `a, b = X(), Y()`, each to its own value."""
    names = left.named_children
    if right is not None and right.type in ("identifier", "attribute"):
        for number, name in enumerate(names):
            if name.type == "identifier":
                reader.bind(name, f"{reader.type_text(right)}[{number}]", "alias")
            elif name.type == "list_splat_pattern" and (rest := first(name)) is not None:
                reader.bind(rest, reader.type_text(right), "alias")
    if right is None or right.type not in ("expression_list", "tuple"):
        return
    values = [value for value in right.named_children if value.type != "comment"]
    if len(names) == len(values) and not any(value.type == "list_splat" for value in values):
        for name, value in zip(names, values, strict=True):
            if name.type in ("identifier", "attribute"):
                _bind_value(reader, name, value)


def _fields(reader: Reader, left: Node, around: Node, declared: str) -> None:
    """Declare the fields that `self.a, self.b = ...` is the first to tell of."""
    if left.type == "attribute":
        name = left.child_by_field_name("attribute")
        if name is not None and reader.field_text(left, "object") in ("self", "cls"):
            draft = reader.held(name, around)
            draft.returns = declared
            draft.visibility = "private" if draft.name.startswith("_") else "public"
    elif left.type in ("pattern_list", "tuple_pattern"):
        for child in left.named_children:
            _fields(reader, child, around, "")


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    kind = value.type
    if kind == "await":
        value = first(value) or value
        kind = value.type
    if kind == "call":
        callee = value.child_by_field_name("function")
        if callee is not None and callee.type in ("identifier", "attribute"):
            text = reader.type_text(callee)
            if text in _CASTS:
                declared = first(value.child_by_field_name("arguments"))
                reader.bind(name, reader.type_text(declared), "annotation")
            else:
                reader.bind(name, text, "call")
    elif kind in ("identifier", "attribute", "subscript"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind in ("boolean_operator", "conditional_expression", "parenthesized_expression"):
        parts = value.named_children
        for part in parts[::2] if kind == "conditional_expression" else parts:
            _bind_value(reader, name, part)


_CASTS = frozenset({"cast", "t.cast", "typing.cast"})


def loop(reader: Reader, node: Node) -> None:
    """Bind a loop's variable to an element of what it runs over."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    if left.type != "identifier":
        _loop_apart(reader, left, right)
    elif right.type == "call":
        callee = right.child_by_field_name("function")
        if callee is not None and callee.type in ("identifier", "attribute"):
            text = reader.type_text(callee)
            if text in ("list", "sorted", "reversed", "tuple", "set", "iter"):
                inner = first(right.child_by_field_name("arguments"))
                if inner is not None and inner.type in ("identifier", "attribute"):
                    reader.bind(left, reader.type_text(inner), "element")
            else:
                reader.bind(left, reader.type_text(right), "element")
    elif right.type in ("identifier", "attribute"):
        reader.bind(left, reader.type_text(right), "element")


def _loop_apart(reader: Reader, left: Node, right: Node) -> None:
    """Bind the names of `for n, a in enumerate(x)`, `for a, b in zip(x, y)`, `for k, v in d.items()`."""
    callee = right.child_by_field_name("function") if right.type == "call" else None
    if callee is None:
        return
    names = left.named_children
    text = reader.text(callee)
    arguments = right.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    if text == "enumerate" and len(names) == 2 and given:
        _each(reader, names[1], given[0])
    elif text == "zip":
        for name, one in zip(names, given, strict=False):
            _each(reader, name, one)
    elif text.endswith(".items") and len(names) == 2 and names[1].type == "identifier":
        reader.bind(names[1], f"{text.removesuffix('.items')}[0]", "alias")


def _each(reader: Reader, name: Node, held: Node) -> None:
    if name.type == "identifier" and held.type in ("identifier", "attribute"):
        reader.bind(name, reader.type_text(held), "element")


def returned(reader: Reader, node: Node) -> None:
    """Note what a function returns, as far as its text tells a type."""
    value = first(node)
    if value is None:
        return
    values = [value]
    if value.type in ("conditional_expression", "boolean_operator"):
        values = value.named_children[::2] if value.type[0] == "c" else value.named_children
    for one in values:
        inner = (first(one) or one) if one.type == "await" else one
        if inner.type == "call":
            callee = inner.child_by_field_name("function")
            if callee is not None and callee.type in ("identifier", "attribute"):
                _return(reader, reader.type_text(callee), "call", node)
        elif inner.type in ("identifier", "attribute"):
            _return(reader, reader.type_text(inner), "alias", node)


def _return(reader: Reader, text: str, origin: str, node: Node) -> None:
    if "(" in text:
        text = short_expression(text.encode())
    reader.bindings.append(BindingDraft(_RETURNED, text, origin, node.start_byte))


def narrowed(reader: Reader, node: Node) -> None:
    """Bind what `if isinstance(x, T):` says inside its block."""
    if reader.data.find(b"isinstance", *node.byte_range) < 0:
        return
    for clause in (node, *node.children_by_field_name("alternative")):
        condition = clause.child_by_field_name("condition")
        block = clause.child_by_field_name("consequence")
        if condition is None or block is None:
            continue
        checks = [condition]
        if (
            condition.type == "boolean_operator"
            and reader.field_text(condition, "operator") == "and"
        ):
            checks = condition.named_children
        for check in checks:
            _narrow(reader, check, block)


def asserted(reader: Reader, node: Node) -> None:
    """Bind what `assert isinstance(x, T)` says up to the end of its block."""
    check = first(node)
    if check is not None and node.parent is not None:
        _narrow(reader, check, node.parent)


def _narrow(reader: Reader, check: Node, block: Node) -> None:
    if check.type != "call" or reader.field_text(check, "function") != "isinstance":
        return
    arguments = check.child_by_field_name("arguments")
    parts = arguments.named_children if arguments is not None else []
    if len(parts) != 2 or parts[0].type != "identifier":
        return
    if parts[1].type in ("identifier", "attribute"):
        name, declared = reader.text(parts[0]), reader.type_text(parts[1])
        reader.bindings.append(BindingDraft(name, declared, "narrow", check.start_byte))
        reader.bindings.append(BindingDraft(name, "", "widen", block.end_byte - 1))


def _entered(reader: Reader, name: Node, value: Node, item: Node) -> None:
    """Bind the name of `with value as name` to what entering the value gives."""
    statement = item.parent.parent if item.parent is not None else None
    awaited = statement is not None and statement.child(0).type == "async"
    enter = "__aenter__" if awaited else "__enter__"
    text = ""
    if value.type == "call":
        callee = value.child_by_field_name("function")
        if callee is not None and callee.type in ("identifier", "attribute"):
            text = f"{reader.type_text(callee)}()"
    elif value.type in ("identifier", "attribute"):
        text = reader.type_text(value)
    if text:
        reader.bind(name, f"{text}.{enter}", "alias")


def matched(reader: Reader, node: Node) -> None:
    """Bind what `case T():` says of a subject that is a name, inside the case."""
    subject, body = node.child_by_field_name("subject"), node.child_by_field_name("body")
    if subject is None or body is None or subject.type != "identifier":
        return
    name = reader.text(subject)
    for clause in body.named_children:
        patterns = [child for child in clause.named_children if child.type == "case_pattern"]
        declared = _class_of(reader, patterns[0]) if len(patterns) == 1 else ""
        if declared:
            reader.bindings.append(BindingDraft(name, declared, "narrow", clause.start_byte))
            reader.bindings.append(BindingDraft(name, "", "widen", clause.end_byte - 1))


def _class_of(reader: Reader, pattern: Node) -> str:
    """Return the class in `T(...)` or `T(...) as x`, "" for any other pattern."""
    inner: Node | None = pattern
    while inner is not None and inner.type in ("case_pattern", "as_pattern"):
        inner = first(inner)
    named = first(inner) if inner is not None and inner.type == "class_pattern" else None
    return reader.type_text(named)


def as_pattern(reader: Reader, node: Node) -> None:
    clause = node.parent
    if clause is not None and clause.type == "case_pattern":
        bound = node.named_children[-1]
        reader.locals.append(bound.start_byte)
        if declared := _class_of(reader, node):
            reader.bind(bound, declared, "annotation")
        return
    target = node.child_by_field_name("alias")
    name = first(target)
    if name is None:
        return
    names = name.named_children if name.type in ("tuple", "list") else [name]
    reader.locals += [part.start_byte for part in names if part.type == "identifier"]
    value = first(node)
    if clause is not None and clause.type == "with_item":
        if name.type == "identifier" and value is not None:
            _entered(reader, name, value, clause)
    elif name.type == "identifier" and value is not None and value.type == "call":
        _bind_value(reader, name, value)
    if name.type == "identifier" and clause is not None and clause.type == "except_clause":
        text = reader.text(name)
        reader.bindings.append(BindingDraft(text, "", "block", name.start_byte))
        if value is not None and value.type in ("identifier", "attribute"):
            reader.bind(name, reader.type_text(value), "annotation")
        reader.bindings.append(BindingDraft(text, "", "widen", clause.end_byte - 1))
