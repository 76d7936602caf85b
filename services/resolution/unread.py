"""What is said of a file that defeats the rules: every use, and that none of it is known?"""

from __future__ import annotations

import numpy as np

from contracts.extract import REFERENCE_KINDS, Body
from services.resolution.edges import EDGE_KINDS, FileEdges
from services.resolution.scopes import columns
from services.resolution.values import LOW, UNRESOLVED

_OTHER_WORDS = {
    "new": "instantiate",
    "decorator": "call",
    "raise": "read",
}  # how edges name the extract's kinds
_CODES = np.array(
    [EDGE_KINDS.index(_OTHER_WORDS.get(kind, kind)) for kind in REFERENCE_KINDS], "u1"
)


def unread(body: Body, note: str) -> FileEdges:
    """Return edges to nowhere, all of low confidence, and why."""
    kind, name, _, line, column, scope, _ = (
        np.array(each, np.int64) for each in columns(body.references)
    )
    count = len(kind)
    nowhere = np.full(count, -1, "<i4").tobytes()
    return FileEdges(
        strings=body.references.strings if body.references is not None else (),
        kind=_CODES[kind].tobytes(),
        state=np.full(count, UNRESOLVED, "u1").tobytes(),
        confidence=np.full(count, LOW, "u1").tobytes(),
        source=scope.astype("<i4").tobytes(),
        target=nowhere,
        name=name.astype("<u4").tobytes(),
        hint=nowhere,
        line=line.astype("<u4").tobytes(),
        column=column.astype("<u4").tobytes(),
        note=note,
    )
