"""Python."""

from __future__ import annotations

import re
from itertools import pairwise

from services.extractor.grammar import Grammar
from services.extractor.languages.nodes import first
from services.extractor.reader import DOC_CHARS, Draft, ImportDraft, Reader
from tree_sitter import Node

QUERY = """
(identifier) @id
(call function: [(identifier) (attribute)] arguments: (argument_list) @args.direct)
(call function: [(identifier) (attribute)] arguments: (generator_expression) @args.one)
(attribute object: (_) @object)
(argument_list (string) @string)
(argument_list (concatenated_string) @string)
(argument_list (comment) @args.comment)
(keyword_argument . (identifier) @skip)
(keyword_pattern . (identifier) @skip)
(type) @type.span
(raise_statement) @raise_statement

(augmented_assignment) @augmented
(pattern_list (identifier) @target)
(tuple_pattern (identifier) @target)
(list_pattern (identifier) @target)
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(for_statement left: (identifier) @local)
(for_in_clause left: (identifier) @local)
(named_expression name: (identifier) @local)
(as_pattern) @as_pattern
(case_pattern (dotted_name . (identifier) @local .))
(splat_pattern (identifier) @local)
(lambda_parameters) @lambda
(type_parameter (type (constrained_type . (type (identifier) @local))))
(global_statement (identifier) @global)
(nonlocal_statement (identifier) @local)

(function_definition) @function
(class_definition) @class
(decorated_definition) @decorated
(type_alias_statement) @alias
(assignment) @assignment
[(import_statement) (import_from_statement) (future_import_statement)] @import @skip.span
"""

_STRING = re.compile(rb"([A-Za-z]{0,2})('''|\"\"\"|'|\")(.*?)(?:\2|$)", re.DOTALL)
_LITERAL_NAME = re.compile(rb"['\"]([A-Za-z_]\w*)['\"]")
_ENUMS = frozenset(
    "Enum IntEnum StrEnum Flag IntFlag ReprEnum TextChoices IntegerChoices".split()
)
_PROPERTY = frozenset({"property", "cached_property", "functools.cached_property"})
_PARAMETERS = frozenset({"default_parameter", "typed_parameter", "typed_default_parameter"})
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})


def module_of(path: str) -> str:
    """Return the dotted module of a path, a leading source folder left out."""
    parts = path.rpartition(".")[0].split("/")
    if len(parts) > 1 and parts[0] in _SOURCE_ROOTS:
        parts = parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def literal(raw: bytes) -> str | None:
    """Return the value of a string or of adjacent strings; None when anything is computed."""
    pieces = []
    at = 0
    while at < len(raw):
        found = _STRING.match(raw, at)
        if found is None:
            break
        if b"f" in found[1].lower() or b"t" in found[1].lower():
            return None
        pieces.append(found[3])
        gap = re.compile(rb"[\s\\]*").match(raw, found.end())
        at = gap.end() if gap else found.end()
    return b"".join(pieces).decode(errors="replace")


def declare(reader: Reader) -> None:
    decorated = {
        definition.start_byte: node
        for node in reader.nodes("decorated")
        if (definition := node.child_by_field_name("definition")) is not None
    }
    for node in reader.nodes("function"):
        _decorate(reader, _function(reader, node), decorated.get(node.start_byte))
    for node in reader.nodes("class"):
        _decorate(reader, _class(reader, node), decorated.get(node.start_byte))
    _variables(reader, reader.root.named_children)
    for node in reader.nodes("alias"):
        _type_alias(reader, node)
    for node in reader.nodes("assignment"):
        _assignment(reader, node)
    for node in reader.nodes("augmented"):
        _assigned(reader, first(node))
    for node in reader.nodes("as_pattern"):
        _as_pattern(reader, node)
    for node in reader.nodes("lambda"):
        _parameters(reader, Draft("function", "", 0, 0), node)
    for node in reader.nodes("raise_statement"):
        raised = first(node)
        if raised is not None:
            _mark_name(reader, raised, "raise")
    for node in reader.nodes("import"):
        _import(reader, node)


def _mark_name(reader: Reader, node: Node, kind: str) -> None:
    """Mark the last name of `a.b`, `a.b(...)` or `a.b[...]`."""
    if node.type in ("call", "subscript", "generic_type"):
        node = first(node) or node
    if node.type == "attribute":
        inner = node.child_by_field_name("attribute")
        node = node if inner is None else inner
    if node.type == "identifier":
        reader.mark(node.start_byte, kind)


