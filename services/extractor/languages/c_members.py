"""Declarations of C and C++: functions, records, enums, typedefs, variables, macros."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.c_declarators import function_of, inside, name_of, type_text
from services.extractor.languages.nodes import first, parts
from services.extractor.reader import Draft, Reader

_NAME_TOKENS = frozenset({"identifier", "type_identifier", "field_identifier"}) | frozenset(
    {"namespace_identifier"}
)
_RECORDS = {
    "class_specifier": "class", "struct_specifier": "struct", "union_specifier": "union",
    "enum_specifier": "enum",
}  # fmt: skip
_CONTAINERS = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"}
    | {"linkage_specification", "declaration_list"}
)
_SPECIFIERS = frozenset(
    {"storage_class_specifier", "type_qualifier", "virtual", "explicit_function_specifier"}
)
_ATTRIBUTES = frozenset({"attribute_declaration", "attribute_specifier", "ms_declspec_modifier"})
_CLAUSES = {
    "pure_virtual_clause": "abstract", "delete_method_clause": "delete",
    "default_method_clause": "default",
}  # fmt: skip
_TESTS = frozenset({"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})
_GUARD_BYTES = 300
_EVERYWHERE = 99  # a lift past everything: macros know no scopes


class Declarations:
    """Walks what can hold declarations; bodies of functions are left to what queries find there."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._is_cpp = reader.grammar.language == "cpp"
        self._seen: set[int] = set()  # starts of functions and records that the walk came by
        self._namespaces: set[str] = set()
        self._around: list[str] = []  # names of the records being walked
        self._access: dict[tuple[str, str], str] = {}  # visibility of members by record and name

    def read(self) -> None:
        """Declare everything in the file."""
        reader = self._reader
        self._walk(reader.root.named_children, "public")
        for node in reader.nodes("record"):  # in the bodies of functions, or behind broken code
            if node.start_byte not in self._seen:
                self._record(node, "", node)
        for node in reader.nodes("function"):
            if node.start_byte not in self._seen:
                self._function(node, node.child_by_field_name("declarator"), "public", node)
        for node in reader.nodes("macro"):
            self._macro(node)
        for draft in reader.drafts:
            if draft.owner in self._namespaces:
                draft.owner = ""  # a function defined outside of its namespace is no method
            elif draft.owner:
                draft.visibility = self._access.get((draft.owner, draft.name), "")

    def _walk(self, nodes: list[Node], access: str) -> None:
        """Declare siblings; `access` is the visibility in force, which labels change."""
        for node in nodes:
            if node.type == "access_specifier":
                access = self._reader.text(node).rstrip(": ")
            else:
                self._one(node, access, node)

    def _one(self, node: Node, access: str, outer: Node) -> None:
        """Declare one node; `outer` is the template or typedef around it."""
        kind = node.type
        if kind == "function_definition":
            self._function(node, node.child_by_field_name("declarator"), access, outer)
        elif kind in ("declaration", "field_declaration"):
            self._declaration(node, access, outer)
        elif kind in _RECORDS:
            self._record(node, access, outer)
        elif kind == "type_definition":
            self._typedef(node, access)
        elif kind in ("alias_declaration", "concept_definition"):
            self._alias(node, access, outer)
        elif kind == "namespace_definition":
            self._namespace(node)
        elif kind == "template_declaration":
            for child in node.named_children[1:]:
                self._one(child, access, outer)
        elif kind == "friend_declaration":
            self._friend(node)
        elif kind in _CONTAINERS:
            self._walk(node.named_children, access)
        elif kind == "ERROR":
            self._broken(node, access)

    def _begin(self, kind: str, name: Node, outer: Node, body: Node | None) -> Draft:
        return self._reader.add(shape.begin(self._reader, kind, name, outer, body))

    def _prefixes(self, draft: Draft, node: Node) -> None:
        """Take the specifiers and attributes of a declaration."""
        for child in node.children:
            kind = child.type
            if kind in _SPECIFIERS:
                draft.modifiers += (self._reader.text(child),)
            elif kind in _CLAUSES:
                draft.modifiers += (_CLAUSES[kind],)
            elif kind in _ATTRIBUTES:
                attribute = self._reader.line(child.start_byte, child.end_byte)
                draft.decorators += (attribute,)

    def _namespace(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None:
            draft = self._begin("namespace", name, node, body)
            self._namespaces.update(draft.name.split("::"))
            draft.name = draft.name.replace("::", ".")
            draft.visibility = "public"
        self._walk(parts(body), "public" if name is not None else "private")

    def _record(
        self, node: Node, access: str, outer: Node, name: Node | None = None
    ) -> Draft | None:
        """Declare a class, struct, union or enum that has a body; `name` is for one without."""
        self._seen.add(node.start_byte)
        body = node.child_by_field_name("body")
        name = node.child_by_field_name("name") or name
        if body is None:
            return None
        kind = _RECORDS[node.type]
        draft = None
        if name is not None:
            draft = self._begin(kind, name, outer, body)
            self._prefixes(draft, node)
            self._name_record(draft, name)
            draft.visibility = access
            for child in node.named_children:
                if child.type == "base_class_clause":
                    bases = parts(child, "type_identifier", "qualified_identifier", "template_type")
                    shape.bases(self._reader, draft, bases, _NAME_TOKENS)
                elif child.type == "virtual_specifier":
                    draft.modifiers += (self._reader.text(child),)
        if kind == "enum":
            self._enumerators(body)
        else:
            self._around.append(draft.name if draft is not None else "")
            self._walk(body.named_children, "private" if kind == "class" else "public")
            self._around.pop()
        return draft

    def _name_record(self, draft: Draft, name: Node) -> None:
        scopes, token = self._taken_apart(name)
        draft.name = self._reader.text(token)
        draft.name_start = token.start_byte
        draft.prefix = ".".join(scopes)

    def _enumerators(self, body: Node) -> None:
        for node in body.named_children:
            if node.type in _CONTAINERS:
                self._enumerators(node)
            elif node.type == "enumerator":
                name = node.child_by_field_name("name")
                if name is not None:
                    self._begin("constant", name, node, None).visibility = "public"

    def _alias(self, node: Node, access: str, outer: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            draft = self._begin("type", name, outer, None)
            draft.returns = self._reader.type_text(node.child_by_field_name("type"))
            draft.visibility = access

    def _typedef(self, node: Node, access: str) -> None:
        """Declare the names of a typedef; a record in it takes the first when it has none."""
        reader = self._reader
        shaped = node.child_by_field_name("type")
        declarators = node.children_by_field_name("declarator")
        names = [(declarator, name) for declarator in declarators if (name := name_of(declarator))]
        record = None
        if shaped is not None and shaped.type in _RECORDS:
            plain = [name for declarator, name in names if declarator == name]
            record = self._record(shaped, access, shaped, plain[0] if plain else None)
        if record is not None:
            record.doc = record.doc or reader.doc_before(node.start_byte)
        for declarator, name in names:
            if record is not None and reader.text(name) == record.name:
                reader.locals.append(name.start_byte)
                record.start, record.end = node.byte_range
                if shaped is not None and shaped.child_by_field_name("name") is None:
                    record.signature += f" {record.name}"
                record.signature = f"typedef {record.signature}"[:300]
                continue
            span = declarator if record is not None or len(names) > 1 else node
            draft = self._begin("type", name, span, None)
            draft.signature = reader.line(node.start_byte, node.end_byte).rstrip("; ")
            draft.doc = reader.doc_before(node.start_byte)
            draft.returns = type_text(reader, node, declarator)
            draft.visibility = access
            if record is not None:
                draft.signature = f"typedef {draft.returns} {draft.name}"

    def _declaration(self, node: Node, access: str, outer: Node) -> None:
        reader = self._reader
        shaped = node.child_by_field_name("type")
        is_field = node.type == "field_declaration"
        declarators = node.children_by_field_name("declarator")
        if shaped is not None and shaped.type in _RECORDS:
            record = self._record(shaped, access, shaped if declarators else outer)
            if record is not None and declarators:
                record.lift = 1  # the variable declared with it is not around it
        for declarator in declarators:
            if declarator.type == "operator_cast" or function_of(declarator) is not None:
                self._function(node, declarator, access, outer)
                continue
            name = name_of(declarator)
            if name is None:
                continue
            draft = self._begin("field" if is_field else "variable", name, outer, None)
            draft.returns = type_text(reader, node, declarator)
            self._prefixes(draft, node)
            draft.visibility = self._visibility(draft, access, is_field)
            if not is_field and {"const", "constexpr"} & set(draft.modifiers):
                draft.kind = "constant"
            self._qualify(draft, name)

    def _visibility(self, draft: Draft, access: str, is_member: bool) -> str:
        """Outside of records, `static` keeps a name inside its file."""
        return "private" if "static" in draft.modifiers and not is_member else access

    def _friend(self, node: Node) -> None:
        """Declare a friend function, which belongs to what is around the class."""
        for child in node.named_children:
            if child.type in ("function_definition", "declaration"):
                before = len(self._reader.drafts)
                self._one(child, "public", node)
                for draft in self._reader.drafts[before:]:
                    draft.lift = 1
                    draft.modifiers = ("friend", *draft.modifiers)

    def _broken(self, node: Node, access: str) -> None:
        """Read what stands whole in code that does not parse."""
        for child in node.named_children:
            if child.type == "function_declarator":
                self._function(node, child, access, child)
            elif child.type == "compound_statement":
                self._broken(child, access)
            else:
                self._one(child, access, child)

    def _function(self, node: Node, declarator: Node | None, access: str, outer: Node) -> None:
        reader = self._reader
        self._seen.add(node.start_byte)
        made, name = self._function_name(declarator)
        if made is None or name is None:
            return
        body = node.child_by_field_name("body") if node.type != "ERROR" else None
        opening = body
        if body is not None and self._is_cpp:
            opening = next((c for c in node.children if c.type == "field_initializer_list"), body)
        draft = self._begin("function", name, outer, opening)
        if node.type != "ERROR":
            self._prefixes(draft, node)
            draft.returns = type_text(reader, node, declarator)
        if self._is_cpp:
            self._suffixes(draft, made)
        if node.type == "field_declaration" and reader.field_text(node, "default_value") == "0":
            draft.modifiers += ("abstract",)
        if node.type != "function_definition":
            draft.modifiers += ("declaration",)
        draft.visibility = self._visibility(draft, access, bool(self._around))
        self._parameters(draft, made.child_by_field_name("parameters"), node)
        self._qualify(draft, name)
        if draft.name in _TESTS and len(draft.params) == 2:
            self._name_test(draft)
        if "override" in draft.modifiers:
            shape.override(reader, draft)

    def _name_test(self, draft: Draft) -> None:
        """Call `TEST(Suite, Name) {}` by its suite and name; its types are no parameters."""
        (first_name, first_type), (last_name, last_type) = draft.params
        draft.prefix, draft.name = first_type or first_name, last_type or last_name
        draft.params, draft.arity, draft.name_start = [], 0, -1

    def _suffixes(self, draft: Draft, made: Node) -> None:
        """Take what C++ writes behind the parameters."""
        for child in made.named_children:
            kind = child.type
            if kind == "trailing_return_type":
                draft.returns = self._reader.type_text(child).removeprefix("->").strip()
            elif kind in ("virtual_specifier", "noexcept", "type_qualifier"):
                draft.modifiers += (self._reader.text(child).partition("(")[0],)

    def _function_name(self, declarator: Node | None) -> tuple[Node | None, Node | None]:
        """Return the function declarator and the name in it."""
        name = name_of(declarator)
        while name is not None and name.type == "qualified_identifier":
            last = name.child_by_field_name("name")
            if last is None or last.type != "operator_cast":
                break
            return last.child_by_field_name("declarator"), name  # `A::operator bool()`
        if name is not None and name.type == "operator_cast":
            return name.child_by_field_name("declarator"), name
        made = function_of(declarator)
        if made is None:
            return None, None
        return made, name

    def _taken_apart(self, name: Node) -> tuple[list[str], Node]:
        """Split `a::B<T>::c` into ["a", "B"] and the node of `c`, and count no uses in the scopes."""
        scopes = []
        while name.type == "qualified_identifier":
            scope, inner = name.child_by_field_name("scope"), name.child_by_field_name("name")
            if inner is None:
                break
            if scope is not None:
                scopes.append(self._reader.text(scope).partition("<")[0])
                self._reader.captures.setdefault("skip.span", []).append(scope)
            name = inner
        if name.type in ("template_function", "template_method", "template_type"):
            name = name.child_by_field_name("name") or name
        return scopes, name

    def _qualify(self, draft: Draft, name: Node) -> None:
        """Give a function or variable its simple name and the scopes written before it."""
        reader = self._reader
        scopes, token = self._taken_apart(name)
        draft.name_start = token.start_byte
        draft.name = reader.line(token.start_byte, token.end_byte)
        if token.type == "operator_cast":
            target = reader.type_text(token.child_by_field_name("type"))
            draft.name, draft.name_start = f"operator {target}", -1
        elif token.type == "operator_name":
            word = draft.name.removeprefix("operator").strip()
            draft.name = "operator" + (" " * word[:1].isalpha()) + word
        elif token.type == "destructor_name":
            inner = first(token)
            draft.name_start = inner.start_byte if inner is not None else -1
        if scopes:
            draft.owner = scopes[-1]
            draft.prefix = ".".join(scopes)
            reader.captures.setdefault("skip", []).append(token)
        elif self._around:
            self._access[self._around[-1], draft.name] = draft.visibility

    def _parameters(self, draft: Draft, parameters: Node | None, node: Node) -> None:
        reader = self._reader
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

    def _macro(self, node: Node) -> None:
        reader = self._reader
        name = node.child_by_field_name("name")
        if name is None or name.end_byte == name.start_byte or _is_guard(reader, node, name):
            return
        value = node.child_by_field_name("value")
        parameters = node.child_by_field_name("parameters")
        draft = self._begin("macro", name, node, value if parameters is not None else None)
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


def _old_style_types(reader: Reader, function: Node) -> dict[str, str]:
    """Return the types that K&R C declares between a function's head and body."""
    types = {}
    for declaration in parts(function, "declaration"):
        for declarator in declaration.children_by_field_name("declarator"):
            name = name_of(declarator)
            if name is not None:
                types[reader.text(name)] = type_text(reader, declaration, declarator)
    return types
