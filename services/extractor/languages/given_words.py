"""How do C#, C++, Kotlin, Scala and Swift write arguments whose type can be told?"""

from __future__ import annotations

from services.extractor.languages.given import Words


def _csharp_integer(text: str) -> str:
    ending = text.lower().lstrip("0123456789_xabcdef")
    return {"l": ":long", "u": ":uint", "ul": ":ulong", "lu": ":ulong"}.get(ending, ":int")


def _csharp_real(text: str) -> str:
    return {"f": ":float", "m": ":decimal"}.get(text[-1].lower(), ":double")


def _csharp_number(text: str) -> str:
    real = "." in text or (text[-1] in "fFmMdD" and text[:2].lower() != "0x")
    return _csharp_real(text) if real else _csharp_integer(text.lstrip("-"))


def _cpp_number(text: str) -> str:
    plain = text.lower().replace("'", "").lstrip("-+")
    if plain.startswith(("0x", "0b")):
        return ":int" if plain[-1] not in "ul" else ":long"
    if "." in plain or "e" in plain:
        return ":float" if plain.endswith("f") else ":double"
    ending = plain.lstrip("0123456789")
    return {"u": ":unsigned", "l": ":long", "ll": ":longlong", "": ":int"}.get(ending, ":long")


def _cpp_text(text: str) -> str:
    return ":wchar_t*" if text[:1] == "L" else ":char*"


def _jvm_integer(text: str) -> str:
    return ":Long" if text[-1] in "lL" else ":Int"


def _jvm_real(text: str) -> str:
    return ":Float" if text[-1] in "fF" else ":Double"


def _jvm_number(text: str) -> str:
    real = "." in text or (text[-1] in "fF" and text[:2].lower() != "0x")
    return _jvm_real(text) if real else _jvm_integer(text)


CSHARP = Words(
    literals={
        "string_literal": ":string", "verbatim_string_literal": ":string",
        "raw_string_literal": ":string", "interpolated_string_expression": ":string",
        "character_literal": ":char", "boolean_literal": ":bool", "null_literal": ":null",
        "lambda_expression": ":->", "anonymous_method_expression": ":->",
        "typeof_expression": ":Type", "is_expression": ":bool", "is_pattern_expression": ":bool",
    },
    numbers={"integer_literal": _csharp_integer, "real_literal": _csharp_real},
    names=frozenset({"identifier", "member_access_expression", "invocation_expression", "this"}),
    casts={"cast_expression": "type", "as_expression": "right", "object_creation_expression": "type"},
    wrappers=frozenset({"argument", "parenthesized_expression", "prefix_unary_expression"}),
    binary=frozenset({"binary_expression"}),
    truth=":bool",
    text=":string",
    labels=True,
    words={"true": ":bool", "false": ":bool", "null": ":null", "default": ""},
    number=_csharp_number,
    text_literal=":string",
)  # fmt: skip
CPP = Words(
    literals={
        "char_literal": ":char", "true": ":bool", "false": ":bool", "null": ":null",
        "lambda_expression": ":->",
    },
    numbers={
        "number_literal": _cpp_number, "string_literal": _cpp_text,
        "raw_string_literal": _cpp_text, "concatenated_string": _cpp_text,
    },
    names=frozenset({
        "identifier", "field_expression", "call_expression", "this", "pointer_expression",
        "subscript_expression",
    }),
    casts={
        "cast_expression": "type", "compound_literal_expression": "type", "new_expression": "type*",
    },
    wrappers=frozenset({"parenthesized_expression"}),
    binary=frozenset({"binary_expression"}),
    truth=":bool",
    text=":string",
    macros=True,
    words={"true": ":bool", "false": ":bool", "nullptr": ":null", "NULL": ":null"},
    number=_cpp_number,
    text_literal=":char*",
)  # fmt: skip
KOTLIN = Words(
    literals={
        "string_literal": ":String", "multiline_string_literal": ":String",
        "character_literal": ":Char", "boolean_literal": ":Boolean", "null_literal": ":null",
        "lambda_literal": ":->", "anonymous_function": ":->", "callable_reference": ":->",
        "long_literal": ":Long", "unsigned_literal": ":UInt", "equality_expression": ":Boolean",
        "comparison_expression": ":Boolean", "conjunction_expression": ":Boolean",
        "disjunction_expression": ":Boolean", "check_expression": ":Boolean",
    },
    numbers={
        "integer_literal": _jvm_integer, "hex_literal": _jvm_integer, "real_literal": _jvm_real,
    },
    names=frozenset({
        "simple_identifier", "navigation_expression", "call_expression", "this_expression",
    }),
    casts={"as_expression": ""},
    wrappers=frozenset({"value_argument", "parenthesized_expression"}),
    binary=frozenset({"additive_expression", "multiplicative_expression", "elvis_expression"}),
    truth=":Boolean",
    text=":String",
    labels=True,
    words={"true": ":Boolean", "false": ":Boolean", "null": ":null"},
    number=_jvm_number,
    text_literal=":String",
)  # fmt: skip
SCALA = Words(
    literals={
        "string": ":String", "interpolated_string_expression": ":String",
        "character_literal": ":Char", "boolean_literal": ":Boolean", "null_literal": ":null",
        "lambda_expression": ":->",
    },
    numbers={"integer_literal": _jvm_integer, "floating_point_literal": _jvm_real},
    names=frozenset({"identifier", "field_expression", "call_expression"}),
    casts={"instance_expression": ""},
    wrappers=frozenset({"parenthesized_expression"}),
    binary=frozenset({"infix_expression"}),
    truth=":Boolean",
    text=":String",
    labels=True,
    words={"true": ":Boolean", "false": ":Boolean", "null": ":null"},
    number=_jvm_number,
    text_literal=":String",
)  # fmt: skip
SWIFT = Words(
    literals={
        "line_string_literal": ":String", "multi_line_string_literal": ":String",
        "boolean_literal": ":Bool", "lambda_literal": ":->", "comparison_expression": ":Bool",
        "equality_expression": ":Bool", "conjunction_expression": ":Bool",
        "disjunction_expression": ":Bool",
    },
    numbers={"integer_literal": lambda _: ":Int", "real_literal": lambda _: ":Double"},
    names=frozenset({
        "simple_identifier", "navigation_expression", "call_expression", "self_expression",
    }),
    casts={"as_expression": "name"},
    wrappers=frozenset({"value_argument", "tuple_expression"}),
    binary=frozenset({"additive_expression", "multiplicative_expression", "nil_coalescing_expression"}),
    truth=":Bool",
    text=":String",
    words={"true": ":Bool", "false": ":Bool", "nil": ":null"},
    number=lambda text: ":Double" if "." in text else ":Int",
    text_literal=":String",
)  # fmt: skip
