"""How many arguments does each call have, and which string literal comes first?

An argument list belongs to a name: the one captured beside it, or, for `args.direct`, the name
token right before it.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from services.extractor.names import Names
from services.extractor.reader import Reader

_MAX_ARGUMENTS = 32_767
_List = tuple[int, int, int, int]  # start, end, number of arguments, start of the called name
_measured = attrgetter("start_byte", "end_byte", "named_child_count")


class Arguments:
    """Argument lists by the start of the called name."""

    def __init__(self, reader: Reader, names: Names) -> None:
        direct = list(map(_measured, reader.unordered("args.direct")))
        direct += [(n.start_byte, n.end_byte, 1) for n in reader.unordered("args.one")]
        lists = _after_names(reader.data, names, direct)
        lists += _token_lists(reader, names)
        self.called = [name for _, _, _, name in lists]
        for callee, capture in (("callee", "args"), ("new", "new.args")):
            if capture in reader.captures:
                lists += _beside(reader, callee, capture)
        if reader.moved:
            lists = [(*entry[:3], reader.moved.get(entry[3], entry[3])) for entry in lists]
        lists.sort()
        self.literals, comments = _contained(reader, lists)  # name start -> literal's source
        self.counts = {
            name: count if count < _MAX_ARGUMENTS else _MAX_ARGUMENTS for _, _, count, name in lists
        }
        for name, number in comments.items():
            self.counts[name] -= number
        for name in reader.starts("args.none"):
            self.called.append(name)
            self.counts.setdefault(name, 0)


def _after_names(data: bytes, names: Names, spans: list[tuple[int, int, int]]) -> list[_List]:
    """Pair argument lists with the name right before each, blanks allowed between."""
    starts, ends = names.starts, names.ends
    found = []
    for start, end, count in spans:
        at = bisect_left(starts, start)
        if at:
            name = starts[at - 1]
            name_end = ends[name]
            if name_end == start or data[name_end:start].isspace():
                found.append((start, end, count, name))
    return found


def _token_lists(reader: Reader, names: Names) -> list[_List]:
    """Read macro tokens in parentheses behind a name as a call with an unknown number of arguments."""
    data = reader.data
    spans = [
        node.byte_range
        for node in reader.unordered("args.tokens")
        if data[node.start_byte : node.start_byte + 1] in (b"(", b"[", b"{")
    ]
    found = []
    for (start, end), name in zip(spans, names.before([s for s, _ in spans]), strict=True):
        between = data[names.ends[name] : start] if name >= 0 else b" "
        if between.rstrip() == b"!" or (not between and data[start : start + 1] == b"("):
            found.append((start, end, -1, name))
    return found


def _beside(reader: Reader, callee: str, capture: str) -> list[_List]:
    """Pair called names with argument lists; broken code may lack either."""
    names = sorted([node.start_byte for node in reader.unordered(callee)])
    spans = sorted(map(_measured, reader.unordered(capture)))
    if len(names) == len(spans):
        return [(*span, name) for name, span in zip(names, spans, strict=True)]
    found = []
    for span in spans:
        at = bisect_left(names, span[0]) - 1
        if at >= 0:
            found.append((*span, names[at]))
    return found


def _contained(reader: Reader, lists: list[_List]) -> tuple[dict[int, bytes], dict[int, int]]:
    """Find each list's first literal and count its comments, by the called name."""
    literals: dict[int, bytes] = {}
    comments: dict[int, int] = {}
    inner = [(*node.byte_range, True) for node in reader.unordered("string")]
    inner += [(*node.byte_range, False) for node in reader.unordered("args.comment")]
    inner.sort()
    data, elsewhere = reader.data, reader.literal_spans
    around: list[_List] = []  # open argument lists, outermost first
    at, last = 0, len(lists)
    for start, end, is_string in inner:
        while at < last and lists[at][0] <= start:  # equal where no bracket opens it
            around.append(lists[at])
            at += 1
        while around and around[-1][1] <= start:
            around.pop()
        if not around:
            continue
        name = around[-1][3]
        if not is_string:
            comments[name] = comments.get(name, 0) + 1
        elif name not in literals:
            start, end = elsewhere.get(start, (start, end))
            literals[name] = data[start:end]
    return literals, comments
