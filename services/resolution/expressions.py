"""How is an expression written as text taken apart: `self.client.get()[0]`, `Map<string, Order>`?

A chain is a root and the steps from it. An expression whose root is an instance of a written type
carries that type between TYPE_OPEN and TYPE_CLOSE in place of a name.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_OPEN, TYPE_CLOSE = "\x01", "\x02"
# Steps that are no names: called, indexed, iterated over, the keys of that; "(1)" is the second of
# the results of a call.
CALL, INDEX, EACH, KEY = "()", "[]", "[*]", "[#]"
ARROW = "->"  # what a smart pointer points to, where its own member might be meant as well

_ROOT = re.compile(
    r"(?:await |new |\(|\*|&|!|not )*"
    r"(?:\x01([^\x02]*)\x02|(@{0,2}[A-Za-z_$][\w$]*(?:[!?](?![.\w$!?]))?)|(\\+)|(['\"`].*))",
    re.DOTALL,
)
_STEP = re.compile(
    r"(\(\d?\)|\{\}|\[[*#]\]|->(?=\.|\Z))|(\[[^\]]*\]|@<[^;]*>;|@\*[^;]*;|@\d*\.\d+(?:[<=][^;]*;)?)|(<[^<>()]*>(?=\())|(?:!?\??\.|->|::|\?->|\\|\?\.)\s*"
    r"([A-Za-z_$#@~][\w$#]*[!?=]?)|(\)|!|\?| as \w+)"
)

# A cast's type before its operand; other ways to cast; an object that is made without arguments.
_CAST = re.compile(r"[A-Za-z_$\\][\w$.:\\]*(?:<[\w$.:<>,?&\[\] ]*>)?(?:\[\]|[*&?])*")
_WRITTEN_CAST = re.compile(
    r"<([A-Za-z_$][^<>()]*(?:<[^()]*>)?)>(?!\()[\w$].*|.*[\w$)\]!]\s+as(?:[?!]\s*|\s+)([A-Za-z_$][^()=]*)"
)
_NAMED_CAST = re.compile(
    r"(?:(?:std::)?(?:\w+_cast|make_unique|make_shared)|std::get)<([^()]+)>\(\)|[^()\s]+(?:\(\)[^()\s]*)*\.asInstanceOf\[([^\[\]]+(?:\[[^\[\]]*\])?)\]"
)
_MADE = re.compile(r"new(?: |(?=\\))[A-Za-z_$\\][\w$.\\]*(?:<[^()]*>)?")
_PASSED_ON = re.compile(r"[$\w]+:?=(?![=>])\s*|clone(?=[\s$(])\s*")
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)(<(?:[\w.,?\[\] ]|<[\w.,?\[\] ]*>)*>)(?=\()")
_ARGUMENTS_FIRST = re.compile(r"\.(<(?:[\w.,?\[\] ]|<[\w.,?\[\] ]*>)*>)(\w+)(?=\()")  # Java's
_EITHER = re.compile(r"\?\?|\|\||\?:| or (?=\S)")

Chain = tuple[str, ...]


def annotated(type_text: str) -> str:
    """Return a root that is an instance of a written type."""
    return f"{TYPE_OPEN}{type_text}{TYPE_CLOSE}"


def is_called(steps: Chain, at: int) -> bool:
    """Is what stands before a step called, or given a function as an argument?"""
    step = steps[at] if at < len(steps) else ""
    return step == CALL or (step[:1] == "@" and step[1:2] not in ("", "."))


def with_type_arguments(text: str) -> str:
    """Write an expression so that its chain keeps the type arguments of its calls, as `@<T>;`."""
    if "<" not in text:
        return text
    return _TYPE_ARGUMENTS.sub(r"@\1;", _ARGUMENTS_FIRST.sub(r".\2\1", text))


@lru_cache(maxsize=65_536)
def chain_of(text: str) -> Chain | None:
    """Return the root and steps of an expression; None when it is anything else.

    A root of a written type keeps TYPE_OPEN in front; a literal's root is its quote.
    """
    if text[:1] == "(":
        return _grouped(text)
    if "_cast<" in text or "make_" in text or ".asInstanceOf[" in text:
        cast = _NAMED_CAST.match(text)
        if cast is not None:
            return _rest(text, cast.end(), [TYPE_OPEN + (cast[1] or cast[2])])
    if text[:2] == "::" or text[:8] == "global::":
        return _rest(text, text.index("::"), ["\\"]) if text != "::" else ("\\",)
    found = _ROOT.match(text)
    if found is None:
        return None
    if found[1] is not None:
        steps = [TYPE_OPEN + found[1]]
    elif found[3] is not None:
        steps = ["\\"]
        found = re.compile(r"\\").match(text)
        if len(text) == 1 or found is None:
            return ("\\",)
        return _rest(text, 0, steps)
    else:
        if found[4] is not None:
            return ('"',)
        steps = [found[2]]
    at = found.end()
    if text[at : at + 1] == "<":  # generic arguments of the root
        close = text.rfind(">")
        at = close + 1 if close > at else at
    return _rest(text, at, steps)


def _closing(text: str) -> int:
    """Return where the bracket closes that a text opens with, -1 when it does not."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return at
    return -1


