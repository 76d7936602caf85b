"""Ruby."""

from __future__ import annotations

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.reader import Draft, ImportDraft, Reader
from tree_sitter import Node

QUERY = """
[(identifier) (constant)] @id
(call receiver: (_) @object)
(scope_resolution scope: (_) @object)
(call method: [(identifier) (constant)] arguments: (argument_list) @args.direct)
(call method: [(identifier) (constant)] @callee.bare !arguments)
(argument_list (string) @string)
(argument_list (simple_symbol) @string)
(argument_list (comment) @args.comment)
(pair key: (identifier) @skip)
[(instance_variable) (class_variable) (global_variable)] @id

(method_parameters (identifier) @local)
(block_parameters (identifier) @local)
(lambda_parameters (identifier) @local)
(destructured_parameter (identifier) @local)
(optional_parameter name: (identifier) @local)
(splat_parameter name: (identifier) @local)
(keyword_parameter name: (identifier) @local)
(hash_splat_parameter name: (identifier) @local)
(block_parameter name: (identifier) @local)
(exception_variable (identifier) @local)
(for pattern: (identifier) @local)
(assignment left: (identifier) @local)
(assignment left: (constant) @write)
(assignment left: [(instance_variable) (class_variable) (global_variable)] @write)
(assignment left: (call method: (identifier) @write))
(operator_assignment left: (identifier) @local)
(operator_assignment left: [(constant) (instance_variable) (class_variable) (global_variable)] @write)
(operator_assignment left: (call method: (identifier) @write))
(left_assignment_list (identifier) @local)
(left_assignment_list [(instance_variable) (class_variable) (global_variable)] @write)

(comment) @comment
[(class) (module)] @container
[(method) (singleton_method)] @method
(singleton_class) @singleton_class
(assignment) @assignment
(call) @call
(body_statement [(identifier) @visibility_word])
"""

_NAMES = frozenset({"constant", "identifier"})
_ACCESSORS = frozenset(
    "attr_accessor attr_reader attr_writer attribute cattr_accessor mattr_accessor".split()
)
_SIGILS = {"splat_parameter": "*", "hash_splat_parameter": "**", "block_parameter": "&"}
_MIXINS = frozenset({"include", "extend", "prepend"})
_REQUIRES = frozenset({"require", "require_relative", "load", "autoload"})
_VISIBILITIES = frozenset({"private", "protected", "public"})


def module_of(path: str) -> str:
    """Return the dotted path that names methods outside any class or module."""
    parts = path.rpartition(".")[0].split("/")
    if len(parts) > 1 and parts[0] in ("lib", "app", "src"):
        parts = parts[1:]
    return ".".join(parts)


def literal(raw: bytes) -> str | None:
    if raw[:1] == b":":
        return raw[1:].strip(b'"').decode(errors="replace")
    if raw[:1] == b'"' and b"#{" in raw:
        return None
    return raw[1:].rstrip(raw[:1]).decode(errors="replace")


def declare(reader: Reader) -> None:
    file = _File(reader)
    for node in reader.nodes("container"):
        file.container(node)
    for node in reader.nodes("method"):
        file.method(node)
    file.visibilities()
    for node in reader.nodes("assignment"):
        _assignment(reader, node)
    for node in reader.nodes("callee.bare"):
        reader.mark(node.start_byte, "call")
    for node in reader.nodes("call"):
        file.call(node)


