"""Which words of people stand for which pieces of code?

Four kinds of pairs are read out of a source file:

- doc: a docstring or the comment before a declaration, and the declaration without it;
- name: the name of a declaration, and the declaration without its name;
- note: a comment inside a function that says more than a few words, and that function without it;
- text: a message or another sentence in a string of a function, and that function without it.

Every piece carries its path and the names around it, as a chunk does in the index.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ops.train.archives import Member
from ops.train.sources import is_copy_of_excluded

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query
    from tree_sitter_language_pack import SupportedLanguage

LIMITS = {"doc": 2_500, "note": 1_000, "text": 600, "name": 350}  # pairs of one package
NAME_SHARE = 0.35  # of the names are used: they are many and teach little
MAX_BODY_BYTES = 2_000
MIN_BODY_BYTES = 60
MAX_QUERY_CHARS = 260
MAX_INNER_PER_FUNCTION = 2  # of each kind
MIN_INNER_WORDS = {"note": 6, "text": 4}


class Pair(NamedTuple):
    """A text as a person might ask for it, and the piece of code that answers."""

    kind: str  # doc, name, note or text
    query: str
    path: str
    enclosing: tuple[str, ...]  # names of the declarations around the piece, outermost first
    body: str
    home: int  # byte where the declaration begins: pairs of one file and home speak of one thing


class Grammar(NamedTuple):
    """How a language's syntax tree shows declarations and comments."""

    name: SupportedLanguage
    declarations: tuple[str, ...]
    comments: tuple[str, ...] = ("comment",)
    strings: tuple[str, ...] = ("string",)


_C = ("function_definition", "struct_specifier", "enum_specifier")
_JAVASCRIPT = (
    "function_declaration", "generator_function_declaration", "method_definition",
    "class_declaration", "variable_declarator",
)  # fmt: skip
_TYPESCRIPT = (
    *_JAVASCRIPT, "interface_declaration", "type_alias_declaration", "enum_declaration",
    "abstract_class_declaration",
)  # fmt: skip
_JAVA_COMMENTS = ("line_comment", "block_comment")
_C_STRINGS = ("string_literal",)
_PYTHON = Grammar("python", ("function_definition", "class_definition"))
_CPP = Grammar("cpp", (*_C, "class_specifier"), strings=_C_STRINGS)
_GRAMMARS = {
    ".py": _PYTHON,
    ".js": Grammar("javascript", _JAVASCRIPT),
    ".ts": Grammar("typescript", _TYPESCRIPT),
    ".tsx": Grammar("tsx", _TYPESCRIPT),
    ".java": Grammar(
        "java",
        ("class_declaration", "interface_declaration", "enum_declaration", "method_declaration"),
        _JAVA_COMMENTS,
        ("string_literal",),
    ),
    ".go": Grammar(
        "go",
        ("function_declaration", "method_declaration", "type_declaration"),
        strings=("interpreted_string_literal",),
    ),
    ".rs": Grammar(
        "rust",
        ("function_item", "struct_item", "enum_item", "trait_item", "macro_definition"),
        _JAVA_COMMENTS,
        ("string_literal",),
    ),
    ".c": Grammar("c", _C, strings=_C_STRINGS),
    ".h": _CPP,
    ".cc": _CPP,
    ".cpp": _CPP,
    ".hpp": _CPP,
    ".cs": Grammar(
        "csharp",
        (
            "class_declaration", "interface_declaration", "struct_declaration",
            "enum_declaration", "method_declaration", "property_declaration",
        ),
        strings=("string_literal", "interpolated_string_expression"),
    ),
    ".rb": Grammar("ruby", ("method", "singleton_method", "class", "module")),
    ".php": Grammar(
        "php",
        (
            "function_definition", "method_declaration", "class_declaration",
            "interface_declaration", "trait_declaration",
        ),
        strings=("string", "encapsed_string"),
    ),
    ".kt": Grammar(
        "kotlin",
        ("function_declaration", "class_declaration", "object_declaration"),
        ("line_comment", "multiline_comment"),
        ("string_literal",),
    ),
    ".lua": Grammar("lua", ("function_declaration",)),
}  # fmt: skip
_GRAMMARS |= {".mjs": _GRAMMARS[".js"], ".cjs": _GRAMMARS[".js"], ".jsx": _GRAMMARS[".js"]}
SUFFIXES = tuple(_GRAMMARS)

