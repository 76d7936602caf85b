"""Lua.

The table that a file returns is its module: `function M.add()` is `<module>.add`. A table with
methods (`function T:m()`) or an `__index` is a class, be it returned or not.
"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages.nodes import first, parts
from services.extractor.reader import BindingDraft, Draft, ImportDraft, Reader

QUERY = """
(identifier) @id
(function_call name: [(identifier) (dot_index_expression) (method_index_expression)]
  arguments: (arguments) @args.direct)
(dot_index_expression table: (_) @object field: (identifier))
(method_index_expression table: (_) @object method: (identifier))
(arguments (string) @string)
(arguments (comment) @args.comment)
(field name: (identifier) @skip)
(attribute (identifier) @skip)
(goto_statement (identifier) @skip)
(label_statement (identifier) @skip)

(parameters (identifier) @local)
(variable_declaration (variable_list (identifier) @local))
(variable_declaration (assignment_statement (variable_list (identifier) @local)))
(for_numeric_clause name: (identifier) @local)
(for_generic_clause (variable_list (identifier) @local))
(assignment_statement (variable_list [(identifier) @write
  (dot_index_expression field: (identifier) @write)]))

(function_declaration) @function
(assignment_statement) @assignment
(comment) @comment
"""

_SOURCE_ROOTS = frozenset({"src", "lib", "lua"})
_LOADERS = frozenset({"require", "dofile", "loadfile"})
_CALLED = frozenset({"identifier", "dot_index_expression", "method_index_expression"})


def module_of(path: str) -> str:
    """Return the dotted name that `require` takes, a source folder in front left out."""
    names = path.rpartition(".")[0].split("/")
    if len(names) > 1 and names[0] in _SOURCE_ROOTS:
        names = names[1:]
    if len(names) > 1 and names[-1] == "init":
        names = names[:-1]
    return ".".join(names)


def literal(raw: bytes) -> str | None:
    if raw[:1] in (b'"', b"'"):
        return raw[1:-1].decode(errors="replace")
    return raw.strip(b"[]=").decode(errors="replace")


def declare(reader: Reader) -> None:
    if reader.root.has_error:
        names = [node for node in reader.nodes("id") if node.end_byte > node.start_byte]
        reader.captures["id"] = names
    tables = _Tables(reader)
    for node in reader.nodes("function"):
        _function(reader, tables, node)
    for node in reader.nodes("assignment"):
        _assignment(reader, tables, node)
    for statement in reader.root.named_children:
        if statement.type == "function_call":
            _load(reader, statement, "")


class _Tables:
    """Which tables of a file are classes, and which one is the module?"""

    def __init__(self, reader: Reader) -> None:
        self.classes: set[str] = set()
        for node in reader.nodes("function"):
            name = node.child_by_field_name("name")
            if name is not None and name.type == "method_index_expression":
                self.classes.add(reader.field_text(name, "table"))
        for node in reader.nodes("assignment"):
            left = first(first(node))
            if left is not None and reader.field_text(left, "field") == "__index":
                self.classes.add(reader.field_text(left, "table"))
        self.module = ""
        last = reader.root.named_children[-1:]
        if last and last[0].type == "return_statement":
            returned = first(first(last[0]))
            if returned is not None and returned.type == "identifier":
                self.module = reader.text(returned)

    def is_export(self, reader: Reader, name: Node, value: Node | None) -> bool:
        """Does `M.a = a` only put something of the file into the module?"""
        if value is None or value.type != "identifier" or not self.module:
            return False
        return reader.text(name) == f"{self.module}.{reader.text(value)}"

    def place(self, draft: Draft, table: str) -> None:
        """Put what is assigned to a table's field into its class, or into the module."""
        if table in self.classes:
            draft.owner = table
        elif table != self.module:
            draft.prefix = table.removeprefix(self.module + ".") if self.module else table


def _begin(reader: Reader, tables: _Tables, kind: str, name: Node, statement: Node) -> Draft:
    table = reader.field_text(name, "table")
    token = name.child_by_field_name("field") or name.child_by_field_name("method") or name
    draft = Draft(kind, reader.text(token), statement.start_byte, statement.end_byte)
    draft.name_start = token.start_byte
    draft.signature = reader.line(statement.start_byte, statement.end_byte)
    draft.doc = reader.doc_before(statement.start_byte)
    draft.visibility = "public"
    if reader.data.startswith(b"local", statement.start_byte):
        draft.visibility = "private"
    if table:
        tables.place(draft, table)
    return reader.add(draft)


