"""How large is a memory_* record, and does it fit?

What counts is the text that names everything an embedding model would be given: the content, then
one line for each label. A record has to stay within 512 bytes of it, two of them reserved.
"""

from __future__ import annotations

from msgspec import Struct

from contracts.notes import Facts, Note

MAX_BYTES = 512
RESERVED_BYTES = 2  # the markers a model puts around a text
DEFAULT_TYPE, DEFAULT_CERTAINTY, DEFAULT_STATUS = "convention", "inferred", "active"


class SizeLimits(Struct, frozen=True, kw_only=True):
    """What is allowed."""

    max_bytes_estimate: int = MAX_BYTES


class SizeReport(Struct, frozen=True, kw_only=True):
    """The size of one record beside what it may have."""

    source: str = "bytes"
    bytes_estimate: int
    max_bytes_estimate: int = MAX_BYTES
    within_budget: bool
    over_by_bytes: int  # 0 when it fits
    binding_limit: str | None  # "bytes" when it does not fit
    remaining: int  # below zero when it does not fit
    limits: SizeLimits = SizeLimits()


def composed_text(  # one argument per label
    content: str,
    *,
    tags: str = "",
    context: str = "",
    memory_type: str = DEFAULT_TYPE,
    status: str = DEFAULT_STATUS,
    certainty: str = DEFAULT_CERTAINTY,
) -> str:
    """The text that is measured."""
    lines = [content]
    if tags:
        lines.append(f"Tags: {tags}")
    if context:
        lines.append(f"Context: {context}")
    lines += [f"Memory type: {memory_type}", f"Status: {status}", f"Certainty: {certainty}"]
    return "\n".join(lines)


def size_of(text: str) -> SizeReport:
    """Measure a composed text."""
    size = len(text.encode(errors="replace")) + RESERVED_BYTES
    over = max(0, size - MAX_BYTES)
    return SizeReport(
        bytes_estimate=size,
        within_budget=not over,
        over_by_bytes=over,
        binding_limit="bytes" if over else None,
        remaining=MAX_BYTES - size,
    )


def size_of_note(note: Note) -> SizeReport:
    """Measure a record of the memory_* tools; of any other note, what it would have as one."""
    facts = note.facts or Facts(number=0)
    return size_of(
        composed_text(
            note.body,
            tags=facts.tags_text,
            context=facts.context,
            memory_type=facts.memory_type,
            status=facts.status,
            certainty=facts.certainty,
        )
    )


def too_large(note: Note) -> SizeReport | None:
    """The report of a record that must be refused; None when it may be stored.

    Records that are not active are exempt, so that one that grew too long can still be retired.
    """
    if note.facts is None or note.facts.status != DEFAULT_STATUS:
        return None
    report = size_of_note(note)
    return None if report.within_budget else report


def refusal(report: SizeReport) -> tuple[str, str]:
    """Message and hint of the refusal."""
    return (
        f"the record has {report.bytes_estimate} bytes and may have {report.max_bytes_estimate}: "
        f"{report.over_by_bytes} too many",
        "shorten content, tags or context; memory_size measures without writing",
    )
