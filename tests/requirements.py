"""What is promised, where that is written, and which test shows it.

`source` names the specification: R for the repository-context family, U for the acceptance checks,
P for the pipeline's own promises. A rule is either shown by tests or deferred with the reason why.
The rows are in tests/rows, one module per family.
"""

from __future__ import annotations

from tests.rows import (
    Row,
    catalogue,
    codemap,
    context,
    instruments,
    machine_memory,
    notes,
    repocontext,
    resolution,
    retrieval,
    surfaces,
    upkeep,
)

__all__ = ["ROWS", "Row"]

ROWS: tuple[Row, ...] = (
    *repocontext.ROWS,
    *context.ROWS,
    *retrieval.ROWS,
    *upkeep.ROWS,
    *instruments.ROWS,
    *catalogue.ROWS,
    *notes.ROWS,
    *machine_memory.ROWS,
    *codemap.ROWS,
    *resolution.ROWS,
    *surfaces.ROWS,
)
