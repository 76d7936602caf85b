"""What of a note is searched and embedded?"""

from __future__ import annotations

import xxhash

from contracts.notes import Note


def note_text(note: Note) -> str:
    """Kind, topic and id, title, tags, body and, of memory_* records, the context, line by line.

    Empty for a note that is gone.
    """
    if not note.exists:
        return ""
    context = note.facts.context if note.facts is not None else ""
    head = f"{note.kind} {note.topic}/{note.id}"
    parts = (head, note.title, " ".join(note.tags), note.body, context)
    return "\n".join(part for part in parts if part)


def text_digest(note: Note) -> str:
    """Names the text; "" when there is none."""
    text = note_text(note)
    return f"xx128:{xxhash.xxh128_hexdigest(text.encode(errors='replace'))}" if text else ""
