"""What do languages say of types without a declaration: numbers, texts, what every type is?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_NUMBERS = ("byte", "short", "int", "long", "float", "double")
_BOXES = {
    "byte": "Byte", "short": "Short", "int": "Integer", "long": "Long", "float": "Float",
    "double": "Double", "char": "Character", "boolean": "Boolean",
}  # fmt: skip
_ABOVE = {
    "String": frozenset({"CharSequence", "Comparable", "Serializable"}),
    "StringBuilder": frozenset({"CharSequence", "Appendable", "Comparable", "Serializable"}),
    "StringBuffer": frozenset({"CharSequence", "Appendable", "Comparable", "Serializable"}),
    "Class": frozenset({"Type", "Serializable", "AnnotatedElement", "GenericDeclaration"}),
    "Boolean": frozenset({"Comparable", "Serializable"}),
    "Character": frozenset({"Comparable", "Serializable"}),
    "Date": frozenset({"Comparable", "Serializable", "Cloneable"}),
    "Calendar": frozenset({"Comparable", "Serializable", "Cloneable"}),
    "Locale": frozenset({"Serializable", "Cloneable"}),
    "BitSet": frozenset({"Serializable", "Cloneable"}),
    "Method": frozenset({"Member", "Executable", "AnnotatedElement", "AccessibleObject"}),
    "Object": frozenset(),
    **{
        box: frozenset({"Number", "Comparable", "Serializable"})
        for box in ("Byte", "Short", "Integer", "Long", "Float", "Double")
    },
}  # fmt: skip


class Rules(NamedTuple):
    """One language's."""

    numbers: tuple[str, ...]  # each fits those behind it
    boxes: dict[str, str]  # a type that is no object -> the type of objects that hold one
    above: dict[str, frozenset[str]]  # types of the library, and what they are as well
    roots: frozenset[str]  # what everything is
    letters: str  # the type of a single character, which is a number from `wide` on
    wide: int
    texts: frozenset[str]  # types of texts, and others that no function is
    same: dict[str, str]  # other names of a type
    converts: bool = False  # any number fits any other, and texts are made of what C calls one
    bare: bool = False  # a type's name is called to make one


