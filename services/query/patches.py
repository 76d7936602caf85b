"""What may be written over a record that is made from the tree, and how does it show?

A patch lies beside the record and shows through in recall and scan. A field that indexing tells as
well holds until the record is indexed anew: the last writer wins. Nothing else reads patches; what is
searched, outlined and compared with the disk is what the tree says.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from contracts.errors import Forbidden, InvalidArgument, NotFound
from contracts.events.patches import PatchRecord, RecordPatched
from contracts.ids import RecordKey
from contracts.note_rules import MOST_EDGES
from contracts.tools.notes import ForgetRequest, Forgotten, RecordUpdate, UpdateRequest
from contracts.tools.repocontext import EntryView
from services.query.host import View
from services.query.note_keys import TAG_CHARS, check_length
from services.source.free_text import visible
from store import keys
from store.read.live import Snapshot

Found = Callable[[Snapshot, RecordKey], EntryView | None]

_PATCHABLE: dict[str, tuple[str, ...]] = {
    "repo": ("displayName", "defaultBranch", "lastIngested"),
    "pkg": ("language", "version", "lastIngested"),
    "file": ("digest", "language", "sizeBytes", "lastIngested"),
    "symbol": ("filePath", "startLine", "endLine", "signature", "digest"),
}
_KIND = {"repo": "Repository", "pkg": "Package", "file": "File", "symbol": "Symbol"}
_INTEGERS = frozenset({"sizeBytes", "startLine", "endLine"})
_VALUE_CHARS = 4_000  # of a field; the longest path and signature fit
_NEVER_INDEXED = frozenset({"displayName", "defaultBranch", "version"})
_decode = msgspec.msgpack.Decoder(RecordPatched).decode


async def update(view: View, key: RecordKey, request: UpdateRequest, found: Found) -> RecordUpdate:
    """Write over fields and tags of a repository, package, file or symbol record."""
    if key.family not in _PATCHABLE:
        raise Forbidden(
            f"a {key.family} record cannot be patched",
            hint="patch notes, or repository, package, file and symbol records",
            reason="unpatchable",
        )
    if request.fencing_token is not None:
        raise _notes_only("fencingToken")
    if request.add_links or request.remove_links:
        raise _notes_only("a link")
    fields = _checked(key.family, request.fields)
    for tag in request.add_tags:
        check_length("a tag", tag, TAG_CHARS)
    with view.read() as snapshot:
        there = found(snapshot, key)
    if there is None:
        raise NotFound(
            f"there is no record {key}", hint="repocontext_scan shows the keys there are"
        )
    if len({*there.tags, *request.add_tags} - {*request.remove_tags}) > MOST_EDGES:
        raise InvalidArgument(
            f"a record has at most {MOST_EDGES} tags",
            hint="remove some in the same call",
            reason="too_many",
        )
    command = PatchRecord(
        repo_id=key.repo_id, family=key.family, name=key.name.rstrip("/"), fields=fields,
        add_tags=request.add_tags, remove_tags=request.remove_tags, principal=view.caller.principal,
    )  # fmt: skip
    await view.host.note_command(command)
    return RecordUpdate(
        key=str(key),
        kind=_KIND[key.family],
        fields_updated=len(fields),
        tags_added=len(set(request.add_tags)),
        tags_removed=len(set(request.remove_tags)),
        links_added=0,
        links_removed=0,
    )


async def forget(view: View, key: RecordKey, request: ForgetRequest, found: Found) -> Forgotten:
    """Tell that what is absent is forgotten; what the tree has cannot be."""
    if request.fencing_token is not None:
        raise _notes_only("fencingToken")
    try:
        with view.read() as snapshot:
            there = found(snapshot, key)
    except NotFound:
        there = None
    if there is not None and there.exists:
        raise Forbidden(
            f"a {key.family} record is made from the tree and would be made again",
            hint="exclude the file when onboarding, or remove or reset the repository",
            reason="derived",
        )
    return Forgotten(
        key=str(key),
        mode="lapse" if request.lapse else "delete",
        existed=False,
        undecodable=False,
    )


def over(snapshot: Snapshot, key: RecordKey, view: EntryView) -> EntryView:
    """The record with what was written over it."""
    name = key.name.rstrip("/")
    raw = snapshot.txn.get("patches", keys.patch(keys.repo(key.repo_id), key.family, name))
    if raw is None:
        return view
    patch = _decode(raw)
    indexed_ms = _indexed_ms(snapshot, key, view)
    given = {
        field.name: visible(field.value)
        for field in patch.fields
        if field.name in _NEVER_INDEXED or field.at_ms >= indexed_ms
    }
    tags = tuple(sorted({*view.tags, *map(visible, patch.tags)}))
    return msgspec.structs.replace(view, fields={**view.fields, **given}, tags=tags)


def _indexed_ms(snapshot: Snapshot, key: RecordKey, view: EntryView) -> int:
    """When indexing told of the record last."""
    if key.family in ("repo", "pkg"):
        row = snapshot.repo(key.repo_id)
        return 0 if row is None else row.last_ingested_ms
    file = snapshot.file(key.repo_id, view.path or key.name)
    return 0 if file is None else file.ingested_ms


def _checked(family: str, fields: dict[str, str]) -> dict[str, str]:
    known = {name.casefold(): name for name in _PATCHABLE[family]}
    checked: dict[str, str] = {}
    for given, value in fields.items():
        name = known.get(given.strip().casefold())
        if name is None:
            raise Forbidden(
                f"a {family} record has no field {given[:60]!r} to patch",
                hint=f"fields of it: {', '.join(known.values())}",
                reason="field",
            )
        if name in _INTEGERS and not value.strip().isdecimal():
            raise Forbidden(f"{name} is no whole number", hint="give digits only", reason="integer")
        check_length(name, value, _VALUE_CHARS)
        checked[name] = value.strip() if name in _INTEGERS else value
    return checked


def _notes_only(what: str) -> Forbidden:
    return Forbidden(
        f"{what} goes with notes only", hint="leave it out for this record", reason="not_memory"
    )
