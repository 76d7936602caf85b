"""Imports and exports of JavaScript and TypeScript modules, CommonJS included."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import ImportDraft, Reader


def read_imports(reader: Reader) -> None:
    for node in reader.nodes("import"):
        _import(reader, node)
    for node in reader.nodes("export"):
        _export(reader, node)
    bound = _declared(reader)
    for node in reader.nodes("perhaps_require"):
        module = required_module(reader, node)
        if module is not None and node.start_byte not in bound:
            reader.imports.append(ImportDraft(module, "", "", node.start_byte, "require"))
    for node in reader.nodes("dynamic_import"):
        if node.parent is not None and node.parent.start_byte in bound:
            continue
        target = first(node.child_by_field_name("arguments"))
        if target is not None and target.type == "string":
            reader.imports.append(ImportDraft(_unquoted(reader, target), "", "", node.start_byte))


def _declared(reader: Reader) -> set[int]:
    """Read what variables are declared to be of other modules; return where these are named."""
    bound = set()
    for node in reader.nodes("declaration"):
        for declarator in node.named_children:
            value = declarator.child_by_field_name("value")
            if value is None:
                continue
            module = required_module(reader, value)
            if module is not None:
                bound.add(value.start_byte)
                awaited = value.type == "await_expression"
                _require(reader, declarator, value, module, "import" if awaited else "require")
            elif value.type == "assignment_expression":
                _exported_too(reader, declarator, value)
    return bound


def _unquoted(reader: Reader, node: Node) -> str:
    return reader.text(node).strip("'\"`")


def _import(reader: Reader, node: Node) -> None:
    start = node.start_byte
    source = node.child_by_field_name("source")
    clause = next(
        (c for c in node.named_children if c.type in ("import_clause", "import_require_clause")),
        None,
    )
    if clause is None:
        if source is not None:
            reader.imports.append(ImportDraft(_unquoted(reader, source), "", "", start))
        return
    source = source or clause.child_by_field_name("source")
    module = _unquoted(reader, source) if source is not None else ""
    for child in clause.named_children:
        kind = child.type
        if kind == "identifier":
            name = "" if clause.type == "import_require_clause" else "default"
            reader.imports.append(ImportDraft(module, name, reader.text(child), start))
            if source is not None:
                reader.mark(child.start_byte, "import")
                reader.receiver_spans[child.start_byte] = (
                    source.start_byte + 1,
                    source.end_byte - 1,
                )
        elif kind == "namespace_import":
            alias = reader.text(child.named_children[-1]) if child.named_child_count else ""
            reader.imports.append(ImportDraft(module, "", alias, start))
        elif kind == "named_imports":
            _specifiers(reader, child, module, source, "import")


def _specifiers(reader: Reader, clause: Node, module: str, source: Node | None, kind: str) -> None:
    for specifier in clause.named_children:
        name = specifier.child_by_field_name("name")
        if name is None:
            continue
        text = reader.text(name)
        alias = reader.field_text(specifier, "alias") or text
        reader.imports.append(ImportDraft(module, text, alias, specifier.start_byte, kind))
        if source is not None:
            reader.mark(name.start_byte, "import")
            reader.receiver_spans[name.start_byte] = (source.start_byte + 1, source.end_byte - 1)


def _export(reader: Reader, node: Node) -> None:
    source = node.child_by_field_name("source")
    module = _unquoted(reader, source) if source is not None else ""
    start = node.start_byte
    clauses = [c for c in node.named_children if c.type in ("export_clause", "namespace_export")]
    for clause in clauses:
        if clause.type == "export_clause":
            _specifiers(reader, clause, module, source, "export")
            reader.locals += [
                alias.start_byte
                for specifier in clause.named_children
                if (alias := specifier.child_by_field_name("alias")) is not None
            ]
        else:
            bound = first(clause)
            bound_text = reader.text(bound) if bound is not None else ""
            reader.imports.append(ImportDraft(module, "*", bound_text, start, "export"))
            reader.locals += [bound.start_byte] if bound is not None else []
    if source is not None and not clauses:
        reader.imports.append(ImportDraft(module, "*", "", start, "export"))
    value = node.child_by_field_name("value")
    if value is not None and value.type == "identifier":
        name = reader.text(value)
        reader.imports.append(ImportDraft("", name, "default", start, "export"))


def commonjs_exports(reader: Reader, value: Node) -> None:
    """Read `module.exports = Name` and the names in `module.exports = { a, b: c }` as exports."""
    if value.type == "identifier":
        name = reader.text(value)
        reader.imports.append(ImportDraft("", name, "default", value.start_byte, "export"))
    required = required_module(reader, value) if value.type == "call_expression" else None
    if required is not None:
        reader.imports.append(ImportDraft(required, "*", "", value.start_byte, "export"))
    for child in value.named_children if value.type == "object" else ():
        inner = first(child) if child.type == "spread_element" else None
        spread = required_module(reader, inner) if inner is not None else None
        if spread is not None:
            reader.imports.append(ImportDraft(spread, "*", "", child.start_byte, "export"))
        elif child.type == "shorthand_property_identifier":
            name = reader.text(child)
            reader.imports.append(ImportDraft("", name, name, child.start_byte, "export"))
        elif child.type == "pair":
            key, named = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and named is not None and named.type == "identifier":
                reader.imports.append(
                    ImportDraft(
                        "", reader.text(named), _unquoted(reader, key), child.start_byte, "export"
                    )
                )


def _exported_too(reader: Reader, declarator: Node, value: Node) -> None:
    """Read `var a = exports = module.exports = b` as an export of a."""
    name = declarator.child_by_field_name("name")
    inner: Node | None = value
    while name is not None and inner is not None and inner.type == "assignment_expression":
        if reader.field_text(inner, "left") == "module.exports":
            text = reader.text(name)
            reader.imports.append(ImportDraft("", text, "default", name.start_byte, "export"))
        inner = inner.child_by_field_name("right")


def required_module(reader: Reader, value: Node) -> str | None:
    """Return the module of `require("x")` or `await import("x")`; else None.

    What is required may have a member or call behind it.
    """
    if value.type == "await_expression":
        awaited = first(value)
        called = awaited.child_by_field_name("function") if awaited is not None else None
        if awaited is None or called is None or called.type != "import":
            return None
        module = first(awaited.child_by_field_name("arguments"))
        is_text = module is not None and module.type == "string"
        return _unquoted(reader, module) if module is not None and is_text else None
    while value.type in ("member_expression", "call_expression"):
        if value.type == "call_expression":
            function = value.child_by_field_name("function")
            arguments = value.child_by_field_name("arguments")
            if function is None or arguments is None:
                return None
            if function.type == "identifier":
                if reader.text(function) != "require" or arguments.named_child_count != 1:
                    return None
                module = first(arguments)
                is_text = module is not None and module.type == "string"
                return _unquoted(reader, module) if module is not None and is_text else None
            return None
        inner = value.child_by_field_name("object")
        if inner is None:
            return None
        value = inner
    return None


def _require(reader: Reader, declarator: Node, value: Node, module: str, kind: str) -> None:
    name = declarator.child_by_field_name("name")
    start = declarator.start_byte
    if name is None:
        return
    if name.type == "identifier":
        member = reader.field_text(value, "property") if value.type == "member_expression" else ""
        reader.imports.append(ImportDraft(module, member, reader.text(name), start, kind))
    elif name.type == "object_pattern":
        for child in name.named_children:
            key = child.child_by_field_name("key") or child.child_by_field_name("left") or child
            bound = child.child_by_field_name("value") or key
            if key.type in ("property_identifier", "shorthand_property_identifier_pattern"):
                reader.imports.append(
                    ImportDraft(module, reader.text(key), reader.text(bound), start, kind)
                )
                reader.mark(key.start_byte, "import")
            elif child.type == "rest_pattern" and child.named_child_count:
                rest = reader.text(child.named_children[0])
                reader.imports.append(ImportDraft(module, "", rest, start, kind))
