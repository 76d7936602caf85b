"""What one parsed file says, before names and parents are settled.

A language module gets a `Reader`: the bytes and the captures of its query. It adds drafts of
symbols, imports and bindings; everything else follows from captures with these names:

    id                      every name token that may be a use; the others refine it by position
    args.direct             an argument list whose name is the token right before it
    args.one                the same for a single argument without a list
    args.none               a called name without an argument list
    args.tokens             unparsed tokens in brackets behind a name, as of a macro: argc stays -1
    callee, args            a called name and its argument list where something stands between
    new, new.args           the type named by an object creation, and its arguments
    args.comment            a comment inside an argument list
    string                  a string literal directly inside an argument list
    object                  what a member access or qualified name is a member of
    type, base, decorator, raise, write
                            a name token used that way
    target                  a bare name assigned to: a local of its function, else a write
    local                   a name token that only introduces a local (parameter, loop variable)
    global                  a name declared to be no local of its function
    type.span               a region where every name is a type
    skip, skip.span         names and regions that are no uses
    comment, decoration     comments; annotations that stand beside what they annotate

A query's cost grows with its patterns, so what is rare, or needs a look around, is left to code: it
walks from a captured node and says the same through `mark`, `target`, `local` and `bind`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from operator import attrgetter

from tree_sitter import Node

from contracts.extract import REFERENCE_KINDS
from services.extractor.grammar import Captures, Grammar

DOC_CHARS = 600
SIGNATURE_CHARS = 300
TYPE_CHARS = 160
_GAP_BYTES = 500  # between a comment and what it describes: blanks
EXPRESSION_CHARS = 160
EXPRESSION_BYTES = 2_000
KIND_CODES = {kind: code for code, kind in enumerate(REFERENCE_KINDS)}

TO_TYPE = -1  # a draft's lift: up to the type around, without which it is nothing
TYPE_KINDS = frozenset({"class", "interface", "struct", "enum", "trait", "record", "union"})

_DOLLAR_NAMES = frozenset({"javascript", "typescript", "tsx"})  # `$` is a letter like any other
_SELF_PREFIXES = ("self.", "cls.", "this.")
_INNER_ARGUMENTS = re.compile(r"\([^()]*\)")
_BRACKET = re.compile(r"[()]")
_INNER_BLOCK = re.compile(r"\s*\{[^{}]*\}")
_LOOSE = re.compile(r" (?=[^\w ])|(?<=[^\w ]) ")
_SPACE = re.compile(r"\s+")
_COMMENT_OPENING = re.compile(r"\s*(?:/\*[*!]*|//[/!]*|\*+/|\*|#+:?|--+|;+|<!--|%+)? ?")
_COMMENT_CLOSING = re.compile(r"\s*(?:\*+/|-->)$")


_place = attrgetter("byte_range")


class Draft:
    """A symbol being put together; the fields of contracts.extract.Symbol unless noted."""

    __slots__ = (
        "absolute", "arity", "bases", "decorators", "doc", "end", "index", "kind", "lift", "member_of", "modifiers",
        "name", "name_start", "owner", "params", "parent", "prefix", "returns", "scopeless",
        "signature", "start", "visibility",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, start: int, end: int, signature: str = "") -> None:
        self.kind = kind
        self.name = name
        self.start = start
        self.end = end
        self.signature = signature
        self.name_start = -1  # position of its name token, which is then no use of the name
        self.doc = ""
        self.visibility = ""
        self.arity = -1
        self.params: list[tuple[str, str]] = []
        self.returns = ""
        self.modifiers: tuple[str, ...] = ()
        self.decorators: tuple[str, ...] = ()
        self.bases: list[str] = []
        self.owner = ""  # simple name of the type it belongs to when that is not around it
        self.prefix = ""  # names between parent and name, as B in C++ `void B::f() {}`
        self.lift = 0  # how many symbols around it to pass over for its parent; TO_TYPE: all
        self.absolute = False  # its full name starts at itself, not at the file's module
        self.scopeless = False  # uses inside it belong to what is around it
        self.member_of: Draft | None = None  # settled parent
        self.parent = -1
        self.index = -1


@dataclass
class ImportDraft:
    """Fields of contracts.extract.Import; `start` finds line and scope."""

    module: str
    name: str
    alias: str
    start: int
    kind: str = "import"
    level: int = 0


@dataclass
class BindingDraft:
    """Fields of contracts.extract.Binding; `start` finds line and scope."""

    name: str
    type_name: str
    origin: str
    start: int


@dataclass
class Reader:
    """One parsed file being read. Positions are byte offsets."""

    grammar: Grammar
    path: str
    data: bytes
    root: Node
    captures: Captures
    module: str = ""  # dotted prefix of every full name
    drafts: list[Draft] = field(default_factory=list)
    imports: list[ImportDraft] = field(default_factory=list)
    bindings: list[BindingDraft] = field(default_factory=list)
    roles: dict[int, int] = field(default_factory=dict)  # name start -> kind code, last word
    moved: dict[int, int] = field(default_factory=dict)  # called name -> name its arguments go to
    targets: list[int] = field(default_factory=list)  # name starts, as the capture `target`
    locals: list[int] = field(default_factory=list)  # name starts, as the capture `local`
    # names bound anew by what tells no type: from where and to where, 0 for as far as its function
    untold: list[tuple[str, int, int]] = field(default_factory=list)
    extra_names: dict[int, int] = field(default_factory=dict)  # start -> end of further name tokens
    type_spans: list[tuple[int, int]] = field(default_factory=list)  # as the capture `type.span`
    receiver_spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    literal_spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # heredocs, by `string`
    arguments: dict[int, str] = field(default_factory=dict)  # by name start: References.arguments
    of_lambdas: set[int] = field(default_factory=set)  # starts of bindings of lambdas' parameters
    typed_parameters: set[int] = field(default_factory=set)  # starts of parameters in drafts
    _comments: list[tuple[int, int]] | None = None
    _decorations: list[tuple[int, int]] | None = None

    def nodes(self, capture: str) -> list[Node]:
        """Return what was captured in source order, at one start the shorter before the longer."""
        return sorted(self.captures.get(capture, ()), key=_place)

    def unordered(self, capture: str) -> list[Node]:
        """Return what was captured in no certain order, not even the same in every run."""
        return self.captures.get(capture, [])

    def starts(self, capture: str) -> list[int]:
        return [node.start_byte for node in self.captures.get(capture, ())]

    def spans(self, capture: str) -> list[tuple[int, int]]:
        return [node.byte_range for node in self.captures.get(capture, ())]

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def field_text(self, node: Node, name: str) -> str:
        """Return the text of a field, "" when absent."""
        found = node.child_by_field_name(name)
        return "" if found is None else self.text(found)

    def line(self, start: int, end: int, limit: int = SIGNATURE_CHARS) -> str:
        """Return a region as one line, white space folded, at most `limit` characters."""
        if end - start > 4 * limit:
            end = start + 4 * limit
        return " ".join(self.data[start:end].decode("utf-8", "replace").split())[:limit]

    def type_text(self, node: Node | None) -> str:
        if node is None:
            return ""
        return self.line(node.start_byte, node.end_byte, TYPE_CHARS)

    def add(self, draft: Draft) -> Draft:
        self.drafts.append(draft)
        return draft

    def mark(self, start: int, kind: str) -> None:
        """Give the name at `start` its kind of use, whatever the captures say."""
        self.roles[start] = KIND_CODES[kind]

    def bind(self, name: Node, type_name: str, origin: str) -> None:
        """Record what the text tells of a variable's or field's type."""
        if "(" in type_name and origin != "annotation":
            type_name = short_expression(type_name.encode())
        if type_name:
            text = self.text(name)
            if not (text[:1] == "$" and self.grammar.bundle in _DOLLAR_NAMES):
                text = bound_name(text)
            if text:
                self.bindings.append(BindingDraft(text, type_name, origin, name.start_byte))

    def held(self, name: Node, around: Node) -> Draft:
        """Declare a field that only its assignment to the instance tells of."""
        draft = Draft("field", self.text(name), around.start_byte, around.end_byte)
        draft.signature = self.line(around.start_byte, around.end_byte)
        draft.modifiers = ("assigned",)
        draft.scopeless, draft.lift = True, TO_TYPE
        return self.add(draft)

    def decorations_before(self, start: int) -> tuple[tuple[str, ...], int]:
        """Return annotations standing directly before `start`, and where the first begins."""
        if self._decorations is None:
            self._decorations = sorted(
                (n.end_byte, n.start_byte) for n in self.unordered("decoration")
            )
        found: list[str] = []
        at = bisect_left(self._decorations, (start + 1, 0)) - 1
        while at >= 0:
            end, first = self._decorations[at]
            if self.data[end:start].strip() and not self._only_comments(end, start):
                break
            found.append(self.line(first, end))
            start = first
            at -= 1
        return tuple(reversed(found)), start

    def doc_before(self, start: int) -> str:
        """Return the comment block that ends directly above `start`, markers removed."""
        if self._comments is None:
            self._comments = sorted((n.end_byte, n.start_byte) for n in self.unordered("comment"))
        data = self.data
        at = bisect_left(self._comments, (start + 1, 0)) - 1
        begin = stop = start
        while at >= 0:
            end, first = self._comments[at]
            gap = data[end:begin] if begin - end < _GAP_BYTES else b"far"
            if gap.strip() or gap.count(b"\n") > 1 or not _starts_line(data, first):
                break
            if stop == start:
                stop = end
            begin = first
            at -= 1
        if begin == start:
            return ""
        block = data[begin : min(stop, begin + 4 * DOC_CHARS)]
        return clean_comment(block.decode(errors="replace"))

    def _only_comments(self, start: int, end: int) -> bool:
        text = self.data[start:end].strip()
        return text.startswith((b"//", b"/*", b"#")) and b"\n" not in text


def short_expression(raw: bytes, groups: int = 4) -> str:
    """Leave arguments and blocks out: `q.filter(a=f(b)).map { it }.all` is `q.filter().map{}.all`.

    What stands in brackets in front is no arguments: `(new A(b)).c(d)` is `(new A()).c()`, down to
    as many `groups` within each other.
    """
    text = raw[-EXPRESSION_BYTES:].decode(errors="replace")
    if groups and text[:1] == "(" and (close := _group_end(text)) > 1:
        inner = short_expression(text[1:close].strip().encode(), groups - 1)
        text = f"({inner}){_without_arguments(text[close + 1 :].lstrip())}"
    else:
        text = _without_arguments(text)
    return text if len(text) <= EXPRESSION_CHARS else "..." + text[-EXPRESSION_CHARS:]


def _without_arguments(text: str) -> str:
    while "(" in text or "{" in text:
        shorter = _INNER_ARGUMENTS.sub("\0", text)
        if "{" in shorter:
            shorter = _INNER_BLOCK.sub("\1", shorter)
        if shorter == text:
            break
        text = shorter
    text = _SPACE.sub(" ", text.replace("\0", "()").replace("\1", "{}"))
    return _LOOSE.sub("", text) if " " in text else text


def _group_end(text: str) -> int:
    """Return where the bracket closes that a text opens with, 0 when it does not."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    return 0


def bound_name(text: str) -> str:
    """Return "x", "self.x" or "this.x" as bindings spell it; "" for what is neither."""
    if text.isidentifier():
        return text
    text = text.removeprefix("$").replace("->", ".").removeprefix("@")
    simple = text
    for prefix in _SELF_PREFIXES:
        simple = simple.removeprefix(prefix)
    return text if simple.isidentifier() else ""


def _starts_line(data: bytes, start: int) -> bool:
    return not data[data.rfind(b"\n", 0, start) + 1 : start].strip()


def clean_comment(text: str) -> str:
    """Strip comment markers from every line and drop blank edges; at most DOC_CHARS."""
    lines = [_COMMENT_OPENING.sub("", line, count=1).rstrip() for line in text.splitlines()]
    if "*/" in text or "-->" in text:
        lines = [_COMMENT_CLOSING.sub("", line) for line in lines]
    return "\n".join(lines).strip()[:DOC_CHARS]
