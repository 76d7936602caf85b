"""Rust: which type does an `impl` block add members to, and for which trait?"""

from __future__ import annotations

from typing import NamedTuple

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.nodes import parts
from services.extractor.reader import TYPE_KINDS, Draft, Reader

_MEMBERS = ("function_item", "const_item", "type_item")
_NAMES = frozenset({"identifier", "type_identifier"})


class Impl(NamedTuple):
    """What an `impl` says about its members."""

    owner: str  # simple name of the type; "" for a tuple or a slice
    subject: str  # the type as written, without generic arguments
    trait: tuple[int, int] | None  # region of the trait's name


def read_impls(reader: Reader) -> dict[int, Impl]:
    """Map where each member of an impl starts to its impl, and give types their traits as bases."""
    found: dict[int, Impl] = {}
    types: dict[str, Draft] = {}
    for draft in reader.drafts:
        if draft.kind in TYPE_KINDS:
            types.setdefault(draft.name, draft)
    for node in reader.nodes("impl"):
        subject, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
        if subject is None:
            continue
        named = _named(subject)
        owner = "" if named is None else reader.text(named).rpartition("::")[2]
        span = None
        if trait is not None:
            span = (_named(trait) or trait).byte_range
            shape.mark_last(reader, trait, "base", _NAMES)
            base = reader.line(*span)
            if owner in types and base not in types[owner].bases:
                types[owner].bases.append(base)
        written = reader.text(named) if named is not None else reader.type_text(subject)
        impl = Impl(owner, written, span)
        for member in parts(node.child_by_field_name("body"), *_MEMBERS):
            found[member.start_byte] = impl
    return found


def _named(node: Node) -> Node | None:
    """Return the named type in `&'a mut dyn path::Name<T>`, None when there is none."""
    found: Node | None = node
    while found is not None and found.type in (
        "reference_type", "generic_type", "dynamic_type", "pointer_type"
    ):  # fmt: skip
        found = found.child_by_field_name("type") or found.child_by_field_name("trait")
    if found is None or not found.type.endswith(("identifier", "primitive_type")):
        return None
    return found
