"""What does the code around a lambda tell of its parameters, in Java and C#?

A lambda that is an argument is bound by the function it is given to (`orders.forEach@0.0`), any
other by the type that is declared where it goes.
"""

from __future__ import annotations

import re
from collections import defaultdict

from tree_sitter import Node

from services.extractor.languages.selections import expression
from services.extractor.reader import BindingDraft, Reader

_KEEPING = """stream parallelStream filter sorted distinct limit skip peek takeWhile dropWhile Where
    OrderBy OrderByDescending ThenBy ThenByDescending Take Skip TakeWhile SkipWhile Distinct
    DistinctBy Reverse AsEnumerable AsQueryable AsNoTracking Include ToList ToArray"""
_FURTHER = """map mapToInt mapToLong mapToDouble flatMap forEach anyMatch allMatch noneMatch ifPresent
    removeIf Select SelectMany Any All Count Sum Min Max Average MinBy MaxBy First FirstOrDefault
    Last LastOrDefault Single SingleOrDefault Find FindAll Exists ForEach GroupBy ToDictionary"""
_HANDING = frozenset([*_KEEPING.split(), *_FURTHER.split()])
_SAME_ELEMENTS = re.compile(rf"\??\.(?:{'|'.join(_KEEPING.split())})\(\)")
_WRAPPERS = frozenset({"parenthesized_expression", "argument"})
_LAMBDAS = frozenset({"lambda_expression", "anonymous_method_expression"})
_CALLABLE = frozenset({"method_declaration", "local_function_statement", "property_declaration"})
_NAMED = frozenset({"parameter", "formal_parameter"})


def read_lambdas(reader: Reader) -> None:
    """Bind the parameters of all lambdas.

    Of several of one name in one line, what is bound to which cannot be told: they are bound when
    all are the elements of one collection, `all.Where(x => x.Big).Select(x => x.Name)`.
    """
    found: dict[tuple[int, str], list[BindingDraft]] = defaultdict(list)
    for node in reader.nodes("lambda"):
        parameters = _parameters(node)
        expected = _expected(reader, node) if parameters else None
        for place, name in enumerate(parameters):
            declared = name.child_by_field_name("type")
            inner = name.child_by_field_name("name") or name
            text = reader.text(inner)
            if declared is not None and reader.text(declared) != "var":
                told, origin = reader.type_text(declared), "annotation"
            elif expected is not None:
                told, origin = f"{expected[0]}{place}", expected[1]
            else:
                continue
            found[inner.start_point[0], text].append(
                BindingDraft(text, told, origin, inner.start_byte)
            )
    for drafts in found.values():
        if len({_holder(draft.type_name) for draft in drafts}) == 1:
            for draft in drafts:
                draft.type_name = drafts[0].type_name
            reader.bindings += drafts
            reader.of_lambdas.update([draft.start for draft in drafts])


def _holder(told: str) -> str:
    """Return what holds the elements that a library's method hands on, or else all that is told."""
    method, _, place = told.rpartition("@")
    holder, _, name = method.rpartition(".")
    if place != "0.0" or name not in _HANDING:
        return told
    return _SAME_ELEMENTS.sub("", holder)


def _parameters(node: Node) -> list[Node]:
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return []
    if listed.type in ("identifier", "implicit_parameter"):
        return [listed]
    return [child for child in listed.named_children if child.type in _NAMED | {"identifier"}]


def _expected(reader: Reader, node: Node) -> tuple[str, str] | None:
    """Return what tells of a lambda, up to the number of the parameter, and as which origin."""
    parent, inner = node.parent, node
    while parent is not None and parent.type in _WRAPPERS:
        if parent.child_by_field_name("name") is not None:
            return None  # given by its parameter's name, so that its place tells nothing
        inner, parent = parent, parent.parent
    if parent is None:
        return None
    if parent.type == "argument_list":
        return _of_call(reader, parent, inner)
    if parent.type == "variable_declarator":
        holder = parent.parent
        declared = holder.child_by_field_name("type") if holder is not None else None
        return _of_type(reader, declared)
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        return (f"{_short(reader, left)}@.", "callback") if left is not None else None
    if parent.type in ("return_statement", "arrow_expression_clause"):
        return _of_type(reader, _returned(parent))
    return None


def _of_call(reader: Reader, arguments: Node, inner: Node) -> tuple[str, str] | None:
    call = arguments.parent
    if call is None or call.type not in ("method_invocation", "invocation_expression"):
        return None
    called = call.child_by_field_name("function") or call.child_by_field_name("name")
    if called is None:
        return None
    name = called.child_by_field_name("name") or called
    end = name.named_children[0].end_byte if name.type == "generic_name" else called.end_byte
    text = reader.data[call.start_byte : end].strip()
    given = [child for child in arguments.named_children if not child.type.endswith("comment")]
    place = next((at for at, child in enumerate(given) if child.start_byte == inner.start_byte), -1)
    if place < 0:
        return None
    return f"{expression(text)}@{place}.", "callback"


def _short(reader: Reader, node: Node) -> str:
    return expression(reader.data[node.start_byte : node.end_byte])


def _of_type(reader: Reader, declared: Node | None) -> tuple[str, str] | None:
    text = reader.type_text(declared)
    return (f"{text}@", "context") if text and text != "var" else None


def _returned(node: Node) -> Node | None:
    """Return the declared type of what the function around a return statement gives."""
    around = node.parent
    while around is not None and around.type not in _CALLABLE:
        if around.type in _LAMBDAS or around.type.endswith("constructor_declaration"):
            return None
        around = around.parent
    if around is None:
        return None
    return around.child_by_field_name("returns") or around.child_by_field_name("type")
