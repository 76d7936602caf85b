"""C and C++."""

from __future__ import annotations

import re

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.languages.cfamily_query import C_QUERY, CPP_QUERY
from services.extractor.languages.cfamily_values import bind_declarations, declarator_name
from services.extractor.reader import Draft, ImportDraft, Reader
from tree_sitter import Node

_NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "namespace_identifier"})
_SPECIFIERS = {
    "class_specifier": "class",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
}
_CONTAINERS = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"}
    | {"linkage_specification", "declaration_list", "extern_block"}
)
_KEYWORDS = frozenset({"storage_class_specifier", "type_qualifier", "virtual", "explicit_function_specifier"})
# `class EXPORT Name` is no C++ without the preprocessor: the macro is blanked out.
_EXPORT_MACRO = re.compile(
    rb"(?<=\bclass )[ \t]*[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?(?=[ \t]+[A-Za-z_][\w:]*\s*(?:final\s*)?[:{])"
    rb"|(?<=\bstruct )[ \t]*[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?(?=[ \t]+[A-Za-z_][\w:]*\s*(?:final\s*)?[:{])"
)
_LOOKS_LIKE_CPP = re.compile(
    rb"^[ \t]*(?:class\s+\w|namespace\s+\w|namespace\s*\{|template\s*<|using\s+\w"
    rb"|public:|private:|protected:|enum\s+class)|\bstd::|\bconstexpr\b|\bnullptr\b",
    re.MULTILINE,
)
_HEAD_BYTES = 65_536


def looks_like_cpp(data: bytes) -> bool:
    """Tell a C++ header from a C one by its words."""
    return _LOOKS_LIKE_CPP.search(data, 0, _HEAD_BYTES) is not None


def module_of(path: str) -> str:
    """Return the dotted path of a file, `src/` and `include/` in front left out."""
    parts = path.rpartition(".")[0].split("/")
    if len(parts) > 1 and parts[0] in ("src", "include", "lib"):
        parts = parts[1:]
    return ".".join(parts)


def literal(raw: bytes) -> str | None:
    pieces = re.findall(rb'"((?:[^"\\]|\\.)*)"?', raw)
    return b"".join(pieces).decode(errors="replace")


def _without_export_macros(data: bytes) -> bytes:
    return _EXPORT_MACRO.sub(lambda found: b" " * len(found[0]), data)


def declare(reader: Reader) -> None:
    _Declarations(reader).walk(reader.root.named_children, "", None)
    bind_declarations(reader)


