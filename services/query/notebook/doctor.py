"""What is wrong with a repository's memories?

Eleven kinds of findings over the active records, taken newest first, so that of several the newest
is the one to keep. Nothing is changed, and nothing here is certain: findings are for reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from contracts.notes import Facts, Note
from contracts.tools.memory import Details, Finding
from services.query.notebook.ask import facts_of, whole_text
from services.query.notebook.words import extract_terms, jaccard, tag_list

KINDS: Final = (
    "exact_duplicate", "near_duplicate", "stale_status_overlap", "status_missing_expiry",
    "canonical_thread_overlap", "transient_non_status", "status_looks_decision", "empty_tags",
    "invalid_tags", "taxonomy_mismatch", "malformed_refs",
)  # fmt: skip
_NEAR = 0.78
_SHARED = _NEAR / (1 + _NEAR)  # of the sizes of both: what so near ones share at least
_MASK_WORDS = 16
_LEADING_TERMS = 12
_MOST_CANDIDATES = 120
_MOST_POSTINGS = 200
_SUGGESTED_DAYS = 14
_TRANSIENT = re.compile(
    r"\b(?:current|currently|today|now|progress|blocked|wip|todo|failing|failed|broken|fixed|resolved"
    r"|temporary)\b",
    re.IGNORECASE,
)
_DURABLE = re.compile(
    r"\b(?:decision|decided|always|must|policy|architecture|standard|convention|rule|design|contract)\b",
    re.IGNORECASE,
)


def diagnose(notes: Sequence[Note]) -> list[Finding]:
    """The findings over active records, given newest first, in the order of the kinds."""
    found: list[Finding] = []
    for find in (
        _exact_duplicates, _near_duplicates, _stale_status, _status_without_expiry,
        _threads, *(_each(check) for check in _CHECKS),
    ):  # fmt: skip
        found += find(notes)
    return sorted(found, key=lambda finding: KINDS.index(finding.kind))


def counts_by_kind(findings: Iterable[Finding]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    return counts


# --------------------------------------------------------------------------- pairs


def _exact_duplicates(notes: Sequence[Note]) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], list[int]] = {}
    for note in notes:
        groups.setdefault(_whole(note), []).append(facts_of(note).number)
    for ids in groups.values():
        if len(ids) > 1:
            details = Details(keep_id=ids[0], duplicate_ids=tuple(ids[1:]))
            yield Finding(kind="exact_duplicate", ids=tuple(ids), details=details)


class _Masks:
    """The term sets of records, as bits that tell quickly how few terms two of them can share."""

    def __init__(self, records: int) -> None:
        self._bits = np.zeros((records, _MASK_WORDS), np.uint64)
        self._size = np.zeros(records)
        self._spare = np.zeros(records)  # terms that share a bit with others of the same record

    def put(self, at: int, terms: frozenset[str]) -> None:
        mask = 0
        for term in terms:
            mask |= 1 << (hash(term) % (64 * _MASK_WORDS))
        self._bits[at] = np.frombuffer(mask.to_bytes(8 * _MASK_WORDS, "little"), "<u8")
        self._size[at] = len(terms)
        self._spare[at] = len(terms) - mask.bit_count()

    def near(self, at: int, others: Sequence[int]) -> list[int]:
        """Those of the other records that may share enough terms with this one."""
        numbers = np.array(others, np.int64)
        shared = np.bitwise_count(self._bits[numbers] & self._bits[at]).sum(axis=1)
        least = _SHARED * (self._size[numbers] + self._size[at])
        found: list[int] = numbers[shared + self._spare[at] >= least].tolist()
        return found


def _near_duplicates(notes: Sequence[Note]) -> Iterator[Finding]:
    seen: dict[str, list[int]] = {}
    known: list[frozenset[str]] = []
    masks = _Masks(len(notes))
    for at, note in enumerate(notes):
        terms = extract_terms(whole_text(note))
        leading, own = terms[:_LEADING_TERMS], frozenset(terms)
        masks.put(at, own)
        best, keep = 0.0, -1
        for other in masks.near(at, _candidates(seen, leading)):
            likeness = jaccard(own, known[other])
            if likeness > best and _whole(notes[other]) != _whole(note):
                best, keep = likeness, other
        known.append(own)
        for term in leading:
            held = seen.setdefault(term, [])
            if len(held) < _MOST_POSTINGS:
                held.append(at)
        if best >= _NEAR:
            ids = (facts_of(notes[keep]).number, facts_of(note).number)
            details = Details(keep_id=ids[0], duplicate_id=ids[1], similarity=round(best, 3))
            yield Finding(kind="near_duplicate", ids=ids, details=details)


def _candidates(seen: dict[str, list[int]], leading: Sequence[str]) -> list[int]:
    """Records seen before that share a leading term."""
    found: dict[int, None] = {}
    for term in leading:
        found.update(dict.fromkeys(seen.get(term, [])[:_MOST_CANDIDATES]))
        if len(found) >= _MOST_CANDIDATES:
            break
    return list(found)[:_MOST_CANDIDATES]


def _stale_status(notes: Sequence[Note]) -> Iterator[Finding]:
    newest: dict[str, int] = {}  # tag -> the newest status record with it
    for note in notes:
        facts = facts_of(note)
        if facts.memory_type != "status":
            continue
        tags = tag_list(facts.tags_text)
        newer = [newest[tag] for tag in tags if tag in newest]
        if newer:
            keep = newer[0]
            shared = tuple(tag for tag in tags if newest.get(tag) == keep)
            details = Details(stale_id=facts.number, superseded_by=keep, shared_tags=shared)
            yield Finding(kind="stale_status_overlap", ids=(keep, facts.number), details=details)
        for tag in tags:
            newest.setdefault(tag, facts.number)


def _threads(notes: Sequence[Note]) -> Iterator[Finding]:
    newest: dict[str, int] = {}
    for note in notes:
        facts = facts_of(note)
        thread = _thread(facts)
        if thread is None:
            continue
        keep = newest.setdefault(thread, facts.number)
        if keep != facts.number:
            details = Details(stale_id=facts.number, canonical_id=keep, thread_key=thread)
            yield Finding(
                kind="canonical_thread_overlap", ids=(keep, facts.number), details=details
            )


def _thread(facts: Facts) -> str | None:
    tags = tag_list(facts.tags_text)
    topic = _tagged(tags, "topic:")
    if topic is None:
        return None
    kind = _tagged(tags, "kind:") or f"kind:{facts.memory_type}"
    area = _tagged(tags, "area:") or "area:global"
    return f"{kind}|{area}|{topic}"


def _tagged(tags: Iterable[str], prefix: str) -> str | None:
    return next((tag for tag in tags if tag.startswith(prefix)), None)


# --------------------------------------------------------------------------- one by one

Check = Callable[[Note, Facts], Finding | None]


def _each(check: Check) -> Callable[[Sequence[Note]], Iterator[Finding]]:
    def find(notes: Sequence[Note]) -> Iterator[Finding]:
        for note in notes:
            finding = check(note, facts_of(note))
            if finding is not None:
                yield finding

    return find


def _finding(kind: str, facts: Facts, details: Details | None = None) -> Finding:
    return Finding(kind=kind, ids=(facts.number,), details=details or Details())


def _status_without_expiry(notes: Sequence[Note]) -> Iterator[Finding]:
    for note in notes:
        facts = facts_of(note)
        if facts.memory_type == "status" and facts.expires_after_days is None:
            details = Details(suggested_days=_SUGGESTED_DAYS)
            yield _finding("status_missing_expiry", facts, details)


def _transient(note: Note, facts: Facts) -> Finding | None:
    if facts.memory_type == "status" or not _TRANSIENT.search(_text(note)):
        return None
    details = Details(memory_type=facts.memory_type, suggested_type="status")
    return _finding("transient_non_status", facts, details)


def _durable(note: Note, facts: Facts) -> Finding | None:
    if facts.memory_type != "status":
        return None
    text = _text(note)
    if _TRANSIENT.search(text) or not _DURABLE.search(text):
        return None
    return _finding("status_looks_decision", facts, Details(suggested_type="decision"))


def _untagged(_: Note, facts: Facts) -> Finding | None:
    return None if tag_list(facts.tags_text) else _finding("empty_tags", facts)


def _untidy_tags(_: Note, facts: Facts) -> Finding | None:
    tags = tag_list(facts.tags_text)
    if not tags or tuple(part.strip() for part in facts.tags_text.split(",")) == tags:
        return None
    details = Details(tags=facts.tags_text, normalized_tags=",".join(tags))
    return _finding("invalid_tags", facts, details)


def _mismatched(_: Note, facts: Facts) -> Finding | None:
    tags = tag_list(facts.tags_text)
    if not tags:
        return None
    issues = [
        f"missing {prefix}" for prefix in ("area:", "topic:", "kind:") if not _tagged(tags, prefix)
    ]
    kind = _tagged(tags, "kind:")
    if kind is not None and kind != f"kind:{facts.memory_type}":
        issues.append(f"{kind} differs from memory_type {facts.memory_type}")
    if not issues:
        return None
    return _finding("taxonomy_mismatch", facts, Details(taxonomy_issues=tuple(issues)))


def _bad_refs(_: Note, facts: Facts) -> Finding | None:
    # The store keeps texts only; what was imported may still be blank or hold line breaks.
    sound = all(ref.strip() and ref.isprintable() for ref in facts.refs)
    return None if sound else _finding("malformed_refs", facts)


_CHECKS: tuple[Check, ...] = (
    _transient, _durable, _untagged, _untidy_tags, _mismatched, _bad_refs,
)  # fmt: skip


def _text(note: Note) -> str:
    return f"{note.body} {facts_of(note).context}"


def _whole(note: Note) -> tuple[str, str, str]:
    facts = facts_of(note)
    return note.body, facts.tags_text, facts.context