_NOT_OWN = re.compile(
    r"(^|/)(_?vendor(ed|s)?|third[_-]?party|node_modules|extern(al)?s?|bundled|deps|dist|build"
    r"|tests?|testing|specs?|__tests__|fixtures?|testdata|examples?|samples?|benchmarks?|mocks?"
    r"|docs?|locales?|i18n|debian|[\w-]*generated)/"
    r"|\.min\.|[._-](test|spec|pb|pb2|generated|bundle|umd|cjs|prod)\.|_test\.go$|(^|/)test_"
    r"|\.d\.ts$|Tests?\.(java|cs|php|kt)$",
    re.IGNORECASE,
)
_FUNCTIONS = re.compile(r"function|method")
_WRAPPERS = frozenset(
    {"export_statement", "decorated_definition", "lexical_declaration", "variable_declaration",
     "template_declaration", "declaration", "type_definition"}
)  # fmt: skip
_BETWEEN = frozenset({"attribute_item", "attribute", "annotation", "modifiers", "attribute_list"})
_NAME_TYPES = frozenset(
    {"identifier", "type_identifier", "simple_identifier", "field_identifier", "constant", "name"}
)
_MARKERS = re.compile(
    r"^[ \t]*(?:/\*+!?|\*+/|\*+|//[/!]*|#+[!:|]?|--+\|?|;+|[rRuUbB]?\"\"\"|[rRuUbB]?''')|\*+/|\"\"\"|'''",
    re.MULTILINE,
)
_QUOTES = re.compile(r"^[a-zA-Z@$]{0,3}[\"'`]|[\"'`]$")
_PLACEHOLDERS = re.compile(r"%[-\d.*]*l?[a-zA-Z]|\\[nrt]|[#$%]?\{[^{}]*\}")
_END_OF_PROSE = re.compile(
    r"\n\s*(?:@\w|\\(?:param|return|brief)|:\w+[^:\n]*:|[A-Z]\w+:\s*\n|\w[\w ]*\n\s*[-=~]{3,}|>>>"
    r"|```|#+ |\.\. |- {0,3}`|<(?:param|returns|remarks|example))"
)
_MARKUP = re.compile(r"\{@\w+ ([^}]*)\}|</?\w[^>]*>|:\w+:`~?([^`]*)`|``?([^`]*)``?")
_BOILERPLATE = re.compile(
    r"copyright|licen[sc]e|eslint|prettier|pragma|noqa|istanbul|inherit(?:ed )?doc|\bTODO\b"
    r"|\bFIXME\b|\bXXX\b|auto-?generated|generated by|@internal|deprecated|^see |clang-format"
    r"|NOLINT|type: ignore|ts-ignore",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]{2,}")
_EMPTY_TEXT = """
    __init__ constructor main test setup init new get set tostring __repr__ __str__ run call execute
    apply equals hashcode clone dispose close
"""
_EMPTY_NAMES = frozenset(_EMPTY_TEXT.split())


def mine(files: Iterable[Member], share: int, seed: int) -> list[Pair]:
    """Pairs of one package's own code, from its files in a fixed random order.

    At most `share` times `LIMITS` of each kind, and never two with the same query or the same
    piece of code and kind, as trees with copies of a file would give.
    """
    own = [file for file in files if _is_own(file.path)]
    chance = random.Random(seed)  # noqa: S311 - repeatable sampling, nothing secret
    chance.shuffle(own)
    found: dict[str, list[Pair]] = {kind: [] for kind in LIMITS}
    seen: set[tuple[str, str]] = set()
    for file in own:
        for pair in mine_file(file):
            marks = {(pair.kind, pair.query), (pair.kind, pair.body)}
            full = len(found[pair.kind]) >= share * LIMITS[pair.kind]
            skipped = pair.kind == "name" and chance.random() > NAME_SHARE
            if not (full or skipped or marks & seen):
                found[pair.kind].append(pair)
                seen |= marks
        if all(len(found[kind]) >= share * limit for kind, limit in LIMITS.items()):
            break
    return [pair for pairs in found.values() for pair in pairs]