class _Declarations:
    """Walks what can hold declarations, never a function's body."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._data = reader.data

    def walk(self, nodes: list[Node], access: str, outer: Node | None) -> None:
        """Declare a list of siblings; `access` is the visibility that is in force."""
        for node in nodes:
            access = self._one(node, access, outer)

    def _one(self, node: Node, access: str, outer: Node | None) -> str:
        kind = node.type
        if kind == "access_specifier":
            return self._reader.text(node)
        if kind in _CONTAINERS:
            self.walk(node.named_children, access, None)
        elif kind == "function_definition":
            self._function(node, node.child_by_field_name("declarator"), access, outer or node)
        elif kind in ("declaration", "field_declaration"):
            self._declaration(node, access, outer or node)
        elif kind in _SPECIFIERS:
            self._specifier(node, access, outer or node)
        elif kind == "type_definition":
            self._typedef(node)
        elif kind in ("alias_declaration", "concept_definition"):
            self._named("type", node, access, outer or node, node.child_by_field_name("type"))
        elif kind == "namespace_definition":
            self._namespace(node)
        elif kind == "template_declaration":
            self.walk(node.named_children[1:], access, node)
        elif kind == "preproc_include":
            self._include(node)
        elif kind in ("preproc_def", "preproc_function_def"):
            self._macro(node)
        elif kind == "using_declaration":
            self._using(node)
        return access

    def _named(
        self, kind: str, node: Node, access: str, outer: Node, returns: Node | None = None
    ) -> Draft | None:
        name = node.child_by_field_name("name")
        if name is None:
            return None
        draft = shape.begin(self._reader, kind, name, outer, node.child_by_field_name("body"))
        draft.returns = self._reader.type_text(returns)
        draft.visibility = access
        return self._reader.add(draft)

    def _namespace(self, node: Node) -> None:
        draft = self._named("namespace", node, "", node)
        name = node.child_by_field_name("name")
        if draft is not None and name is not None:
            draft.name = draft.name.replace("::", ".")
            draft.absolute = True
            self._reader.locals += [child.start_byte for child in name.named_children]
        body = node.child_by_field_name("body")
        self.walk(body.named_children if body is not None else [], "", None)

    def _specifier(
        self, node: Node, access: str, outer: Node, name: Node | None = None
    ) -> Draft | None:
        """Declare a class, struct, union or enum that has a body."""
        body = node.child_by_field_name("body")
        name = node.child_by_field_name("name") or name
        if body is None:
            return None
        kind = _SPECIFIERS[node.type]
        draft: Draft | None = None
        if name is not None:
            draft = shape.begin(self._reader, kind, name, outer, body)
            draft.name = draft.name.partition("<")[0].rpartition("::")[2]
            draft.visibility = access
            self._reader.add(draft)
            for child in node.named_children:
                if child.type == "base_class_clause":
                    self._bases(draft, child)
        if kind == "enum":
            for member in body.named_children:
                if member.type == "enumerator":
                    self._named("constant", member, "public", member)
        else:
            inside = "private" if kind == "class" else ("public" if kind == "struct" else "")
            self.walk(body.named_children, inside, None)
        return draft

    def _bases(self, draft: Draft, clause: Node) -> None:
        listed = [
            child for child in clause.named_children
            if child.type in ("type_identifier", "qualified_identifier", "template_type")
        ]  # fmt: skip
        shape.bases(self._reader, draft, listed, _NAMES)

    def _typedef(self, node: Node) -> None:
        shaped = node.child_by_field_name("type")
        declarators = node.children_by_field_name("declarator")
        first = declarator_name(declarators[0]) if declarators else None
        tagged = ""
        if shaped is not None and shaped.type in _SPECIFIERS:
            draft = self._specifier(shaped, "", node, first)
            tagged = draft.name if draft is not None else ""
        for declarator in declarators:
            name = declarator_name(declarator)
            if name is None or self._reader.text(name) == tagged:
                if name is not None:
                    self._reader.locals.append(name.start_byte)
                continue
            draft = shape.begin(self._reader, "type", name, node)
            draft.returns = self._reader.type_text(shaped)
            self._reader.add(draft)

    def _declaration(self, node: Node, access: str, outer: Node) -> None:
        shaped = node.child_by_field_name("type")
        is_member = node.type == "field_declaration"
        declarators = node.children_by_field_name("declarator")
        if shaped is not None and shaped.type in _SPECIFIERS:
            specified = self._specifier(shaped, access, shaped if declarators else outer)
            if specified is not None and declarators:
                specified.lift = 1  # the variable declared with it is not around it
        for declarator in declarators:
            if _is_function(declarator):
                self._function(node, declarator, access, outer)
                continue
            name = declarator_name(declarator)
            if name is None:
                continue
            draft = shape.begin(self._reader, "field" if is_member else "variable", name, outer)
            declared = self._reader.type_text(shaped).partition("{")[0].strip()
            draft.returns = _with_stars(declared, declarator)
            draft.modifiers = self._keywords(node)
            draft.visibility = access or ("internal" if "static" in draft.modifiers else "")
            if {"const", "constexpr"} & set(draft.modifiers) and not is_member:
                draft.kind = "constant"
            self._reader.add(draft)

    def _keywords(self, node: Node) -> tuple[str, ...]:
        return tuple(self._reader.text(c) for c in node.children if c.type in _KEYWORDS)

    def _function(self, node: Node, declarator: Node | None, access: str, outer: Node) -> None:
        if declarator is not None and declarator.type == "operator_cast":
            inner, name = declarator.child_by_field_name("declarator"), declarator
        else:
            inner = _function_declarator(declarator)
            name = inner.child_by_field_name("declarator") if inner is not None else declarator
        if inner is None or name is None:
            return
        body = node.child_by_field_name("body")
        initialisers = next((c for c in node.children if c.type == "field_initializer_list"), body)
        draft = shape.begin(self._reader, "function", name, outer, initialisers)
        self._name_function(draft, name)
        draft.returns = _with_stars(
            self._reader.type_text(node.child_by_field_name("type")), declarator
        )
        for child in inner.named_children:
            if child.type == "trailing_return_type":
                draft.returns = self._reader.type_text(child).removeprefix("->").strip()
            elif child.type == "virtual_specifier":
                draft.modifiers += (self._reader.text(child),)
        self._parameters(draft, inner.child_by_field_name("parameters"))
        draft.modifiers += self._keywords(node)
        if body is None and node.type != "function_definition":
            draft.modifiers += ("declaration",)
        draft.visibility = access or ("internal" if "static" in draft.modifiers else "")
        if "override" in draft.modifiers:
            shape.override(self._reader, draft)
        self._reader.add(draft)

    def _name_function(self, draft: Draft, name: Node) -> None:
        scopes = []
        while name.type == "qualified_identifier":
            scope, inner = name.child_by_field_name("scope"), name.child_by_field_name("name")
            if inner is None:
                break
            if scope is not None:
                scopes.append(self._reader.text(scope).partition("<")[0])
            name = inner
        token = name
        if name.type in ("template_function", "template_method"):
            token = name.child_by_field_name("name") or name
        elif name.type == "destructor_name" and name.named_child_count:
            token = name.named_children[0]
        draft.name_start = token.start_byte
        draft.name = self._reader.line(name.start_byte, name.end_byte).partition("<")[0].strip()
        if name.type == "operator_name":
            draft.name = self._reader.line(name.start_byte, name.end_byte)
        elif name.type == "operator_cast":
            target = self._reader.type_text(name.child_by_field_name("type"))
            draft.name, draft.name_start = f"operator {target}", -1
        if scopes:
            draft.owner = scopes[-1]
            draft.prefix = ".".join(scopes)

    def _parameters(self, draft: Draft, parameters: Node | None) -> None:
        for child in parameters.named_children if parameters is not None else ():
            if "parameter_declaration" not in child.type:
                continue
            declarator = child.child_by_field_name("declarator")
            name = declarator_name(declarator) if declarator is not None else None
            declared = self._reader.type_text(child.child_by_field_name("type"))
            if declared == "void" and declarator is None:
                continue
            text = self._reader.text(name) if name is not None else ""
            draft.params.append((text, _with_stars(declared, declarator)))
        draft.arity = len(draft.params)

    def _macro(self, node: Node) -> None:
        parameters = node.child_by_field_name("parameters")
        value = node.child_by_field_name("value")
        name = node.child_by_field_name("name")
        if name is None or (value is None and parameters is None):
            return
        draft = shape.begin(self._reader, "macro", name, node, value)
        if parameters is not None:
            names = [self._reader.text(child) for child in parameters.named_children]
            draft.params = [(text, "") for text in names]
            draft.arity = len(names)
        elif value is not None:
            draft.signature = self._reader.line(node.start_byte, node.end_byte)
        self._reader.add(draft)

    def _include(self, node: Node) -> None:
        path = node.child_by_field_name("path")
        if path is not None:
            module = self._reader.text(path).strip('<>" ')
            self._reader.imports.append(ImportDraft(module, "", "", node.start_byte, "include"))

    def _using(self, node: Node) -> None:
        if not node.named_child_count:
            return
        target = self._reader.text(node.named_children[-1])
        whole = self._data.startswith(b"namespace", node.child(1).start_byte)
        module, _, name = (target, "", "*") if whole else target.rpartition("::")
        alias = "" if whole else name
        self._reader.imports.append(ImportDraft(module, name, alias, node.start_byte, "using"))


def _function_declarator(declarator: Node | None) -> Node | None:
    """Find the declarator that makes a function, below pointers and references."""
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type == "reference_declarator":
            inner = declarator.named_child(0) if declarator.named_child_count else None
        declarator = inner
    return declarator


def _is_function(declarator: Node) -> bool:
    """A function is declared, not a pointer to one, nor a variable with arguments."""
    if declarator.type in ("init_declarator", "operator_cast"):
        return declarator.type == "operator_cast"
    found = _function_declarator(declarator)
    name = found.child_by_field_name("declarator") if found is not None else None
    return name is not None and name.type != "parenthesized_declarator"


def _with_stars(declared: str, declarator: Node | None) -> str:
    stars = ""
    while declarator is not None and declarator.type != "function_declarator":
        if declarator.type in ("pointer_declarator", "abstract_pointer_declarator"):
            stars += "*"
        elif declarator.type in ("reference_declarator", "abstract_reference_declarator"):
            stars += "&"
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type == "reference_declarator":
            inner = declarator.named_child(0) if declarator.named_child_count else None
        declarator = inner
    return declared + stars


def settle(draft: Draft, parent: Draft | None) -> None:
    """A method named like its class constructs it."""
    if draft.kind == "method" and (draft.name == draft.owner or _is_named_like(draft, parent)):
        draft.kind = "constructor"


def _is_named_like(draft: Draft, parent: Draft | None) -> bool:
    return parent is not None and parent.kind != "namespace" and parent.name == draft.name


C = Grammar(
    language="c",
    bundle="c",
    query=C_QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
)
CPP = Grammar(
    language="cpp",
    bundle="cpp",
    query=CPP_QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    settle=settle,
    prepare=_without_export_macros,
    noise=frozenset({b"auto"}),
    self_name="this",
)
