"""Ruby.

A small name alone is a call unless it is a local. `Foo.new(1)` is an object creation that uses the
name `Foo`. Instance and class variables keep their `@` where they are used; bindings call them
`self.x`.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import ruby_values
from services.extractor.languages.nodes import first, parts
from services.extractor.languages.ruby_bodies import Bodies
from services.extractor.languages.ruby_members import Outline
from services.extractor.languages.ruby_query import QUERY
from services.extractor.languages.ruby_recovery import recover
from services.extractor.reader import Draft, ImportDraft, Reader

_NOISE = b"__method__ __FILE__ __LINE__ __dir__ __ENCODING__ _1 _2 _3 end"
_PIECE = re.compile(rb"""'((?:[^'\\]|\\.)*)'?|"((?:[^"\\]|\\.)*)"?""", re.DOTALL)
_LITERAL_PATH = re.compile(r"['\"]([^'\"#]+)['\"]")
_LOADERS = frozenset({"require", "require_relative", "load", "autoload"})


def literal(raw: bytes) -> str | None:
    """Return the text of a string, symbol or heredoc body; None when it interpolates."""
    if b"#{" in raw and not raw.startswith((b"'", b"%q")):
        return None
    if raw.startswith(b":"):
        return raw[1:].strip(b"\"'").decode(errors="replace")
    if raw.startswith((b"\n", b"\r")):  # of a heredoc; its end tag is the last line
        return raw.strip().rpartition(b"\n")[0].decode(errors="replace")
    if raw.startswith(b"%"):  # %q(...)
        return raw.lstrip(b"%qQ")[1:-1].decode(errors="replace")
    pieces = [single or double for single, double in _PIECE.findall(raw)]
    return b"".join(pieces).decode(errors="replace")


def declare(reader: Reader) -> None:
    if reader.root.has_error:
        names = [node for node in reader.nodes("id") if node.end_byte > node.start_byte]
        reader.captures["id"] = names
    _heredocs(reader)
    _creations(reader)
    for node in reader.nodes("command"):
        _command(reader, node)
    outline = Outline(reader)
    for node in reader.nodes("class"):
        outline.add_class(node)
    for node in reader.nodes("method"):
        outline.add_method(node)
    for node in reader.nodes("constant"):
        outline.add_constants(node)
    Bodies(reader, outline).read()
    recover(reader)
    for node in reader.nodes("absolute"):
        name = node.child_by_field_name("name")
        if name is not None:
            reader.receiver_spans[name.start_byte] = (node.start_byte, name.start_byte)
    ruby_values.declare(reader)


def settle(draft: Draft, parent: Draft | None) -> None:
    """Functions of a module are methods too."""
    if draft.kind == "function" and parent is not None and parent.kind == "module":
        draft.kind = "method"


def _heredocs(reader: Reader) -> None:
    """Pair heredoc starts with their bodies, which follow in the same order."""
    bodies = reader.nodes("heredoc.body")
    if not bodies:
        return
    starts = sorted(node.start_byte for node in reader.nodes("heredoc.start"))
    spans = sorted(node.byte_range for node in bodies)
    if len(starts) == len(spans):
        reader.literal_spans.update(zip(starts, spans, strict=True))


def _creations(reader: Reader) -> None:
    """Let `Foo.new(1)` be the creation of a Foo, with the arguments of that name."""
    data, captures = reader.data, reader.captures
    hidden: set[int] = set()
    receivers: set[tuple[int, int]] = set()
    listed: list[tuple[Node, Node]] = []
    bare = []
    for node in reader.nodes("constant_method"):
        if data[node.start_byte : node.end_byte] != b"new" or node.parent is None:
            continue
        call = node.parent
        made = call.child_by_field_name("receiver")
        name = _last_constant(made)
        if made is None or name is None:
            continue
        hidden.add(node.start_byte)
        receivers.add(made.byte_range)
        reader.mark(name.start_byte, "new")
        arguments = call.child_by_field_name("arguments")
        if arguments is None:
            bare.append(name)
        else:
            listed.append((name, arguments))
    uncalled = hidden | set(reader.starts("write"))
    captures["args.none"] = bare + [
        node for node in reader.nodes("args.none") if node.start_byte not in uncalled
    ]
    if listed:
        captures["new"] = [name for name, _ in listed]
        captures["new.args"] = [arguments for _, arguments in listed]
    if hidden:
        captures["id"] = [node for node in reader.nodes("id") if node.start_byte not in hidden]
        captures["object"] = [
            node for node in reader.nodes("object") if node.byte_range not in receivers
        ]


def _last_constant(node: Node | None) -> Node | None:
    if node is not None and node.type == "scope_resolution":
        node = node.child_by_field_name("name")
    return node if node is not None and node.type == "constant" else None


def _command(reader: Reader, node: Node) -> None:
    """Read what the names of some calls mean: raise, require and their like."""
    name = reader.text(node)
    if name in ("raise", "fail"):
        call = node.parent
        raised = first(call.child_by_field_name("arguments")) if call is not None else None
        while raised is not None and raised.type == "call":
            raised = raised.child_by_field_name("receiver")
        constant = _last_constant(raised)
        if constant is not None:
            reader.mark(constant.start_byte, "raise")
    elif name in _LOADERS:
        _load(reader, name, node.parent)


def _load(reader: Reader, name: str, call: Node | None) -> None:
    arguments = parts(call.child_by_field_name("arguments")) if call is not None else []
    if call is None or not arguments:
        return
    start = call.start_byte
    text = reader.text(arguments[-1])
    found = _LITERAL_PATH.search(text)
    if found is None:
        return
    path = found[1]
    if name == "autoload":
        constant = reader.text(arguments[0]).lstrip(":")
        reader.imports.append(ImportDraft(path, constant, constant, start, "require"))
        return
    if "__FILE__" in text:  # a path beside the file itself
        path = "./" + path.removeprefix("../")
    elif (name == "require_relative" or "__dir__" in text) and not path.startswith("."):
        path = "./" + path.lstrip("/")
    reader.imports.append(ImportDraft(path, "", "", start, "require"))


RUBY = Grammar(
    language="ruby",
    bundle="ruby",
    query=QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    constructors=frozenset({"initialize"}),
    noise=frozenset(_NOISE.split()),
    self_name="self",
    bare_calls=True,
)