def _grouped(text: str) -> Chain | None:
    """Take apart what begins with brackets: `(new A).b()`, `((A) o).b`, `(a as A).b`, `(a ?? c).b`."""
    close = _closing(text)
    if close < 0:
        return None
    inner, rest = text[1:close].strip(), text[close + 1 :]
    if rest[:1].isalnum() or rest[:1] in ("_", "$", '"', "'"):
        return (TYPE_OPEN + inner,) if _CAST.fullmatch(inner) else None
    root = _inside(inner)
    if root is not None and inner[0] == "*":
        root = (*root, ARROW)
    return None if root is None else _rest(rest, 0, list(root))


def _inside(inner: str) -> Chain | None:
    """Return the chain of an expression in brackets; of two that stand in for each other, the first."""
    if _MADE.fullmatch(inner) is not None:
        inner += "()"
    if inner[-1:] == "!":
        inner = inner.rstrip("!")
    if inner[:4] == "new\\":
        inner = inner[3:]
    cast = _WRITTEN_CAST.fullmatch(inner)
    if cast is not None:
        return (TYPE_OPEN + (cast[1] or cast[2]).strip(),)
    depth = 0
    for at, char in enumerate(inner):
        depth += (char in "([{") - (char in ")]}")
        either = _EITHER.match(inner, at) if depth == 0 else None
        if either is not None:
            return chain_of(inner[:at].strip())
    passed_on = _PASSED_ON.match(inner)
    return chain_of(inner[passed_on.end() :] if passed_on is not None else inner)


def _rest(text: str, at: int, steps: list[str]) -> Chain | None:
    size = len(text)
    while at < size:
        step = _STEP.match(text, at)
        if step is None:
            return None
        if step[1] is not None:
            if step[1] != "{}":
                steps.append(step[1])
        elif step[2] is not None:
            steps.append(step[2] if step[2][0] == "@" else INDEX)
        elif step[4] is not None:
            steps.append(step[4])
        at = step.end()
    return tuple(steps)


_TOKEN = re.compile(
    r"'[^']*'|\"[^\"]*\"|\.\.\.|<-|[A-Za-z_$\\][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*|=>|->|[^\s]"
)
_PREFIXES = frozenset(
    [
        "const",
        "mut",
        "dyn",
        "impl",
        "readonly",
        "struct",
        "enum",
        "class",
        "union",
        "ref",
        "out",
        "in",
        "params",
        "final",
        "unsigned",
        "signed",
        "volatile",
        "static",
        "extern",
        "typename",
        "scoped",
        "unique",
        "asserts",
        "inout",
        "var",
        "val",
        "extends",
        "super",
        "&",
        "*",
        "?",
        "...",
        "<-",
        "!",
        "^",
    ]
)
_SKIP = frozenset({"&", "*", "?", "!", "...", "const"})
_UNTOLD = frozenset({"keyof", "typeof", "infer", "unknown", "fn", "func", "fun", "interface"})
_ENDS = frozenset({"", ",", ";", "]", ")", "}"})
_CLOSERS = {"<": ">", "[": "]", "(": ")"}

Node = tuple[str, tuple["Node | None", ...]]  # a name and its arguments; "|" for a union
UNION, LIST, TUPLE, HELD = "|", "[]", "()", "@"  # HELD: what a type's member of some name is
FUNCTION, STRUCT = "func", "struct"  # of Go: a type that is written out
_KEYED = re.compile(r"\[([\"'])(\w+)\1\]")  # `T["name"]`, in languages that have it


def type_text_of(text: str) -> str:
    """Write a type of TypeScript so that `type_of` knows its members and its functions."""
    return _KEYED.sub(r"@\2 ", text) if "[" in text else text


@lru_cache(maxsize=65_536)
def type_of(text: str) -> Node | None:
    """Return the tree of a written type; None when it names none (a function, an object type)."""
    text = text.strip()
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 2:
        text = text[1:-1]
    if "'" in text and text.lstrip("&")[:1] == "'":
        text = re.sub(r"'\w+\b(?!')", "", text)
    return _Types(_TOKEN.findall(re.sub(r"&'\w+ ", "&", text))).union()


