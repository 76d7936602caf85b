"""Does a key name a note, and are the names, texts and links given with it fit to keep?"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TypeVar

from contracts.errors import Forbidden, InvalidArgument
from contracts.ids import RecordKey, parse_key
from services.source.free_text import hides

TAG_CHARS = 200
_NAME_CHARS = 200
_LARGEST_TOKEN = 2**63 - 1
Token = TypeVar("Token", int, int | None)


def note_key(text: str, tool: str) -> RecordKey:
    """The parsed key of a note; raises for a key of another family, which is no caller's mistake."""
    key = parse_key(text)
    if key.family != "mem":
        raise Forbidden(
            f"{tool} works on notes only, not on a {key.family} record",
            hint="give a key repo/{repoId}/mem/{topic}/{id}",
            reason="not_memory",
        )
    return key


def new_id() -> str:
    """An id that nobody guesses or gives a second time."""
    return secrets.token_hex(16)


def checked_name(name: str, what: str) -> str:
    """A repository id, topic or note id that can be shown and typed again."""
    if len(name) > _NAME_CHARS:
        wrong = f"it has {len(name):,}"
    elif hides(name) or "\n" in name or "\t" in name:
        wrong = "it has a hidden or a control character"
    else:
        return name
    raise InvalidArgument(
        f"{what} has to be 1 to {_NAME_CHARS} visible characters on one line; {wrong}",
        hint=f"choose a short name for {what}, without control or invisible characters",
        reason="name",
    )


def check_length(what: str, text: str | None, most: int) -> None:
    """Refuse a text that is too long to keep."""
    if text and len(text) > most:
        raise InvalidArgument(
            f"{what} has {len(text):,} characters and may have {most:,}",
            hint="keep the gist, and link to the file that has the rest",
            reason="rejected_content",
        )


def sendable(token: Token) -> Token:
    """A fencing token that a message can carry. None as large was ever issued, so the answer to the
    largest one is the answer to any beyond it."""
    return token if token is None else max(-1, min(token, _LARGEST_TOKEN))


def edges(links: Mapping[str, tuple[str, ...]]) -> list[tuple[str, RecordKey]]:
    """Each (relation, target) once, in the order given; raises for what is no edge."""
    found: dict[tuple[str, str], RecordKey] = {}
    for relation, targets in links.items():
        if not relation.strip():
            raise Forbidden(
                "a link needs the name of its relation",
                hint='for example {"explains": ["repo/app/file/src/a.py"]}',
                reason="link",
            )
        for target in targets:
            key = _target(target)
            found[relation, str(key)] = key
    return [(relation, key) for (relation, _), key in found.items()]


def _target(text: str) -> RecordKey:
    try:
        return parse_key(text)
    except InvalidArgument as error:
        # Unlike a malformed key to act on, this is not counted as the caller's mistake.
        raise Forbidden(f"link target: {error.message}", hint=error.hint, reason="link") from None
