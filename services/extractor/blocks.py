"""Where does a name stop meaning what it was bound to, because the block that declares it ends?

Functions are scopes of their own; within one, a name that several blocks declare means in each
what that block says, and around them what it meant before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tree_sitter import Node

from services.extractor.reader import Draft, Reader
from services.extractor.table import Table

Row = tuple[int, int, str, str, str]  # start, scope, name, type, origin

BLOCK, END = "block", "widen"  # origins of bindings: the name is declared anew, up to here
_CLOSURES = frozenset({"arrow_function", "function_expression", "generator_function"})
_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration"})
# Of JavaScript: what is a symbol itself, and what declares functions and classes.
_SCOPES = _FUNCTIONS | {"method_definition", "internal_module", "module"}
_STATEMENTS = _FUNCTIONS | {
    "lexical_declaration", "variable_declaration", "class_declaration",
    "abstract_class_declaration",
}  # fmt: skip
_C = """compound_statement for_statement for_range_loop lambda_expression catch_clause if_statement
    while_statement"""
_ECMA = """statement_block for_statement for_in_statement catch_clause switch_body arrow_function
    function_expression generator_function"""
# What is declared in such a node, and nowhere deeper in another, ends with it.
_BLOCKS = {
    language: frozenset(kinds.split())
    for language, kinds in {
        "c": _C,
        "cpp": _C,
        "csharp": """block lambda_expression anonymous_method_expression for_statement
            foreach_statement catch_clause switch_section using_statement query_expression""",
        "go": """block func_literal if_statement for_statement expression_switch_statement
            type_switch_statement expression_case type_case default_case communication_case""",
        "java": """block lambda_expression for_statement enhanced_for_statement catch_clause
            try_with_resources_statement switch_block_statement_group switch_rule""",
        "javascript": _ECMA,
        "rust": """block closure_expression match_arm for_expression if_expression
            while_expression""",
        "typescript": _ECMA,
    }.items()
}
_WORD = re.compile(rb"[\w$]+")
_WITH_CLOSURES = frozenset({"javascript", "typescript"})  # nameless functions around their code
_OUTERMOST = Draft("module", "", -1, 1 << 62)
_WIDEST = 400  # declarations of one name in one function, beyond which nobody reads it anyway


def read_blocks(reader: Reader, table: Table, bound: Iterable[tuple[int, str]]) -> list[Row]:
    """Return begin and end of what blocks declare anew of the names that functions bind.

    Of JavaScript's outermost names, of all that blocks and nameless functions declare.
    """
    blocks = _BLOCKS.get(reader.grammar.language)
    if blocks is None:
        return []
    closures = reader.grammar.language in _WITH_CLOSURES
    names: dict[bytes, str] = {}
    outermost: set[bytes] = set()
    for scope, name in bound:
        if (scope >= 0 or closures) and name.isidentifier():
            names[name.encode()] = name
            if scope < 0:
                outermost.add(name.encode())
    places = _declared(reader, names, outermost)
    found = []
    for word, starts in places.items():
        by_scope: dict[int, list[int]] = defaultdict(list)
        for start in starts:
            by_scope[table.body_scope_at(start)].append(start)
        for scope, own in by_scope.items():
            if scope >= 0 and 1 < len(own) <= _WIDEST:
                found += _rows(reader, blocks, table.drafts[scope], names[word], own)
            elif scope < 0 and closures and len(own) <= _WIDEST:
                found += _rows(reader, blocks, _OUTERMOST, names[word], own)
    return found


def read_declaring_blocks(reader: Reader, table: Table) -> list[Row]:
    """Return begin and end of JavaScript's blocks and closures that declare functions and classes."""
    if reader.grammar.language not in _WITH_CLOSURES:
        return []
    found = []
    for draft in table.drafts:
        above = draft.member_of
        if draft.kind not in ("function", "class") or draft.prefix or draft.name_start < 0:
            continue
        if above is None and reader.data[draft.start - 1 : draft.start] in (b"", b"\n"):
            continue  # at the start of a line, as outermost code is
        block = _declaring_block(reader, draft, above)
        if block is not None:
            found.append((block.start_byte, draft.parent, draft.name, "", BLOCK))
            found.append((block.end_byte, draft.parent, draft.name, "", END))
    return found


