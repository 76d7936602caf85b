"""Which languages see each other's names, and by which rules does each find what a name means?"""

from __future__ import annotations

import builtins
import sys

from msgspec import Struct


class Family(Struct, frozen=True):
    """Languages that share one space of names, and their rules."""

    name: str
    filed: bool  # a file is a module of its own: a name is first of all one of its own file
    implicit_self: bool  # a bare name may be a member of the type around it
    selves: frozenset[str]  # names of the current instance
    classes: frozenset[str]  # names of the current type
    parents: frozenset[str]  # names of the instance seen as its base type
    overloads: bool = False  # one name, several callables told apart by their parameters
    awaits: frozenset[str] = frozenset()  # generic types that stand for their argument
    absolute_imports: bool = False  # what an import means depends on no more than what it names


_PYTHON_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__path__", "reveal_type"}
_ECMA_BUILTINS = frozenset(
    [
        "Array",
        "ArrayBuffer",
        "AsyncIterable",
        "AsyncIterator",
        "AsyncGenerator",
        "Atomics",
        "Awaited",
        "BigInt",
        "Boolean",
        "Buffer",
        "ConstructorParameters",
        "DataView",
        "Date",
        "Element",
        "Error",
        "EvalError",
        "Event",
        "EventTarget",
        "Exclude",
        "Extract",
        "FinalizationRegistry",
        "Float32Array",
        "Float64Array",
        "Function",
        "Generator",
        "HTMLElement",
        "Headers",
        "InstanceType",
        "Int16Array",
        "Int32Array",
        "Int8Array",
        "Intl",
        "Iterable",
        "IterableIterator",
        "Iterator",
        "JSON",
        "Map",
        "Math",
        "Node",
        "NodeJS",
        "NonNullable",
        "Number",
        "Object",
        "Omit",
        "Parameters",
        "Partial",
        "Pick",
        "Promise",
        "PromiseLike",
        "PropertyDescriptor",
        "PropertyKey",
        "Proxy",
        "RangeError",
        "Readonly",
        "ReadonlyArray",
        "ReadonlyMap",
        "ReadonlySet",
        "Record",
        "ReferenceError",
        "Reflect",
        "RegExp",
        "RegExpExecArray",
        "RegExpMatchArray",
        "Required",
        "Response",
        "ReturnType",
        "Request",
        "Set",
        "SharedArrayBuffer",
        "String",
        "Symbol",
        "SyntaxError",
        "TextDecoder",
        "TextEncoder",
        "ThisType",
        "TypeError",
        "URIError",
        "URL",
        "URLSearchParams",
        "Uint16Array",
        "Uint32Array",
        "Uint8Array",
        "Uint8ClampedArray",
        "Uppercase",
        "Lowercase",
        "Capitalize",
        "Uncapitalize",
        "WeakMap",
        "WeakRef",
        "WeakSet",
        "Window",
        "AbortController",
        "AbortSignal",
        "AggregateError",
        "Blob",
        "File",
        "FormData",
        "ReadableStream",
        "WritableStream",
        "any",
        "bigint",
        "boolean",
        "never",
        "null",
        "number",
        "object",
        "string",
        "symbol",
        "undefined",
        "unknown",
        "void",
        "this",
        "alert",
        "atob",
        "btoa",
        "clearImmediate",
        "clearInterval",
        "clearTimeout",
        "console",
        "crypto",
        "decodeURI",
        "decodeURIComponent",
        "document",
        "encodeURI",
        "encodeURIComponent",
        "escape",
        "eval",
        "fetch",
        "global",
        "globalThis",
        "isFinite",
        "isNaN",
        "localStorage",
        "location",
        "navigator",
        "parseFloat",
        "parseInt",
        "performance",
        "process",
        "queueMicrotask",
        "requestAnimationFrame",
        "cancelAnimationFrame",
        "require",
        "module",
        "exports",
        "sessionStorage",
        "setImmediate",
        "setInterval",
        "setTimeout",
        "structuredClone",
        "unescape",
        "window",
        "self",
        "Infinity",
        "NaN",
        "undefined",
        "arguments",
        "__dirname",
        "__filename",
    ]
)
_GO_BUILTINS = frozenset(
    [
        "any",
        "append",
        "bool",
        "byte",
        "cap",
        "clear",
        "close",
        "comparable",
        "complex",
        "complex128",
        "complex64",
        "copy",
        "delete",
        "error",
        "false",
        "float32",
        "float64",
        "imag",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "iota",
        "len",
        "make",
        "map",
        "max",
        "min",
        "new",
        "nil",
        "panic",
        "print",
        "println",
        "real",
        "recover",
        "rune",
        "string",
        "true",
        "uint",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
        "uintptr",
        "chan",
        "struct",
        "func",
        "interface",
    ]
)
_JAVA_BUILTINS = frozenset(
    [
        "Object",
        "String",
        "Integer",
        "Long",
        "Short",
        "Byte",
        "Double",
        "Float",
        "Boolean",
        "Character",
        "Number",
        "Math",
        "System",
        "Thread",
        "Runnable",
        "Iterable",
        "Comparable",
        "CharSequence",
        "StringBuilder",
        "StringBuffer",
        "Class",
        "ClassLoader",
        "Enum",
        "Record",
        "Override",
        "Deprecated",
        "SuppressWarnings",
        "FunctionalInterface",
        "SafeVarargs",
        "Throwable",
        "Exception",
        "RuntimeException",
        "Error",
        "IllegalArgumentException",
        "IllegalStateException",
        "NullPointerException",
        "IndexOutOfBoundsException",
        "ArrayIndexOutOfBoundsException",
        "UnsupportedOperationException",
        "ClassCastException",
        "ClassNotFoundException",
        "ArithmeticException",
        "NumberFormatException",
        "InterruptedException",
        "CloneNotSupportedException",
        "AssertionError",
        "NoSuchFieldException",
        "NoSuchMethodException",
        "ReflectiveOperationException",
        "StackOverflowError",
        "OutOfMemoryError",
        "AutoCloseable",
        "Cloneable",
        "Void",
        "Process",
        "ProcessBuilder",
        "Runtime",
        "ThreadLocal",
        "StackTraceElement",
        "Package",
        "Iterable",
        "Appendable",
        "Readable",
        "SecurityException",
        "LinkageError",
        "ThreadGroup",
        "InheritableThreadLocal",
        "StrictMath",
        "Module",
        "ModuleLayer",
    ]
)
_CSHARP_BUILTINS = frozenset(
    [
        "string",
        "int",
        "long",
        "short",
        "byte",
        "sbyte",
        "uint",
        "ulong",
        "ushort",
        "bool",
        "char",
        "decimal",
        "double",
        "float",
        "object",
        "dynamic",
        "nint",
        "nuint",
        "nameof",
        "typeof",
        "sizeof",
        "default",
        "void",
        "value",
    ]
)
_NONE: frozenset[str] = frozenset()

