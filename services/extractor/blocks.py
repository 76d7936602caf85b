"""Where does a name stop meaning what it was bound to, because the block that declares it ends?

Functions are scopes of their own; within one, a name that several blocks declare means in each
what that block says, and around them what it meant before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from services.extractor.reader import Draft, Reader
from services.extractor.table import Table

Row = tuple[int, int, str, str, str]  # start, scope, name, type, origin

BLOCK, END = "block", "widen"  # origins of bindings: the name is declared anew, up to here
_CLOSURES = frozenset({"arrow_function", "function_expression", "generator_function"})
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
            foreach_statement catch_clause switch_section using_statement""",
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
_WIDEST = 400  # declarations of one name in one function, beyond which nobody reads it anyway


def read_blocks(reader: Reader, table: Table, bound: Iterable[tuple[int, str]]) -> list[Row]:
    """Return begin and end of what blocks declare anew of the names that functions bind."""
    blocks = _BLOCKS.get(reader.grammar.language)
    if blocks is None:
        return []
    names = {name.encode(): name for scope, name in bound if scope >= 0 and name.isidentifier()}
    places = _declared(reader, names)
    found = []
    for name, starts in places.items():
        by_scope: dict[int, list[int]] = defaultdict(list)
        for start in starts:
            by_scope[table.body_scope_at(start)].append(start)
        for scope, own in by_scope.items():
            if scope >= 0 and 1 < len(own) <= _WIDEST:
                found += _rows(reader, blocks, table.drafts[scope], names[name], own)
    return found


def _declared(reader: Reader, names: dict[bytes, str]) -> dict[bytes, list[int]]:
    """Return where names are declared as locals, for those declared more than once."""
    found: dict[bytes, list[int]] = defaultdict(list)
    for start in {*reader.locals, *reader.starts("local")}:
        word = _WORD.match(reader.data, start)
        if word is not None and word[0] in names:
            found[word[0]].append(start)
    return {name: sorted(starts) for name, starts in found.items() if len(starts) > 1}


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


def _end_of_block(reader: Reader, blocks: frozenset[str], function: Draft, start: int) -> int:
    """Return where the innermost block around a declaration ends, 0 when its function does."""
    node = reader.root.descendant_for_byte_range(start, start + 1)
    floats = False  # `var` of JavaScript holds in all of its function
    while node is not None and node.start_byte > function.start and node.end_byte < function.end:
        if node.type in blocks and (not floats or node.type in _CLOSURES):
            return node.end_byte
        floats = floats or (node.type == "variable_declaration" and "arrow_function" in blocks)
        node = node.parent
    return 0