def _is_own(path: str) -> bool:
    return not _NOT_OWN.search(path) and not is_copy_of_excluded(path)


def mine_file(file: Member) -> list[Pair]:
    """Every pair of one file; none when it has no grammar or looks minified."""
    suffix = "." + file.path.rpartition(".")[2].lower()
    grammar = _GRAMMARS.get(suffix)
    if grammar is None or len(file.body) > 200 * (file.body.count(b"\n") + 1):
        return []
    parser, query = _tools(grammar)
    tree = parser.parse(file.body)
    declared = _captures(query, tree.root_node)
    pairs: list[Pair] = []
    for node in declared.get("declaration", []):
        pairs += _of_declaration(node, file, grammar)
    pairs += _of_inner("note", _runs(declared.get("comment", [])), file, grammar)
    sentences = [[node] for node in declared.get("string", []) if _is_sentence(node)]
    return pairs + _of_inner("text", sentences, file, grammar)


@cache
def _tools(grammar: Grammar) -> tuple[Parser, Query]:
    from tree_sitter import Parser, Query
    from tree_sitter_language_pack import get_language

    language = get_language(grammar.name)
    patterns = [f"({kind}) @declaration" for kind in grammar.declarations]
    patterns += [f"({kind}) @comment" for kind in grammar.comments]
    patterns += [f"({kind}) @string" for kind in grammar.strings]
    return Parser(language), Query(language, "\n".join(patterns))


def _captures(query: Query, root: Node) -> dict[str, list[Node]]:
    from tree_sitter import QueryCursor

    return QueryCursor(query).captures(root)


def _of_declaration(node: Node, file: Member, grammar: Grammar) -> list[Pair]:
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        if value is None or not _FUNCTIONS.search(value.type):
            return []
    name = declared_name(node)
    body = file.body[node.start_byte : node.end_byte]
    if not name or len(body) < MIN_BODY_BYTES:
        return []
    if grammar is _PYTHON:
        doc, body = _python_doc(node, file.body)
    else:
        doc = _leading_comment(node, grammar)
    text = body[:MAX_BODY_BYTES].decode("utf-8", "replace")
    around = _enclosing(node, grammar)
    pairs: list[Pair] = []
    prose = clean(doc)
    if prose:
        pairs.append(Pair("doc", prose, file.path, around, text, node.start_byte))
    if name.lower() not in _EMPTY_NAMES and len(_WORDS.findall(_spaced(name))) >= 2:
        nameless = text.replace(name, " ")
        pairs.append(Pair("name", name, file.path, around, nameless, node.start_byte))
    return pairs