BUILTINS = {
    "python": _PYTHON_BUILTINS, "ecma": _ECMA_BUILTINS, "go": _GO_BUILTINS, "jvm": _JAVA_BUILTINS,
    "csharp": _CSHARP_BUILTINS,
    "php": frozenset({"array", "iterable", "list"}),  # with type arguments, in comments
}  # fmt: skip
PYTHON_LIBRARY = frozenset(sys.stdlib_module_names)

_PYTHON = Family(
    "python", True, False, frozenset({"self"}), frozenset({"cls"}), frozenset({"super"}),
    awaits=frozenset(
        {"Optional", "Annotated", "Final", "ClassVar", "Awaitable", "Coroutine", "Required"}
        | {"NotRequired", "ReadOnly", "Unpack", "TypeGuard"}
    ),
)  # fmt: skip
_ECMA = Family(
    "ecma", True, False, frozenset({"this"}), _NONE, frozenset({"super"}),
    awaits=frozenset(
        {"Promise", "PromiseLike", "Readonly", "Partial", "Required", "NonNullable", "Awaited"}
        | {"Omit", "Pick", "Extract", "Exclude", "NoInfer"}
    ),
)  # fmt: skip
_GO = Family("go", False, False, _NONE, _NONE, _NONE, absolute_imports=True)
_JVM = Family(
    "jvm", False, True, frozenset({"this"}), _NONE, frozenset({"super"}), True,
    absolute_imports=True,
)  # fmt: skip
_CSHARP = Family(
    "csharp", False, True, frozenset({"this"}), _NONE, frozenset({"base"}), True,
    frozenset({"Task", "ValueTask"}), absolute_imports=True,
)  # fmt: skip
_RUST = Family(
    "rust", False, False, frozenset({"self"}), frozenset({"Self"}), _NONE, False,
    frozenset({"Box", "Rc", "Arc", "Ref", "RefMut", "Cow", "MutexGuard", "Pin", "Option", "Result"}),
)  # fmt: skip
_PHP = Family(
    "php", False, False, frozenset({"this"}), frozenset({"self", "static"}), frozenset({"parent"}),
    absolute_imports=True,
)  # fmt: skip
_RUBY = Family("ruby", False, True, frozenset({"self"}), _NONE, frozenset({"super"}))
_C = Family(
    "c", False, True, frozenset({"this"}), _NONE, _NONE, True,
    frozenset({"unique_ptr", "shared_ptr", "weak_ptr", "optional", "reference_wrapper"}),
)  # fmt: skip
_SWIFT = Family(
    "swift", False, True, frozenset({"self"}), frozenset({"Self"}), frozenset({"super"}), True
)
_SCRIPT = Family("script", True, False, frozenset({"self"}), _NONE, _NONE)

_FAMILIES = {
    "python": _PYTHON, "javascript": _ECMA, "typescript": _ECMA, "vue": _ECMA, "svelte": _ECMA,
    "go": _GO, "java": _JVM, "kotlin": _JVM, "scala": _JVM, "csharp": _CSHARP, "rust": _RUST,
    "php": _PHP, "ruby": _RUBY, "c": _C, "cpp": _C, "swift": _SWIFT, "lua": _SCRIPT,
    "bash": _SCRIPT,
}  # fmt: skip


def family_of(language: str) -> Family | None:
    """Return the rules of a language, None for one whose names are not resolved."""
    return _FAMILIES.get(language)