def _declaring_block(reader: Reader, draft: Draft, above: Draft | None) -> Node | None:
    """Return the block or closure outside of which a declaration is not seen, None for none."""
    start = draft.name_start
    node = reader.root.descendant_for_byte_range(start, start + 1)
    while node is not None and node.type not in _STATEMENTS:
        node = node.parent
    if node is None or node.start_byte < draft.start:
        return None
    plain = reader.grammar.language == "javascript" and node.type in _FUNCTIONS
    floats = plain or node.type == "variable_declaration"
    blocks = _BLOCKS[reader.grammar.language]
    node = node.parent
    while node is not None and node.type not in _SCOPES:
        holder = node.parent
        if node.type in _CLOSURES:
            if _names(holder, above, node):
                return None
            outer = _made_of(reader, node, draft)
            if outer is None:
                return node
            node, holder = outer, outer.parent
        is_body = holder is not None and (holder.type in _CLOSURES or holder.type in _SCOPES)
        if node.type in blocks and not floats and not is_body:
            return node
        node = holder
    return None


def _made_of(reader: Reader, closure: Node, draft: Draft) -> Node | None:
    """Return the declaration in `var A = (function () { function A() {} return A; })()`."""
    node: Node | None = closure.parent
    while node is not None and node.type in ("parenthesized_expression", "call_expression"):
        node = node.parent
    if node is None or node.type != "variable_declarator":
        return None
    return node.parent if reader.field_text(node, "name") == draft.name else None


def _names(holder: Node | None, function: Draft | None, value: Node) -> bool:
    """Is a closure the value that its holder gives the name of a function to?"""
    if holder is None or function is None:
        return False
    return holder.start_byte <= function.name_start < value.start_byte


def _declared(reader: Reader, names: dict[bytes, str], alone: set[bytes]) -> dict[bytes, list[int]]:
    """Return where names are declared as locals, if more than once or among those that count alone."""
    found: dict[bytes, list[int]] = defaultdict(list)
    for start in {*reader.locals, *reader.starts("local")}:
        word = _WORD.match(reader.data, start)
        if word is not None and word[0] in names:
            found[word[0]].append(start)
    return {
        name: sorted(starts) for name, starts in found.items() if len(starts) > 1 or name in alone
    }


def _rows(
    reader: Reader, blocks: frozenset[str], function: Draft, name: str, starts: list[int]
) -> list[Row]:
    found = []
    known: set[int] = set()  # ends of blocks
    for start in starts:
        end = _end_of_block(reader, blocks, function, start)
        if end and end not in known:
            known.add(end)
            found.append((start, function.index, name, "", BLOCK))
            found.append((end, function.index, name, "", END))
    return found


def _end(reader: Reader, node: Node) -> int:
    """Return a block's end; in Go, what else is on the line of a brace that closes it is outside."""
    end = node.end_byte
    line = reader.data.rfind(b"\n", node.start_byte, end)
    if reader.grammar.language == "go" and line > 0 and reader.data[line:end].strip() == b"}":
        return line
    return end


def _end_of_block(reader: Reader, blocks: frozenset[str], function: Draft, start: int) -> int:
    """Return where the innermost block around a declaration ends, 0 when its function does."""
    node = reader.root.descendant_for_byte_range(start, start + 1)
    floats = False  # `var` of JavaScript holds in all of its function
    while node is not None and node.start_byte > function.start and node.end_byte < function.end:
        if node.type in blocks and (not floats or node.type in _CLOSURES):
            return _end(reader, node)
        floats = floats or (node.type == "variable_declaration" and "arrow_function" in blocks)
        node = node.parent
    return 0
