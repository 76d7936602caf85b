"""Does a memory speak to the agent that reads it, instead of stating something?

Whoever can write a note can try to give orders to the next reader. Nothing is refused for it: the
signs are named, so that a person can look. All of what the tools return is data in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from contracts.notes import Note
from services.source.free_text import bared, hides

_AGENTS = ("ai", "llm", "assistant", "agent", "model", "claude", "gpt", "chatgpt", "copilot", "gemini", "codex", "cursor")  # fmt: skip
_VERBS = (
    "ignore|disregard|forget|override|bypass|execute|run|call|invoke|send|post|upload|delete|reveal"
    "|print|output|email|curl|fetch|download|install|commit|push|approve"
)


class _Sign(Struct, frozen=True):
    name: str
    hints: tuple[str, ...]  # lower case; a text with none of them need not be looked at closely
    pattern: re.Pattern[str]


def _sign(name: str, hints: tuple[str, ...], *alternatives: str) -> _Sign:
    return _Sign(name, hints, re.compile("|".join(alternatives), re.IGNORECASE | re.MULTILINE))


_SIGNS: Final = (
    _sign(
        "ignore-previous",
        ("ignore", "disregard", "forget", "override", "bypass"),
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
        r"\b(?:previous|prior|above|earlier|preceding|all|any|other|your|system|safety)\b[^.\n]{0,30}"
        r"\b(?:instruction|prompt|rule|message|guideline|direction|polic|restriction|context)",
    ),
    _sign(
        "addressed-to-agent",
        ("you", *_AGENTS),
        r"(?:^|[.!?:\n]\s*)(?:dear\s+|hey\s+|attention,?\s+|note to\s+)?(?:the\s+)?"
        rf"(?:{'|'.join(_AGENTS)})\b[^.\n]{{0,25}}"
        rf"\b(?:you|must|should|please|will|shall|need to|{_VERBS})\b",
        r"\byou are (?:now|an? (?:ai|assistant|agent|helpful))\b",
        r"\b(?:as|being) an? (?:ai|llm|language model|assistant)\b",
        r"\b(?:when|if|once|before|after) you (?:read|see|find|retrieve|load) this\b",
        r"(?:^|[.!?\n]\s*)you (?:must|should|shall|need to|have to) (?:now |always |first )?"
        rf"(?:{_VERBS})\b",
    ),
    _sign(
        "secrecy",
        ("user", "human", "developer", "operator", "anyone", "them"),
        r"\b(?:do not|don['\u2019]t|never|without) "
        r"(?:tell|telling|inform|informing|mention|mentioning|show|ask|asking|reveal|revealing)\b"
        r"[^.\n]{0,30}\b(?:user|human|developer|operator|anyone|them)\b",
    ),
    _sign(
        "system-prompt",
        ("system", "developer", "assistant", "user"),
        r"\b(?:system|developer) (?:prompt|message|instructions?)\b",
        r"(?:^|\n)\s*(?:#+\s*|\[|<\|?)?(?:system|assistant|user)(?:\]|\|?>|\s*:)\s",
    ),
    _sign(
        "tool-call",
        ("<", "[", "{", "memory_", "repocontext_", "mcp_"),
        r"</?(?:antml:)?(?:function_calls?|invoke|tool_call|tool_use|tool_result|function_results?"
        r"|parameter)\b",
        r"<\|(?:im_start|im_end|system|user|assistant|tool)\|>|\[/?INST\]|<</?SYS>>",
        r"\{\s*\"(?:tool|tool_name|function|function_call|tool_calls?)\"\s*:",
        r"\b(?:call|use|invoke|run) (?:the )?(?:memory|repocontext|mcp)_\w+(?: tool)?\b",
    ),
    _sign(
        "remote-command",
        ("curl", "wget", "send", "post", "upload", "exfiltrate"),
        r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b",
        r"(?:^|[.!?:;\n]\s*|\b(?:and|then|please)\s+)(?:send|post|upload|exfiltrate)\b[^.\n]{0,40}"
        r"(?:\b(?:secret|token|credential|password|key)s?\b|\.env\b)[^.\n]{0,40}\bto\b",
    ),
)


def signs_in(note: Note) -> tuple[str, ...]:
    """What in a note looks like an instruction to its reader; empty for a plain note."""
    context = note.facts.context if note.facts is not None else ""
    tags = note.facts.tags_text if note.facts is not None else " ".join(note.tags)
    return tuple(_signs_in("\n".join((note.title, note.body, context, tags))))


def _signs_in(text: str) -> Iterator[str]:
    text = text.replace("\r\n", "\n")
    if hides(text):
        yield "hidden-characters"
        text = bared(text)  # what was split by them counts as well
    lower = text.lower()
    for sign in _SIGNS:
        if any(hint in lower for hint in sign.hints) and sign.pattern.search(text):
            yield sign.name