def _function(reader: Reader, tables: _Tables, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    draft = _begin(reader, tables, "function", name, node)
    if name.type == "method_index_expression":
        draft.kind = "method"
    _callable(reader, draft, node)


def _callable(reader: Reader, draft: Draft, node: Node) -> None:
    parameters = node.child_by_field_name("parameters")
    if parameters is None:
        return
    draft.signature = reader.line(draft.start, parameters.end_byte)
    draft.params = [(reader.text(child), "") for child in parts(parameters) if child.end_byte]
    draft.arity = len(draft.params)


def _assignment(reader: Reader, tables: _Tables, node: Node) -> None:
    """Declare what the file's own statements assign, and bind what calls and aliases tell."""
    targets, values = (*node.named_children, None, None)[:2]
    around = node.parent
    statement = node
    if around is not None and around.type == "variable_declaration":
        statement, around = around, around.parent
    outermost = around is not None and around.type == "chunk"
    names = parts(targets)
    given = parts(values) if values is not None else []
    for at, name in enumerate(names):
        if name.type not in ("identifier", "dot_index_expression"):
            continue
        value = given[at] if at < len(given) else None
        if value is not None and value.type == "function_call":
            _load(reader, value, reader.text(name))
        if value is not None:
            _bind(reader, name, value)
        if tables.is_export(reader, name, value):
            exported = ImportDraft(
                "", reader.text(name)[len(tables.module) + 1 :], "", statement.start_byte
            )
            exported.kind = "export"
            reader.imports.append(exported)
            continue
        made = value is not None and value.type == "function_definition"
        if outermost or (made and name.type == "dot_index_expression"):
            draft = _begin(reader, tables, "variable", name, statement)
            _shape(reader, tables, draft, value)


def _shape(reader: Reader, tables: _Tables, draft: Draft, value: Node | None) -> None:
    """Tell functions, classes and constants from other variables."""
    if value is not None and value.type == "function_definition":
        draft.kind = "function"
        _callable(reader, draft, value)
    elif draft.name in tables.classes and not draft.owner and not draft.prefix:
        draft.kind = "class"
        base = _base_of(reader, value)
        if base:
            draft.bases.append(base)
    elif draft.name.isupper() and draft.name != tables.module:
        draft.kind = "constant"
    elif draft.owner:
        draft.kind = "field"


def _base_of(reader: Reader, value: Node | None) -> str:
    """Return Base of `setmetatable({}, {__index = Base})`."""
    if value is None or reader.field_text(value, "name") != "setmetatable":
        return ""
    for table in parts(value.child_by_field_name("arguments"), "table_constructor"):
        for field in parts(table, "field"):
            base = field.child_by_field_name("value")
            if base is not None and reader.field_text(field, "name") == "__index":
                if base.type == "identifier":
                    reader.mark(base.start_byte, "base")
                return reader.text(base)
    return ""


def _load(reader: Reader, call: Node, bound: str) -> None:
    if reader.field_text(call, "name") not in _LOADERS:
        return
    argument = first(call.child_by_field_name("arguments"))
    if argument is None or argument.type != "string":
        return
    module = literal(reader.text(argument).encode())
    if module:
        alias = bound if bound.isidentifier() else ""
        reader.imports.append(ImportDraft(module, "", alias, call.start_byte, "require"))


def _bind(reader: Reader, name: Node, value: Node) -> None:
    text = reader.text(name)
    if not text.removeprefix("self.").isidentifier():
        return
    origin, type_name = "alias", ""
    if value.type == "function_call":
        origin = "call"
        called = value.child_by_field_name("name")
        if called is not None and called.type in _CALLED:
            type_name = reader.type_text(called).replace(":", ".")
            type_name = type_name.removesuffix(".new")
            if type_name == "setmetatable":
                type_name = _metatable(reader, value)
    elif value.type in ("identifier", "dot_index_expression"):
        type_name = reader.type_text(value)
    if type_name and type_name not in _LOADERS:
        reader.bindings.append(BindingDraft(text, type_name, origin, name.start_byte))


def _metatable(reader: Reader, call: Node) -> str:
    """Return Class of `setmetatable({}, Class)`."""
    arguments = parts(call.child_by_field_name("arguments"))
    last = arguments[-1] if arguments else None
    return reader.text(last) if last is not None and last.type == "identifier" else ""


LUA = Grammar(
    language="lua",
    bundle="lua",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    constructors=frozenset({"new"}),
    noise=frozenset({b"_", b"self"}),
    self_name="self",
)