JAVA = Rules(
    _NUMBERS, _BOXES, _ABOVE, frozenset({"Object"}), "char", 2, frozenset({"String", "Class"}), {}
)
_VALUE = frozenset({"IComparable", "IConvertible", "IFormattable", "IEquatable", "ValueType"})
_CSHARP_PLAIN = (
    "sbyte", "byte", "short", "ushort", "int", "uint", "long", "ulong", "nint", "decimal", "float",
    "double", "char", "bool",
)  # fmt: skip
CSHARP = Rules(
    _CSHARP_PLAIN[:-2],
    dict.fromkeys(_CSHARP_PLAIN, "ValueType"),
    {
        "string": frozenset({"IEnumerable", "IComparable", "ICloneable", "IEquatable"}),
        "object": frozenset(), "ValueType": _VALUE, "Type": frozenset({"MemberInfo"}),
        "List": frozenset({"IList", "ICollection", "IEnumerable", "IReadOnlyList", "IReadOnlyCollection"}),
        "Dictionary": frozenset({"IDictionary", "ICollection", "IEnumerable", "IReadOnlyDictionary"}),
        "Exception": frozenset(),
    },
    frozenset({"object", "dynamic"}), "char", 3, frozenset({"string", "Type", "object"}),
    {
        "String": "string", "Object": "object", "Int32": "int", "Int64": "long", "Int16": "short",
        "Boolean": "bool", "Char": "char", "Double": "double", "Single": "float", "Byte": "byte",
        "Decimal": "decimal", "UInt32": "uint", "UInt64": "ulong", "UInt16": "ushort",
    },
)  # fmt: skip
_KOTLIN_PLAIN = ("Byte", "Short", "Int", "Long", "Float", "Double", "Char", "Boolean")
KOTLIN = Rules(
    _KOTLIN_PLAIN[:-2],
    dict.fromkeys(_KOTLIN_PLAIN, "Number"),
    {
        "String": frozenset({"CharSequence", "Comparable"}), "Any": frozenset(),
        "Number": frozenset({"Comparable", "Serializable"}),
        "List": frozenset({"Collection", "Iterable", "Seq"}),
        "MutableList": frozenset({"List", "Collection", "Iterable", "MutableCollection"}),
        "Set": frozenset({"Collection", "Iterable"}), "Map": frozenset({"Iterable"}),
    },
    frozenset({"Any", "Object", "AnyRef"}), "Char", 2, frozenset({"String", "Class", "KClass"}),
    {
        "int": "Int", "long": "Long", "short": "Short", "byte": "Byte", "float": "Float",
        "double": "Double", "boolean": "Boolean", "char": "Char", "Integer": "Int",
        "Character": "Char",
    },
    bare=True,
)  # fmt: skip
_SWIFT_PLAIN = (
    "Int8", "Int16", "Int32", "Int64", "Int", "UInt", "Float", "CGFloat", "Double", "TimeInterval",
    "Character", "Bool",
)  # fmt: skip
SWIFT = Rules(
    _SWIFT_PLAIN[:-2],
    dict.fromkeys(_SWIFT_PLAIN, "Number"),
    {"String": frozenset({"StringProtocol", "Hashable", "Comparable"}), "Any": frozenset()},
    frozenset({"Any", "AnyObject"}), "Character", 99, frozenset({"String"}), {}, bare=True,
)  # fmt: skip
_CPP_PLAIN = (
    "bool", "char", "signedchar", "unsignedchar", "wchar_t", "short", "unsignedshort", "int",
    "unsigned", "unsignedint", "long", "unsignedlong", "longlong", "unsignedlonglong", "size_t",
    "ssize_t", "ptrdiff_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
    "uint32_t", "uint64_t", "float", "double", "longdouble",
)  # fmt: skip
CPP = Rules(
    _CPP_PLAIN,
    dict.fromkeys(_CPP_PLAIN, "any"),
    {"string": frozenset(), "string_view": frozenset(), "any": frozenset()},
    frozenset(), "", 0, frozenset({"string", "string_view", "StringRef"}),
    {
        "unsigned": "unsignedint", "longint": "long", "shortint": "short",
        "unsignedlongint": "unsignedlong", "longlongint": "longlong", "basic_string": "string",
        "uint": "unsignedint",
    },
    converts=True,
)  # fmt: skip

_RULES = {
    "java": JAVA, "csharp": CSHARP, "kotlin": KOTLIN, "scala": KOTLIN, "swift": SWIFT, "cpp": CPP,
    "c": CPP,
}  # fmt: skip


def rules_of(language: str) -> Rules:
    """Return the rules by which a file's calls choose."""
    return _RULES.get(language, JAVA)


# In a symbol's id no blank is left behind these words.
_DECORATION = re.compile(
    r"const(?!_|ant|rai|ruct|exp|ell)|volatile|struct(?!ure)|(?:class|enum|typename)(?=[A-Z])"
)


@lru_cache(maxsize=16_384)
def plain(text: str, language: str = "java") -> str:
    """Return a written type without its arguments and package: `byte[]`, `Map`, `Item*`."""
    rules = rules_of(language)
    text = "".join(text.replace("final ", "").split())
    while "<" in text:
        start = text.index("<")
        depth, at = 0, start
        for at in range(start, len(text)):
            depth += (text[at] == "<") - (text[at] == ">")
            if depth == 0:
                break
        text = text[:start] + text[at + 1 :]
    if rules.converts:
        text = _of_cpp(text)
    text = text.replace("...", "[]")
    if "->" not in text and "=>" not in text:
        text = text.rpartition(".")[2]
    return rules.same.get(text, text)


def _of_cpp(text: str) -> str:
    """Leave out what makes no difference to what may be given: qualifiers and references."""
    while (word := _DECORATION.match(text)) is not None and len(text) > word.end():
        text = text[word.end() :]
    text = text.rstrip("&").removesuffix("const")
    stars = len(text) - len(text.rstrip("*"))
    return text.rstrip("*").removesuffix("const").rpartition("::")[2] + "*" * stars
