"""What is a next step called on the command line? Tools tell theirs by the names of tools."""

from __future__ import annotations

import re

COMMAND_OF = {
    "index_ensure_baseline": "map baseline",
    "list_repositories": "memory repos",
    "memory_deprecate": "memory deprecate",
    "memory_get": "memory show",
    "memory_list": "memory list",
    "memory_query": "memory query",
    "memory_size": "memory size",
    "memory_update": "memory update",
    "repocontext_claim": "note claim",
    "repocontext_forget": "note forget",
    "repocontext_index_status": "status",
    "repocontext_recall": "note show",
    "repocontext_remember": "note remember",
    "repocontext_scan": "note list",
    "symbols_search": "symbols",
    "workspace_create": "map create",
}
_TOOL = re.compile(rf"\b(?:{'|'.join(COMMAND_OF)})\b")


def spoken(hint: str) -> str:
    """The hint with the commands in place of the tools they run."""
    return _TOOL.sub(lambda found: f"`repofold {COMMAND_OF[found[0]]}`", hint)
