"""What the statements of a Ruby class body declare and change: accessors, mixins, visibility."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from services.extractor.languages.nodes import parts
from services.extractor.languages.ruby_members import (
    YARD_RETURN,
    Outline,
    finish,
    symbol,
    symbol_name,
    take_parameters,
)
from services.extractor.reader import Draft, ImportDraft, Reader

_VISIBILITIES = frozenset({"public", "protected", "private"})
_ACCESSORS = frozenset({"attr_reader", "attr_writer", "attr_accessor", "attr"})
_MIXINS = frozenset({"include", "extend", "prepend"})
_HIDING = {
    "private_class_method": "private", "public_class_method": "public",
    "private_constant": "private",
}  # fmt: skip
_EVALUATED = frozenset({"class_eval", "module_eval", "class_exec", "instance_eval"})
_CONCERNS = frozenset({"included", "class_methods", "prepended", "concerning"})
_CONDITIONAL = frozenset({"if", "unless", "then", "else", "elsif", "begin", "ensure", "rescue"})
_SORBET_PARAM = re.compile(r"(\w+): *((?:[^,()]|\([^()]*\))+)")
_SORBET_PARAMS = re.compile(r"\bparams\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
_SORBET_RETURNS = re.compile(r"\breturns\(((?:[^()]|\([^()]*\))*)\)")


@dataclass
class _Section:
    """Where a class body's reading stands: what holds for the declarations to come."""

    draft: Draft | None  # the class or module, None at the top
    static: bool = False
    owner: str = ""  # class whose body is written outside of it
    prefix: str = ""  # of a refinement
    visibility: str = "public"
    signature: Node | None = None  # a `sig` right before
    members: list[Draft] = field(default_factory=list)