class _Types:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def union(self) -> Node | None:
        parts = [self.one()]
        if self.peek() == "extends":
            return self.conditional()
        while self.peek() in ("|", "&") and self.at < len(self.tokens):
            self.at += 1
            parts.append(self.one())
        known = tuple(part for part in parts if part is not None)
        if len(parts) == 1:
            return parts[0]
        return (UNION, known) if known else None

    def conditional(self) -> Node | None:
        """`T extends U ? A : B` is an A or a B."""
        depth = 0
        while self.at < len(self.tokens) and (depth or self.peek() != "?"):
            depth += (self.peek() in "<[({") - (self.peek() in ">])}")
            self.at += 1
        self.at += 1
        one = self.union()
        self.at += self.peek() == ":"
        other = self.union()
        known = tuple(part for part in (one, other) if part is not None)
        return (UNION, known) if known else None

    def one(self) -> Node | None:
        while self.peek() in _PREFIXES and self.at < len(self.tokens):
            self.at += 1
        word = self.peek()
        if not word:
            return None
        if word in ("[", "(", "{"):
            return self.opened(word)
        if not (word[0].isalpha() or word[0] in "_$\\\"'"):
            self.skip()
            return None
        self.at += 1
        if word[0] in "\"'":
            inner = word[1:-1]
            return type_of(inner) if inner.replace(".", "").replace("_", "").isalnum() else None
        if word == FUNCTION and self.peek() == "(":
            return self.function()
        if word in _UNTOLD:
            self.skip()
            return None
        return self.suffixed((word, self.arguments(word)))

    def opened(self, bracket: str) -> Node | None:
        if bracket == "{":
            return self.braced()
        return self.bracketed() if bracket == "[" else self.parenthesised()

    def braced(self) -> Node | None:
        """A struct of Go or a mapped type of TypeScript; of other objects nothing is told."""
        if self.tokens[self.at - 1 : self.at] == [STRUCT]:
            return self.fields()
        if "keyof" in self.tokens[self.at + 3 : self.at + 6]:
            return self.mapped()
        self.skip()
        return None

    def function(self) -> Node:
        """`func(a A) B`: its argument is what it gives."""
        self.items("(")
        return (FUNCTION, (None if self.peek() in _ENDS else self.one(),))

    def mapped(self) -> Node | None:
        """`{ [K in keyof T]: ... }` has the members of T."""
        name = self.tokens[self.tokens.index("keyof", self.at) + 1 :][:1]
        self.skip()
        return self.suffixed((name[0], ())) if name and name[0][0].isalpha() else None

    def fields(self) -> Node | None:
        """`struct{a A;b B}`: its arguments are the fields' names and types by turns."""
        found: list[Node | None] = []
        while self.peek() not in ("", "}"):
            self.at += 1  # a bracket or semicolon
            if self.peek() not in ("", "}"):
                found.append((self.peek(), ()))
                self.at += 1
                found.append(self.one())
        self.at += 1
        return (STRUCT, tuple(found))

    def bracketed(self) -> Node | None:
        """`[]T`, `[4]T`, or a tuple `[A, B]`."""
        items = self.items("[")
        following = self.peek()
        if following and (following[0].isalpha() or following[0] in "_*[("):
            return (LIST, (self.one(),))
        return self.suffixed((TUPLE, items))

    def parenthesised(self) -> Node | None:
        items = self.items("(")
        if self.peek() in ("=>", "->"):
            self.skip()
            return None
        if len(items) == 1 and items[0] is not None:
            return self.suffixed(items[0])
        return (TUPLE, items)

    def arguments(self, name: str) -> tuple[Node | None, ...]:
        word = self.peek()
        if name == "chan":
            return (self.one(),)
        if word == "<" or (word == "[" and self.following() != "]"):
            items = self.items(word)
            if name == "map" and word == "[":
                return (*items, self.one())
            return items
        return ()

    def following(self) -> str:
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""

    def items(self, opener: str) -> tuple[Node | None, ...]:
        self.at += 1
        closer = _CLOSERS[opener]
        found: list[Node | None] = []
        while self.at < len(self.tokens) and self.peek() != closer:
            before = self.at
            found.append(self.union())
            while self.at < len(self.tokens) and self.peek() not in (",", closer):
                self.skip() if self.peek() in _CLOSERS else self.step()
            if self.peek() == ",":
                self.at += 1
            if self.at == before:
                self.at += 1
        self.at += 1
        return tuple(found)

    def step(self) -> None:
        self.at += 1

    def skip(self) -> None:
        """Pass over what is no type, its brackets included, up to a separator."""
        depth = 0
        while self.at < len(self.tokens):
            word = self.peek()
            if depth == 0 and word in (",", ">", "]", ")", "|"):
                return
            if word in ("<", "[", "(", "{"):
                depth += 1
            elif word in (">", "]", ")", "}"):
                depth -= 1
            self.at += 1

    def suffixed(self, node: Node) -> Node:
        while self.at < len(self.tokens):
            word = self.peek()
            if word == "[" and self.following() == "]":
                self.at += 2
                node = (LIST, (node,))
            elif word == "@" and self.following():
                node = (HELD, (node, (self.following(), ())))
                self.at += 2
            elif word in _SKIP and not (word == "&" and self.following()):
                self.at += 1
            else:
                break
        return node
