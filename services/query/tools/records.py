"""Records by key and by scope: recall and scan."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.envelope import now_ms
from contracts.errors import InvalidArgument
from contracts.ids import RecordKey, RepoId, parse_key
from contracts.tools.repocontext import EntryView, RecallRequest, ScanPage, ScanRequest
from services.query import bounds, entries, neighbours, note_views, paging, patches, paths
from services.query.declared import Declared
from services.query.host import View
from services.query.registry import tool
from store import keys
from store.read import notes
from store.read.live import Snapshot
from store.rows import FileRow

_PAGE, _PAGE_MOST = 100, 500
_NAMES_SHOWN = 100  # of what refers to a name


@tool("repocontext_recall", title="Recall a record", family="repocontext")
async def recall(view: View, request: RecallRequest) -> EntryView:
    """One record by its key: repository, package, file, symbol, content, xref (who refers to a
    name) or note. An absent key answers exists=false. Keys come from scan and search."""
    key = parse_key(request.key)
    with view.read() as snapshot:
        if key.family == "mem":
            return _note(snapshot, key) or entries.absent(key)
        row = snapshot.repo(key.repo_id)
        if row is None or row.state == "removed":
            return entries.absent(key)
        if key.family == "session":
            sessions = view.host.sessions
            return entries.of_session(
                key, sessions.state(snapshot, key.repo_id, key.name), sessions.now_ms()
            )
        return found(snapshot, key) or entries.absent(key)


def found(snapshot: Snapshot, key: RecordKey) -> EntryView | None:
    """A record as recall shows it; None of one that is not there."""
    if key.family == "mem":
        return _note(snapshot, key)
    row = snapshot.repo(key.repo_id)
    if row is None or row.state == "removed":
        return None
    view = _found(snapshot, key)
    return None if view is None else patches.over(snapshot, key, view)


def _note(snapshot: Snapshot, key: RecordKey) -> EntryView | None:
    now = now_ms()
    note = notes.live_note(snapshot, key.repo_id, key.name, key.item, now)
    return None if note is None else note_views.evaluated(snapshot, note, now)


def _found(snapshot: Snapshot, key: RecordKey) -> EntryView | None:
    row = snapshot.repo(key.repo_id)
    match key.family:
        case "repo":
            return None if row is None else entries.of_repo(row)
        case "file":
            file = snapshot.file(key.repo_id, key.name)
            return None if file is None else entries.of_file(key.repo_id, file)
        case "content":
            file = snapshot.file(key.repo_id, key.name)
            text = None if file is None else snapshot.text(key.repo_id, file.sequence)
            return (
                None
                if file is None or text is None
                else entries.of_content(key.repo_id, file, text)
            )
        case "symbol":
            return Declared(snapshot, key.repo_id).entry(key.name)
        case "pkg":
            directory = key.name.rstrip("/")
            files = _directly_in(snapshot, key.repo_id, directory)
            return entries.of_package(key.repo_id, directory, files) if files is not None else None
        case "xref":
            referring = neighbours.dependents(snapshot, key.repo_id, {key.name}, frozenset())
            tests = neighbours.covering_tests(snapshot, key.repo_id, {key.name}, "")
            return _reference(snapshot, key, referring, tests) if referring or tests else None
        case _:
            return None


def _reference(
    snapshot: Snapshot,
    key: RecordKey,
    referring: list[tuple[str, str]],
    tests: list[tuple[str, str]],
) -> EntryView:
    shown = [
        neighbours.most_telling(snapshot, key.repo_id, pairs, _NAMES_SHOWN)
        for pairs in (referring, tests)
    ]
    return entries.of_reference(key, shown[0], len(referring), shown[1], len(tests))


def _directly_in(snapshot: Snapshot, repo_id: RepoId, directory: str) -> list[FileRow] | None:
    """Files directly in a directory; None when nothing at all is indexed below it."""
    below = f"{directory}/"
    found: list[FileRow] = []
    some = False
    for file in snapshot.files(repo_id, below):
        if not file.path.startswith(below):
            break
        some = True
        if "/" not in file.path[len(below) :]:
            found.append(file)
    return found if some else None


@tool("repocontext_scan", title="Scan records", family="repocontext")
async def scan(view: View, request: ScanRequest) -> ScanPage:
    """An ordered page of the records under a scope: Files (optionally below pathPrefix), Packages,
    Symbols, Memory or one MemoryTopic. Go on with continuationToken while hasMore."""
    if request.path_prefix is not None and request.scope != "Files":
        raise InvalidArgument(
            "pathPrefix goes with scope Files only",
            hint="leave pathPrefix out, or scan Files",
            reason="path_prefix",
        )
    if request.scope == "MemoryTopic" and not (request.topic or "").strip():
        raise InvalidArgument(
            "scope MemoryTopic needs a topic", hint="name it in topic", reason="missing_argument"
        )
    size = paging.clamp(request.page_size, _PAGE, _PAGE_MOST)
    prefix = request.path_prefix or ""
    topic = request.topic or "" if request.scope == "MemoryTopic" else ""
    arguments = (request.repo_id, request.scope, prefix.strip("/"), topic)
    last = (
        paging.last_key(request.continuation_token, arguments)
        if request.continuation_token
        else b""
    )
    repo_id = RepoId(request.repo_id)
    with view.read() as snapshot:
        row = snapshot.repo(repo_id)
        of_notes = request.scope in ("Memory", "MemoryTopic")
        if not of_notes and (row is None or row.state == "removed"):
            return ScanPage(entries=(), has_more=False)
        match request.scope:
            case "Files":
                below = paths.below(snapshot, repo_id, prefix)
                listed = _patched(snapshot, _files(snapshot, repo_id, below, last))
            case "Packages":
                listed = _patched(snapshot, _packages(snapshot, repo_id, last))
            case "Symbols":
                listed = _patched(snapshot, _symbols(snapshot, repo_id, last))
            case _:
                live = notes.live_notes(snapshot, repo_id, now_ms(), topic, last)
                listed = ((mark, note_views.entry(note)) for mark, note in live)
        page: list[EntryView] = []
        mark = b""
        room = bounds.ANSWER_BYTES
        for key, entry in listed:
            room -= bounds.size_of(entry)
            if len(page) == size or (page and room < 0):
                return ScanPage(
                    entries=tuple(page),
                    continuation_token=paging.token(arguments, mark),
                    has_more=True,
                )
            page.append(entry)
            mark = key
    return ScanPage(entries=tuple(page), has_more=False)


def _patched(
    snapshot: Snapshot, listed: Iterator[tuple[bytes, EntryView]]
) -> Iterator[tuple[bytes, EntryView]]:
    for mark, view in listed:
        yield mark, patches.over(snapshot, parse_key(view.key), view)


def _files(
    snapshot: Snapshot, repo_id: RepoId, below: str, last: bytes
) -> Iterator[tuple[bytes, EntryView]]:
    start = max(last.decode(), below)
    for file in snapshot.files(repo_id, start):
        if below and not file.path.startswith(below):
            return
        mark = file.path.encode()
        if mark != last:
            yield mark, entries.of_file(repo_id, file)


def _packages(
    snapshot: Snapshot, repo_id: RepoId, last: bytes
) -> Iterator[tuple[bytes, EntryView]]:
    """Directories that hold an indexed file, in ordinal order of their paths."""
    members: dict[str, list[FileRow]] = {}
    for file in snapshot.files(repo_id):
        folder = file.path.rpartition("/")[0]
        while folder and folder not in members:
            members[folder] = []
            folder = folder.rpartition("/")[0]
        if "/" in file.path:
            members[file.path.rpartition("/")[0]].append(file)
    after = last.decode()
    for folder in sorted(members, key=str.encode):
        if folder.encode() > after.encode():
            yield folder.encode(), entries.of_package(repo_id, folder, members[folder])


def _symbols(snapshot: Snapshot, repo_id: RepoId, last: bytes) -> Iterator[tuple[bytes, EntryView]]:
    """Symbols in ordinal order of their names; one declared in several files comes once."""
    repo_key = keys.repo(repo_id)
    start = repo_key + last + b"\0\xff" if last else b""
    declared = Declared(snapshot, repo_id)
    previous = last
    for key in snapshot.symbol_names(repo_id, start):
        mark = key[len(repo_key) : -9]
        if mark == previous:
            continue
        previous = mark
        symbol = declared.at(keys.sequence_of(key), mark)
        entry = None if symbol is None else declared.entry(symbol.fq_name)
        if entry is not None:
            yield mark, entry