def _assigned(reader: Reader, left: Node | None) -> None:
    """Note what an assignment's left side writes to."""
    if left is None:
        return
    if left.type == "identifier":
        reader.targets.append(left.start_byte)
    elif left.type == "attribute":
        name = left.child_by_field_name("attribute")
        if name is not None:
            reader.mark(name.start_byte, "write")
    elif left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        for child in left.named_children:
            if child.type == "attribute":
                _assigned(reader, child)


def _assignment(reader: Reader, node: Node) -> None:
    left = node.child_by_field_name("left")
    _assigned(reader, left)
    if left is None or left.type not in ("identifier", "attribute"):
        return
    declared = node.child_by_field_name("type")
    if declared is not None:
        reader.bind(left, reader.type_text(declared), "annotation")
        return
    right = node.child_by_field_name("right")
    if right is not None:
        _bind_value(reader, left, right)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    kind = value.type
    if kind == "await":
        value = first(value) or value
        kind = value.type
    if kind == "call":
        callee = value.child_by_field_name("function")
        if callee is not None and callee.type in ("identifier", "attribute"):
            reader.bind(name, reader.type_text(callee), "call")
    elif kind in ("identifier", "attribute"):
        reader.bind(name, reader.type_text(value), "alias")


def _as_pattern(reader: Reader, node: Node) -> None:
    target = node.child_by_field_name("alias")
    name = first(target)
    if name is None:
        return
    names = name.named_children if name.type in ("tuple", "list") else [name]
    reader.locals += [part.start_byte for part in names if part.type == "identifier"]
    value = first(node)
    if name.type == "identifier" and value is not None and value.type == "call":
        _bind_value(reader, name, value)