class Bodies:
    """Reads the bodies that an outline found, in order."""

    def __init__(self, reader: Reader, outline: Outline) -> None:
        self._reader = reader
        self._outline = outline

    def read(self) -> None:
        """Read what the statements of class bodies declare and change."""
        for draft, body in self._outline.bodies:
            self._body(body, _Section(draft))

    def _body(self, body: Node, section: _Section) -> None:
        for node in body.named_children:
            kind = node.type
            if kind in ("method", "singleton_method"):
                self._member(node, section)
            elif kind == "call":
                self._call(node, section)
            elif kind == "identifier":
                self._switch(node, section)
            elif kind in ("assignment", "operator_assignment"):
                self._variable(node, section)
            elif kind == "alias":
                self._alias(node, section, node.named_children)
            elif kind == "singleton_class":
                inner = node.child_by_field_name("body")
                if inner is not None:
                    self._body(inner, _Section(section.draft, static=True))
            elif kind in _CONDITIONAL:
                self._body(node, section)

    def _member(self, node: Node, section: _Section) -> None:
        """Give a method what its section says."""
        draft = self._outline.methods.get(node.start_byte)
        signature, section.signature = section.signature, None
        if draft is None:
            return
        if node.type == "method":
            draft.visibility = section.visibility
            if section.static:
                draft.modifiers = ("static",)
        if section.draft is not None and draft.owner == section.draft.name:
            draft.owner = ""
        draft.owner = draft.owner or section.owner
        draft.prefix = section.prefix
        if section.prefix:
            draft.kind = "method"
        if signature is not None:
            self._typed(draft, signature)
        section.members.append(draft)

    def _typed(self, draft: Draft, signature: Node) -> None:
        """Take types from a Sorbet signature."""
        reader = self._reader
        text = reader.line(signature.start_byte, signature.end_byte)
        draft.decorators = (text,)
        draft.start = signature.start_byte
        draft.doc = draft.doc or reader.doc_before(draft.start)
        listed = _SORBET_PARAMS.search(text)
        types = dict(_SORBET_PARAM.findall(listed[1])) if listed else {}
        draft.params = [
            (name, types.get(name.strip("*&:"), declared).strip())
            for name, declared in draft.params
        ]
        found = _SORBET_RETURNS.search(text)
        draft.returns = found[1] if found else draft.returns

    def _switch(self, node: Node, section: _Section) -> None:
        """Follow `private` and its like standing alone."""
        word = self._reader.text(node)
        if word in _VISIBILITIES:
            section.visibility = word
        elif word == "module_function":
            section.static = True
        else:
            return
        self._reader.captures.setdefault("skip", []).append(node)

    def _variable(self, node: Node, section: _Section) -> None:
        """Declare a class's own instance and class variables."""
        left = node.child_by_field_name("left")
        if section.draft is None or left is None:
            return
        if left.type in ("instance_variable", "class_variable"):
            draft = Draft("field", self._reader.text(left), node.start_byte, node.end_byte)
            draft.modifiers = ("static",)
            finish(self._reader, draft, node.start_byte, node.end_byte)
            draft.visibility = "private"
        elif left.type == "constant":
            found = next((d for d in self._reader.drafts if d.start == node.start_byte), None)
            if found is not None:
                section.members.append(found)

    def _alias(self, node: Node, section: _Section, names: list[Node]) -> None:
        """Declare the new name that `alias` or `alias_method` gives a method."""
        if not names or names[0].type == "global_variable":
            return
        name = symbol_name(self._reader, names[0])
        draft = Draft("function", name, node.start_byte, node.end_byte)
        draft.name_start = names[0].start_byte
        finish(self._reader, draft, node.start_byte, node.end_byte)
        draft.visibility = section.visibility
        draft.scopeless = True

    def _call(self, node: Node, section: _Section) -> None:
        reader = self._reader
        method = node.child_by_field_name("method")
        if method is None:
            return
        word = reader.text(method)
        receiver = node.child_by_field_name("receiver")
        if receiver is not None:
            if word in _EVALUATED and receiver.type == "constant":
                self._block(node, _Section(section.draft, owner=reader.text(receiver)))
            return
        arguments = parts(node.child_by_field_name("arguments"))
        if word == "sig":
            section.signature = node
        elif word in _VISIBILITIES or word in _HIDING or word == "module_function":
            self._change(word, arguments, section)
        elif word in _ACCESSORS:
            self._accessors(node, arguments, section)
        elif word in _MIXINS or word == "using":
            self._mixins(word, node, arguments, section)
        elif word in ("define_method", "define_singleton_method"):
            self._defined(node, arguments, section)
        elif word == "alias_method":
            self._alias(node, section, arguments)
        elif word == "refine" and arguments:
            self._block(node, _Section(section.draft, prefix=reader.text(arguments[0])))
        elif word in _CONCERNS:
            self._block(node, _Section(section.draft, static=word == "class_methods"))

    def _block(self, call: Node, section: _Section) -> None:
        block = call.child_by_field_name("block")
        body = block.child_by_field_name("body") if block is not None else None
        if body is not None:
            self._body(body, section)

    def _change(self, word: str, arguments: list[Node], section: _Section) -> None:
        """Change the visibility of the methods that arguments define or name."""
        visibility = _HIDING.get(word, word)
        static = section.static or word == "module_function"
        inner = _Section(section.draft, static, visibility=visibility)
        if visibility not in _VISIBILITIES:
            inner.visibility = section.visibility
        inner.signature, section.signature = section.signature, None
        for node in arguments:
            if node.type in ("method", "singleton_method"):
                self._member(node, inner)
                if node.type == "singleton_method" and word in _HIDING and inner.members:
                    inner.members[-1].visibility = visibility
            elif node.type == "call":
                self._call(node, inner)
        names = {
            symbol_name(self._reader, node)
            for argument in arguments
            for node in ([argument] if argument.type != "array" else argument.named_children)
            if node.type in ("simple_symbol", "string")
        }
        for draft in section.members if names else ():
            if draft.name not in names:
                continue
            if word == "module_function":
                draft.modifiers = ("static",)
            elif ("static" in draft.modifiers) == (word in _HIDING) or draft.kind == "constant":
                draft.visibility = visibility
        section.members += inner.members

    def _accessors(self, call: Node, arguments: list[Node], section: _Section) -> None:
        reader = self._reader
        doc = reader.doc_before(call.start_byte)
        signature, section.signature = section.signature, None
        for node in arguments:
            if node.type not in ("simple_symbol", "string"):
                continue
            draft = symbol(self._reader, "property", node)
            draft.signature = f"{reader.field_text(call, 'method')} :{draft.name}"
            draft.doc = doc
            draft.visibility = section.visibility
            if section.static:
                draft.modifiers = ("static",)
            if signature is not None:
                found = _SORBET_RETURNS.search(reader.text(signature))
                draft.returns = found[1] if found else ""
            elif found := YARD_RETURN.search(doc):
                draft.returns = found[1]
            section.members.append(draft)

    def _mixins(self, word: str, call: Node, arguments: list[Node], section: _Section) -> None:
        """Record modules mixed in; they are bases too."""
        reader = self._reader
        for node in arguments:
            if node.type not in ("constant", "scope_resolution"):
                continue
            module = reader.text(node)
            kind = "using" if word == "using" else "include"
            reader.imports.append(ImportDraft(module, "", "", call.start_byte, kind))
            if section.draft is not None and word != "using":
                section.draft.bases.append(module)
                last = node.child_by_field_name("name") or node
                reader.mark(last.start_byte, "base")

    def _defined(self, call: Node, arguments: list[Node], section: _Section) -> None:
        """Declare the method that `define_method` with a literal name makes."""
        if not arguments or arguments[0].type not in ("simple_symbol", "string"):
            return
        reader = self._reader
        name = symbol_name(reader, arguments[0])
        if "#{" in name:
            return
        draft = Draft("method", name, call.start_byte, call.end_byte)
        block = call.child_by_field_name("block")
        parameters = block.child_by_field_name("parameters") if block is not None else None
        finish(self._reader, draft, call.start_byte, arguments[-1].end_byte)
        draft.signature = f"{reader.field_text(call, 'method')} :{name}"
        draft.visibility = section.visibility
        take_parameters(self._reader, draft, parameters)
        if section.static or reader.field_text(call, "method") != "define_method":
            draft.modifiers = ("static",)
        section.members.append(draft)