def _of_inner(kind: str, runs: list[list[Node]], file: Member, grammar: Grammar) -> list[Pair]:
    """Pairs of what is said inside functions, and what surrounds it there."""
    pairs: list[Pair] = []
    taken: dict[int, int] = {}
    for run in runs:
        home = _function_around(run[0], grammar)
        if home is None or taken.get(home.id, 0) >= MAX_INNER_PER_FUNCTION:
            continue
        prose = clean("\n".join(_text(node) for node in run))
        start, end = run[0].start_byte, run[-1].end_byte
        first = max(home.start_byte, start - MAX_BODY_BYTES // 3)
        last = min(home.end_byte, end + MAX_BODY_BYTES * 2 // 3)
        body = file.body[first:start] + file.body[end:last]
        if len(_WORDS.findall(prose)) >= MIN_INNER_WORDS[kind] and len(body) >= 2 * MIN_BODY_BYTES:
            taken[home.id] = taken.get(home.id, 0) + 1
            around = (*_enclosing(home, grammar), declared_name(home))
            text = body.decode("utf-8", "replace")
            pairs.append(Pair(kind, prose, file.path, around, text, home.start_byte))
    return pairs


def _is_sentence(node: Node) -> bool:
    """Whether a string reads like a message, not a format, a key or the docstring of its function."""
    text = _text(node)
    return (
        text.count(" ") >= 3
        and "\n" not in text
        and not (node.parent is not None and node.parent.type == "expression_statement")
    )


def _runs(comments: list[Node]) -> list[list[Node]]:
    """Comments on lines of their own, those on neighbouring lines together."""
    runs: list[list[Node]] = []
    for node in sorted(comments, key=lambda comment: comment.start_byte):
        before = node.prev_sibling
        if before is not None and before.end_point[0] == node.start_point[0]:
            continue
        if runs and node.start_point[0] - runs[-1][-1].end_point[0] <= 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _function_around(node: Node, grammar: Grammar) -> Node | None:
    above = node.parent
    while above is not None:
        if above.type in grammar.declarations and _FUNCTIONS.search(above.type):
            return above
        above = above.parent
    return None


def _enclosing(node: Node, grammar: Grammar) -> tuple[str, ...]:
    names: list[str] = []
    above = node.parent
    while above is not None:
        if above.type in grammar.declarations:
            names.append(declared_name(above))
        elif above.type == "impl_item":
            implemented = above.child_by_field_name("type")
            names.append(_text(implemented) if implemented is not None else "")
        above = above.parent
    return tuple(name for name in reversed(names) if name)


def declared_name(node: Node) -> str:
    """The name that a declaration gives, "" when it gives none."""
    found = node.child_by_field_name("name")
    for _ in range(6):
        if found is not None:
            break
        inner = node.child_by_field_name("declarator")
        if inner is None:
            found = next((child for child in node.children if child.type in _NAME_TYPES), None)
            inner = next((child for child in node.children if child.type == "type_spec"), None)
        elif inner.type in _NAME_TYPES or inner.type.startswith(("qualified", "destructor")):
            found = inner
        if inner is None:
            break
        node = inner
        found = found or node.child_by_field_name("name")
    name = _text(found).rpartition("::")[2] if found is not None else ""
    return name if 0 < len(name) <= 80 and "\n" not in name else ""


def _python_doc(node: Node, source: bytes) -> tuple[str, bytes]:
    """The docstring of a Python declaration, and the declaration without it."""
    block = node.child_by_field_name("body")
    first = block.children[0] if block is not None and block.children else None
    if first is not None and first.type == "expression_statement" and first.children:
        first = first.children[0]
    if first is None or first.type != "string":
        return "", source[node.start_byte : node.end_byte]
    rest = source[node.start_byte : first.start_byte] + source[first.end_byte : node.end_byte]
    return _text(first), rest


def _leading_comment(node: Node, grammar: Grammar) -> str:
    """The comments that end on the line before a declaration, as they are written."""
    while node.parent is not None and node.parent.type in _WRAPPERS:
        node = node.parent
    top = node.start_point[0]
    before = node.prev_sibling
    while before is not None and before.type in _BETWEEN:
        top = before.start_point[0]
        before = before.prev_sibling
    lines: list[str] = []
    while before is not None and before.type in grammar.comments and len(lines) < 40:
        if top - before.end_point[0] > 1:
            break
        lines.append(_text(before).rstrip("\n"))
        top = before.start_point[0]
        before = before.prev_sibling
    return "\n".join(reversed(lines))


def clean(comment: str) -> str:
    """The prose of a comment without markers, markup and parameter lists; "" if it says little."""
    prose = _QUOTES.sub("", _MARKERS.sub("", comment).strip())
    prose = _END_OF_PROSE.split("\n" + prose, maxsplit=1)[0]
    prose = _MARKUP.sub(lambda found: found[1] or found[2] or found[3] or " ", prose)
    prose = _PLACEHOLDERS.sub(" ", prose)
    prose = re.sub(r"\s+", " ", prose).strip()[:MAX_QUERY_CHARS]
    if len(_WORDS.findall(prose)) < 4 or _BOILERPLATE.search(prose):
        return ""
    letters = sum(char.isalpha() or char == " " for char in prose)
    return prose if letters > 0.75 * len(prose) else ""


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