_COMPOUND = frozenset(
    {"if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "block"}
    | {"finally_clause", "with_statement"}
)


def _variables(reader: Reader, statements: list[Node]) -> None:
    """Declare what a module's or class's body assigns, under `if` and `try` too."""
    pending = statements[::-1]
    while pending:
        node = pending.pop()
        kind = node.type
        if kind == "assignment":
            _variable(reader, node)
        elif kind in _COMPOUND:
            pending += node.named_children[::-1]


def _type_alias(reader: Reader, node: Node) -> None:
    left, right = first(node), node.child_by_field_name("right")
    if left is None:
        return
    draft = Draft("type", reader.text(left).partition("[")[0], node.start_byte, node.end_byte)
    draft.signature = reader.line(node.start_byte, node.end_byte)
    draft.name_start = left.start_byte
    draft.returns = reader.type_text(right)
    draft.visibility = _visibility(draft.name)
    reader.add(draft)


def _decorate(reader: Reader, draft: Draft | None, node: Node | None) -> None:
    if draft is None:
        return
    reader.add(draft)
    if node is None:
        return
    draft.start = node.start_byte
    decorators = [child for child in node.named_children if child.type == "decorator"]
    marks = tuple(reader.line(child.start_byte, child.end_byte) for child in decorators)
    draft.decorators = marks
    for decorator in decorators:
        expression = first(decorator)
        if expression is not None:
            _mark_name(reader, expression, "decorator")
    names = {mark[1:].partition("(")[0] for mark in marks}
    draft.modifiers += tuple(
        name for name in ("staticmethod", "classmethod", "abstractmethod", "overload", "override")
        if name in names or any(known.endswith("." + name) for known in names)
    )  # fmt: skip
    if names & _PROPERTY or any(name.endswith((".setter", ".deleter")) for name in names):
        draft.kind = "property"
    if "override" in draft.modifiers:
        reader.mark(draft.name_start, "override")
        draft.name_start = -1


def _function(reader: Reader, node: Node) -> Draft | None:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None:
        return None
    start, end = node.start_byte, node.end_byte
    head_end = body.start_byte if body is not None else end
    draft = Draft("function", reader.text(name), start, end)
    draft.signature = _head(reader, start, head_end)
    draft.name_start = name.start_byte
    draft.visibility = _visibility(draft.name)
    draft.doc = _docstring(reader, body)
    returns = node.child_by_field_name("return_type")
    if returns is not None:
        draft.returns = reader.type_text(returns)
    if reader.data.startswith(b"async", start):
        draft.modifiers = ("async",)
    _parameters(reader, draft, node.child_by_field_name("parameters"))
    _type_parameters(reader, node)
    return draft


def _parameters(reader: Reader, draft: Draft, parameters: Node | None) -> None:
    draft.arity = 0
    if parameters is None:
        return
    for child in parameters.named_children:
        kind = child.type
        if kind == "identifier":
            reader.locals.append(child.start_byte)
            draft.params.append((reader.text(child), ""))
        elif kind in ("list_splat_pattern", "dictionary_splat_pattern"):
            draft.params.append((reader.text(child), ""))
        elif kind in _PARAMETERS:
            name = first(child)
            if name is None:
                continue
            reader.locals.append(name.start_byte)
            declared = child.child_by_field_name("type")
            draft.params.append((reader.text(name), reader.type_text(declared)))
    draft.arity = len(draft.params)


def _class(reader: Reader, node: Node) -> Draft | None:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None:
        return None
    head_end = body.start_byte if body is not None else node.end_byte
    draft = Draft("class", reader.text(name), node.start_byte, node.end_byte)
    draft.signature = _head(reader, node.start_byte, head_end)
    draft.name_start = name.start_byte
    draft.visibility = _visibility(draft.name)
    draft.doc = _docstring(reader, body)
    bases = node.child_by_field_name("superclasses")
    for base in bases.named_children if bases is not None else ():
        if base.type in ("identifier", "attribute", "subscript", "call"):
            _mark_name(reader, base, "base")
            draft.bases.append(reader.type_text(base).partition("[")[0].partition("(")[0])
    if body is not None:
        _variables(reader, body.named_children)
    _type_parameters(reader, node)
    if any(base.rpartition(".")[2] in _ENUMS for base in draft.bases):
        draft.kind = "enum"
    elif any(base.rpartition(".")[2] == "Protocol" for base in draft.bases):
        draft.kind = "interface"
    return draft


def _type_parameters(reader: Reader, node: Node) -> None:
    parameters = node.child_by_field_name("type_parameters")
    for child in parameters.named_children if parameters is not None else ():
        name = first(child)
        if name is not None and name.type == "identifier":
            reader.locals.append(name.start_byte)


def _variable(reader: Reader, node: Node) -> None:
    left = node.child_by_field_name("left")
    if left is None:
        return
    if left.type == "identifier":
        targets = [left]
    else:
        targets = [child for child in left.named_children if child.type == "identifier"]
        if left.type not in ("pattern_list", "tuple_pattern"):
            return
    declared = node.child_by_field_name("type")
    value = node.child_by_field_name("right")
    for target in targets:
        name = reader.text(target)
        draft = Draft(
            "constant" if name.isupper() else "variable", name, node.start_byte, node.end_byte
        )
        draft.name_start = target.start_byte
        draft.signature = reader.line(node.start_byte, node.end_byte)
        draft.returns = reader.type_text(declared)
        draft.visibility = _visibility(name)
        if draft.returns.rpartition(".")[2] == "TypeAlias":
            draft.kind = "type"
        if value is not None and value.type == "lambda" and len(targets) == 1:
            draft.kind = "function"
            _parameters(reader, draft, value.child_by_field_name("parameters"))
        reader.add(draft)
    if value is not None and value.type == "assignment":
        _variable(reader, value)
    if value is not None and len(targets) == 1 and reader.text(left) == "__all__":
        _exports(reader, value)


def _exports(reader: Reader, value: Node) -> None:
    """Record the names of a literal __all__ as exports."""
    raw = reader.data[value.start_byte : value.end_byte]
    for found in _LITERAL_NAME.finditer(raw):
        reader.imports.append(
            ImportDraft("", found[1].decode(), "", value.start_byte + found.start(), "export")
        )


def settle(draft: Draft, parent: Draft | None) -> None:
    """Leave out the receiver, and tell fields from variables, once the parent is known."""
    if parent is None or parent.kind not in ("class", "enum", "interface"):
        return
    if draft.kind in ("method", "constructor", "property"):
        first = draft.params[0] if draft.params else None
        if first and not first[1] and "staticmethod" not in draft.modifiers:
            draft.params = draft.params[1:]
            draft.arity -= 1
        if draft.kind == "property":
            draft.arity = -1
            draft.params = []
    elif draft.kind == "variable":
        draft.kind = "constant" if parent.kind == "enum" else "field"


def _import(reader: Reader, node: Node) -> None:
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


def _head(reader: Reader, start: int, end: int) -> str:
    return reader.line(start, end).rstrip(": ")


def _visibility(name: str) -> str:
    if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
        return "private"
    return "public"


def _docstring(reader: Reader, body: Node | None) -> str:
    if body is None:
        return ""
    data, start = reader.data, body.start_byte
    if data[start : start + 1] not in (b'"', b"'", b"r", b"R", b"u", b"U"):
        return ""
    found = _STRING.match(data, start, min(len(data), start + 8 * DOC_CHARS))
    if found is None or b"f" in found[1].lower():
        return ""
    lines = found[3].decode(errors="replace").strip().split("\n")
    return "\n".join([line.strip() for line in lines])[:DOC_CHARS]


PYTHON = Grammar(
    language="python",
    bundle="python",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    settle=settle,
    constructors=frozenset({"__init__"}),
    self_name="self",
)
