"""How does a stored record look to a client?"""

from __future__ import annotations

from datetime import UTC, datetime

from contracts.extract import Symbol, decompressed
from contracts.ids import RecordKey, RepoId
from contracts.note_rules import LAST_MS
from contracts.tools.repocontext import EntryView
from services.query import bounds
from services.query.sessions import SessionState
from store.rows import FileRow, RepoRow

_ABSENT_KIND = {
    "repo": "Repository", "pkg": "Package", "file": "File", "symbol": "Symbol",
    "content": "Content", "xref": "CrossReference", "mem": "Memory", "session": "Session",
}  # fmt: skip
_FIELD_CHARS = 2_000
_FILES_SHOWN = 100  # of those that declare one symbol
_RECEIPTS_SHOWN = 100  # of a session, and as many possessions


def time_text(milliseconds: int) -> str | None:
    """UTC in ISO 8601; None for 0, which means never. What lies beyond is told as the last moment."""
    if not milliseconds:
        return None
    stamp = datetime.fromtimestamp(max(0, min(milliseconds, LAST_MS)) / 1000, UTC)
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def absent(key: RecordKey) -> EntryView:
    """The view of a record that is not there."""
    return EntryView(
        key=str(key), exists=False, kind=_ABSENT_KIND[key.family], repo_id=key.repo_id,
        fields={}, tags=(), links={},
    )  # fmt: skip


def of_repo(row: RepoRow) -> EntryView:
    fields = {
        "displayName": row.display_name,
        "fileCount": str(row.counters.files) if row.last_ingested_ms else "",
        "lastIngested": time_text(row.last_ingested_ms) or "",
    }
    return EntryView(
        key=str(RecordKey(row.repo_id, "repo")), exists=True, kind="Repository", repo_id=row.repo_id,
        fields=_given(fields), tags=(), links={},
    )  # fmt: skip


def of_file(repo_id: RepoId, row: FileRow) -> EntryView:
    fields = {
        "digest": row.digest,
        "language": row.language,
        "sizeBytes": str(row.size_bytes),
        "lastIngested": time_text(row.ingested_ms) or "",
        "tokenCount": str(row.token_count) if not row.skipped else "",
        "skipped": row.skipped,
        "skippedDetail": row.skipped_detail,
    }
    return EntryView(
        key=str(RecordKey(repo_id, "file", row.path)), exists=True, kind="File", repo_id=repo_id,
        path=row.path, fields=_given(fields), tags=(row.kind,), links={},
    )  # fmt: skip


def of_package(repo_id: RepoId, path: str, files: list[FileRow]) -> EntryView:
    """A directory that holds indexed files; `files` are those directly in it."""
    languages = sorted({row.language for row in files if row.language})
    newest = max((row.ingested_ms for row in files), default=0)
    fields = {
        "language": languages[0] if len(languages) == 1 else "",
        "lastIngested": time_text(newest) or "",
    }
    return EntryView(
        key=str(RecordKey(repo_id, "pkg", path)), exists=True, kind="Package", repo_id=repo_id,
        path=path, fields=_given(fields), tags=tuple(languages), links={},
    )  # fmt: skip


def of_symbol(repo_id: RepoId, row: FileRow, symbol: Symbol, declaring: list[str]) -> EntryView:
    """A symbol as its first declaring file states it; `declaring` are the paths of all."""
    several = len(declaring) > 1
    fields = {
        "filePath": row.path,
        "startLine": str(symbol.start_line),
        "endLine": str(symbol.end_line),
        "signature": symbol.signature,
        "digest": row.digest,
        "kind": symbol.kind,
        "visibility": symbol.visibility,
        "doc": symbol.doc[:_FIELD_CHARS],
        "declaringFiles": ", ".join(bounds.first(declaring, _FILES_SHOWN)) if several else "",
        "declaringFileCount": str(len(declaring)) if several else "",
    }
    return EntryView(
        key=str(RecordKey(repo_id, "symbol", symbol.fq_name)), exists=True, kind="Symbol",
        repo_id=repo_id, path=row.path, fully_qualified_name=symbol.fq_name,
        fields=_given(fields), tags=(), links={},
    )  # fmt: skip


def of_content(repo_id: RepoId, row: FileRow, text: memoryview) -> EntryView:
    """The content projection: the first 65,536 characters of the file."""
    content = decompressed(text).decode()
    shown = bounds.beginning(content)
    left_off = len(content) - len(shown)
    fields = {"digest": row.digest, "text": shown}
    if left_off:
        fields["textLeftOff"] = f"{left_off} characters"
    return EntryView(
        key=str(RecordKey(repo_id, "content", row.path)), exists=True, kind="Content",
        repo_id=repo_id, path=row.path, fields=fields, tags=(), links={},
    )  # fmt: skip


def of_reference(
    key: RecordKey,
    dependents: list[tuple[str, str]],
    dependent_count: int,
    tests: list[tuple[str, str]],
    test_count: int,
) -> EntryView:
    """Who refers to a simple name, as (path, symbol) pairs; one "symbol (path)" to a line.

    The counts are complete.
    """
    fields = {
        "name": key.name,
        "dependentCount": str(dependent_count),
        "dependents": _one_to_a_line(dependents),
        "testCount": str(test_count),
        "tests": _one_to_a_line(tests),
    }
    return EntryView(
        key=str(key), exists=True, kind="CrossReference", repo_id=key.repo_id,
        fields=_given(fields), tags=(), links={},
    )  # fmt: skip


def of_session(key: RecordKey, state: SessionState, now_ms: int) -> EntryView:
    """What a session was given, the newest units last; absent when it holds nothing any more."""
    if state.expires_ms <= now_ms:
        return absent(key)
    fields = {
        "receiptCount": str(len(state.receipts)),
        "receipts": "\n".join(state.receipts[-_RECEIPTS_SHOWN:]),
        "possessionCount": str(len(state.possessions)),
        "possessions": "\n".join(
            bounds.fitting(
                f"{one.path}@{one.content_hash}" for one in state.possessions[-_RECEIPTS_SHOWN:]
            )
        ),
    }
    return EntryView(
        key=str(key), exists=True, kind="Session", repo_id=key.repo_id, id=key.name,
        fields=_given(fields), tags=(), links={}, expires=True, has_expired=False,
        expires_at_utc=time_text(state.expires_ms),
        remaining_seconds=max(0, (state.expires_ms - now_ms) // 1000),
    )  # fmt: skip


def _one_to_a_line(referrers: list[tuple[str, str]]) -> str:
    return "\n".join(
        bounds.fitting(
            (symbol if symbol == path else f"{symbol} ({path})" for path, symbol in referrers),
            bounds.ANSWER_BYTES // 2,
        )
    )


def _given(fields: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}
