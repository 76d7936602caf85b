"""What has to happen for one seen path? Pure decisions over what is on record and what was read."""

from __future__ import annotations

from msgspec import Struct

from contracts.events.jobs import SeenEntry
from contracts.extract import EXTRACTOR_VERSION
from store.rows import FileRow

GONE, GONE_BELOW = -1, -2  # SeenEntry.size_bytes of a path, or a directory, that is no longer there


class Issued(Struct):
    """A version sent on its way and not yet seen on record."""

    version: int
    digest: str  # "" for a removal
    sequence: int = 0  # INDEX sequence of a removal, or of a record appended once more


def unchanged_by_stat(
    entry: SeenEntry, row: FileRow | None, issued: Issued | None, *, uncertain: bool
) -> bool:
    """Whether the record settles a seen file without reading it."""
    return (
        row is not None
        and issued is None
        and not uncertain
        and row.extractor_version in ("", EXTRACTOR_VERSION)
        and row.holds_by_stat(entry.size_bytes, entry.mtime_ns)
    )


def is_settled(
    digest: str, row: FileRow | None, issued: Issued | None, *, uncertain: bool, audit: bool
) -> bool:
    """Whether nothing is to be done about bytes that were read; an audit tries failed extracts again."""
    failed = audit and issued is None and row is not None and row.skipped == "extract_failed"
    return not failed and on_record(digest, row, issued, uncertain=uncertain)


def on_record(digest: str, row: FileRow | None, issued: Issued | None, *, uncertain: bool) -> bool:
    """Whether exactly these bytes are what the record holds, or will hold once folded."""
    if issued is not None:
        return issued.digest == digest
    if row is None or uncertain or row.extractor_version not in ("", EXTRACTOR_VERSION):
        return False
    return row.digest == digest


def next_version(now_ns: int, row: FileRow | None, issued: Issued | None) -> int:
    """A version above every earlier one of the path, even when the clock went back."""
    last = max(row.version if row is not None else 0, issued.version if issued is not None else 0)
    return max(now_ns, last + 1)