class _File:
    """What one statement says about another: `private` about methods, `include` about a class."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._singletons = [node.byte_range for node in reader.nodes("singleton_class")]
        self._containers: dict[tuple[int, int], Draft] = {}
        self._methods: dict[int, Draft] = {}  # by start of the definition

    def container(self, node: Node) -> None:
        reader = self._reader
        name = node.child_by_field_name("name")
        if name is None:
            return
        superclass = node.child_by_field_name("superclass")
        kind = "class" if node.type == "class" else "module"
        draft = shape.begin(reader, kind, name, node, node.child_by_field_name("body"))
        draft.signature = reader.line(node.start_byte, (superclass or name).end_byte)
        draft.absolute = True
        draft.visibility = "public"
        if name.type == "scope_resolution":
            path, _, draft.name = reader.text(name).rpartition("::")
            draft.prefix = path.strip(":").replace("::", ".")
            last = name.child_by_field_name("name")
            draft.name_start = last.start_byte if last is not None else -1
        if superclass is not None and superclass.named_child_count:
            base = superclass.named_children[0]
            draft.bases.append(reader.type_text(base).partition("(")[0].partition("[")[0])
            _mark_constant(reader, base, "base")
        self._containers[node.byte_range] = draft
        reader.add(draft)

    def method(self, node: Node) -> None:
        reader = self._reader
        name = node.child_by_field_name("name")
        if name is None:
            return
        parameters = node.child_by_field_name("parameters")
        draft = shape.begin(reader, "function", name, node)
        head_end = parameters.end_byte if parameters is not None else name.end_byte
        draft.signature = reader.line(node.start_byte, head_end)
        draft.visibility = "public"
        inside = any(start < node.start_byte < end for start, end in self._singletons)
        if node.type == "singleton_method" or inside:
            draft.modifiers = ("static",)
        for child in parameters.named_children if parameters is not None else ():
            if child.type != "comment":
                text = reader.field_text(child, "name") or reader.text(child).lstrip("*&")
                draft.params.append((_SIGILS.get(child.type, "") + text, ""))
        draft.arity = len(draft.params)
        self._methods[node.start_byte] = draft
        reader.add(draft)

    def visibilities(self) -> None:
        """Apply `private` and its kin to the methods that follow in the same body."""
        reader = self._reader
        words = [
            (node.start_byte, word)
            for node in reader.nodes("visibility_word")
            if (word := reader.text(node)) in _VISIBILITIES
        ]
        if not words:
            return
        spans = sorted([*self._containers, *self._singletons])
        bodies = {start: _innermost(spans, start) for start in self._methods}
        for start, word in sorted(words):
            reader.locals.append(start)
            body = _innermost(spans, start)
            for method_start, method in self._methods.items():
                in_body = body is not None and bodies[method_start] == body
                if in_body and method_start > start and method.name_start >= 0:
                    method.visibility = word

    def call(self, node: Node) -> None:
        """Read the calls that declare: mixins, accessors, requires; and those that raise."""
        reader = self._reader
        method = node.child_by_field_name("method")
        arguments = node.child_by_field_name("arguments")
        if method is None:
            return
        word = reader.text(method)
        receiver = node.child_by_field_name("receiver")
        if receiver is not None:
            if word == "new":
                _instantiate(reader, receiver, method)
            return
        listed = arguments.named_children if arguments is not None else []
        if word in _REQUIRES:
            _require(reader, node, listed, word)
        elif word in _MIXINS:
            self._mix_in(node, listed)
        elif word in _ACCESSORS:
            for argument in listed:
                _accessor(reader, node, argument)
        elif word in ("raise", "fail") and listed:
            first = listed[0]
            raised = first.child_by_field_name("receiver") if first.type == "call" else first
            if raised is not None:
                _mark_constant(reader, raised, "raise")
        elif word in _VISIBILITIES:
            for argument in listed:
                if argument.start_byte in self._methods:
                    self._methods[argument.start_byte].visibility = word

    def _mix_in(self, node: Node, listed: list[Node]) -> None:
        body = _innermost(sorted(self._containers), node.start_byte)
        for argument in listed:
            if argument.type in ("constant", "scope_resolution"):
                _mark_constant(self._reader, argument, "base")
                if body is not None:
                    self._containers[body].bases.append(self._reader.type_text(argument))


def _innermost(spans: list[tuple[int, int]], position: int) -> tuple[int, int] | None:
    """Return the last of the ascending spans that contains a position."""
    found = None
    for span in spans:
        if span[0] >= position:
            break
        if position < span[1]:
            found = span
    return found


def _mark_constant(reader: Reader, node: Node, kind: str) -> None:
    if node.type in ("constant", "scope_resolution"):
        shape.mark_last(reader, node, kind, _NAMES)


def settle(draft: Draft, parent: Draft | None) -> None:
    """Methods of modules are methods too."""
    if draft.kind == "function" and parent is not None and parent.kind == "module":
        draft.kind = "method"
    if draft.kind == "method" and draft.name == "initialize":
        draft.kind = "constructor"


def _assignment(reader: Reader, node: Node) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    if left.type == "constant":
        draft = shape.begin(reader, "constant", left, node)
        draft.signature = reader.line(node.start_byte, node.end_byte)
        draft.visibility = "public"
        block = right.child_by_field_name("block")
        receiver = reader.field_text(right, "receiver")
        if right.type == "call" and receiver in ("Struct", "Class", "Data", "Module"):
            draft.kind = "module" if receiver == "Module" else "class"
            end = block.start_byte if block is not None else node.end_byte
            draft.signature = reader.line(node.start_byte, end)
        reader.add(draft)
    elif left.type in ("identifier", "instance_variable"):
        _bind(reader, left, right)


def _bind(reader: Reader, name: Node, value: Node) -> None:
    if value.type == "call":
        receiver = value.child_by_field_name("receiver")
        method = reader.field_text(value, "method")
        if receiver is not None and method == "new":
            reader.bind(name, reader.type_text(receiver), "call")
        elif receiver is not None:
            reader.bind(name, f"{reader.type_text(receiver)}.{method}", "call")
        elif method:
            reader.bind(name, method, "call")
    elif value.type in ("identifier", "instance_variable", "constant", "scope_resolution"):
        reader.bind(name, reader.type_text(value), "alias")


def _instantiate(reader: Reader, receiver: Node, method: Node) -> None:
    """`Foo.new(...)` creates a Foo: the constant is the name that says so."""
    if receiver.type not in ("constant", "scope_resolution"):
        return
    _mark_constant(reader, receiver, "new")
    last = receiver.child_by_field_name("name") or receiver
    reader.moved[method.start_byte] = last.start_byte
    reader.locals.append(method.start_byte)


def _require(reader: Reader, node: Node, listed: list[Node], word: str) -> None:
    strings = [argument for argument in listed if argument.type == "string"]
    module = literal(reader.text(strings[-1]).encode()) if strings else None
    if module is not None:
        relative = word == "require_relative"
        kind = "include" if relative else "require"
        reader.imports.append(ImportDraft(module, "", "", node.start_byte, kind, int(relative)))


def _accessor(reader: Reader, node: Node, argument: Node) -> None:
    is_name = argument.type in ("simple_symbol", "string")
    name = literal(reader.text(argument).encode()) if is_name else None
    if not name:
        return
    draft = Draft("property", name, argument.start_byte, argument.end_byte)
    draft.signature = reader.line(node.start_byte, node.end_byte)
    draft.visibility = "public"
    draft.scopeless = True
    reader.add(draft)


RUBY = Grammar(
    language="ruby",
    bundle="ruby",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    settle=settle,
    bare_calls=True,
)
