"""What somebody wrote over a record that is made from the tree."""

from __future__ import annotations

from msgspec import Struct

from contracts.ids import RepoId


class FieldPatch(Struct, frozen=True, array_like=True):
    """One field's value and when it was given."""

    name: str
    value: str
    at_ms: int


class RecordPatched(Struct, frozen=True, kw_only=True, tag="record.patched"):
    """Fields and tags given to a record, all of them, as they are after the change.

    A field that indexing tells as well holds until the record is indexed anew.
    """

    repo_id: RepoId
    family: str  # repo pkg file symbol
    name: str  # path or fully qualified name; "" of the repository
    fields: tuple[FieldPatch, ...] = ()  # by name
    tags: tuple[str, ...] = ()  # ordinal order
    principal: str = ""


class PatchRecord(Struct, frozen=True, kw_only=True, tag="cmd.patch_record"):
    """Write over fields and tags of a record that the caller's projection has."""

    repo_id: RepoId
    family: str
    name: str
    fields: dict[str, str]
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    principal: str
