"""What becomes of a note out of an export? Pure decisions.

Ids, tokens and times are kept; what is there stays as it is; a token counter only rises. Importing the
same file twice changes nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from contracts.notes import Note
from services.memory.decision import Asked, Decision, alive, changed, gone, issued, unchanged

KEPT = "kept"  # the reason of a note that was not brought back


def restore(note: Note | None, given: Note, asked: Asked) -> Decision:
    """Bring a note back unless one is there, or the given one is over."""
    counter = max(issued(note), given.claim.issued, given.claim.fence)
    if alive(note, asked.now_ms) is None and given.is_live(asked.now_ms):
        claim = replace(given.claim, issued=counter, queue=(), command="")
        return changed("imported", replace(given, claim=claim), None)
    if counter == issued(note):
        return unchanged(note, reason=KEPT)
    here = note if note is not None else gone(given, given.updated_ms)
    raised = changed("imported", replace(here, claim=replace(here.claim, issued=counter)), note)
    return replace(raised, reply=replace(raised.reply, reason=KEPT))
