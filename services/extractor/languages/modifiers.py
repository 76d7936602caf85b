"""What do the modifiers before a Kotlin or Swift declaration say?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.nodes import parts
from services.extractor.reader import Draft, Reader

_ANNOTATIONS = frozenset({"annotation", "attribute"})


def begin(
    reader: Reader, kind: str, name: Node, node: Node, body: Node | None, default: str
) -> Draft:
    """Start a draft with its visibility (`default` when silent), modifiers and annotations.

    Annotations that come first are left out of the signature.
    """
    head_start = node.start_byte
    decorators: list[str] = []
    words: list[str] = []
    visibility = default
    for modifiers in parts(node, "modifiers"):
        for child in modifiers.named_children:
            if child.type in _ANNOTATIONS:
                decorators.append(reader.line(child.start_byte, child.end_byte))
                if not words:
                    head_start = child.end_byte
                continue
            word = reader.text(child)
            if child.type == "visibility_modifier" and "(" not in word:
                visibility = word
            else:
                words.append(word)
    draft = shape.begin(reader, kind, name, node, body, head_start)
    draft.visibility = visibility
    draft.decorators = tuple(decorators)
    draft.modifiers = tuple(words)
    return reader.add(draft)
