"""Declarations of C and C++: namespaces, records, enums, typedefs, variables."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.c_declarators import function_of, name_of, type_text
from services.extractor.languages.c_functions import function, macro, torn_function
from services.extractor.languages.c_heads import begin, prefixes, qualify, taken_apart
from services.extractor.languages.nodes import parts
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

_MODULE_WORDS = frozenset({"import", "module"})  # of C++20, read as the type of a variable
_SOURCES = (".c",)  # what no other file includes; C++ has namespaces


class Declarations:
    """Walks what can hold declarations; bodies of functions are left to what queries find there."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
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
            macro(reader, node)
        for draft in reader.drafts:
            if draft.owner in self._namespaces:
                draft.owner = ""  # defined outside of its namespace, and no member
                draft.kind = "variable" if draft.kind == "field" else draft.kind
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

    def _namespace(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None:
            draft = begin(self._reader, "namespace", name, node, body)
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
            draft = begin(self._reader, kind, name, outer, body)
            prefixes(self._reader, draft, node)
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
        scopes, token = taken_apart(self._reader, name)
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
                    begin(self._reader, "constant", name, node, None).visibility = "public"

    def _alias(self, node: Node, access: str, outer: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            draft = begin(self._reader, "type", name, outer, None)
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
            draft = begin(self._reader, "type", name, span, None)
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
        if shaped is not None and not is_field and reader.text(shaped) in _MODULE_WORDS:
            return
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
            draft = begin(self._reader, "field" if is_field else "variable", name, outer, None)
            draft.returns = type_text(reader, node, declarator)
            prefixes(self._reader, draft, node)
            if "*" in draft.returns:  # what it points to is constant, not the variable
                draft.modifiers = tuple([word for word in draft.modifiers if word != "const"])
            if not is_field and {"const", "constexpr"} & set(draft.modifiers):
                draft.kind = "constant"
            qualify(reader, draft, name)
            self._settle_access(draft, access)
            if draft.owner:
                draft.kind = "field"

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
        before: Node | None = None
        for child in node.named_children:
            if child.type in ("function_declarator", "pointer_declarator"):
                self._settle_access(torn_function(self._reader, node, before, child), access)
            elif child.type in ("compound_statement", "ERROR"):
                self._broken(child, access)
            elif child.type == "parameter_declaration":
                self._function(child, child.child_by_field_name("declarator"), access, child)
            else:
                self._one(child, access, child)
            before = child

    def _function(self, node: Node, declarator: Node | None, access: str, outer: Node) -> None:
        self._seen.add(node.start_byte)
        self._settle_access(function(self._reader, node, declarator, outer), access)

    def _settle_access(self, draft: Draft | None, access: str) -> None:
        """Give a function or variable its visibility; `static` keeps it in its file, or its class."""
        if draft is None:
            return
        draft.visibility = access
        if not self._around and "static" in draft.modifiers:
            draft.visibility = "private"
            if not draft.prefix and self._reader.path.endswith(_SOURCES):
                # another file may have its own of this name
                draft.prefix = self._reader.path.rpartition(".")[0].replace("/", ".")
        elif self._around and not draft.owner:
            self._access[self._around[-1], draft.name] = access
