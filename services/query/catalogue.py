"""Every tool of the product, in the order clients see them."""

from __future__ import annotations

from services.query.host import View
from services.query.registry import AGENT, Catalogue
from services.query.tools import (
    claims,
    codemap_graph,
    codemap_repo,
    codemap_reports,
    codemap_surfaces,
    codemap_symbols,
    codemap_workspaces,
    context,
    files,
    memory_checks,
    memory_lookup,
    memory_retiring,
    memory_writes,
    notes,
    readiness,
    records,
    repositories,
    search,
)

# What a coding agent needs every day: find code, get it within a budget, look at one file, see who
# uses a thing, keep and find what was learnt (search finds notes too), see what changed.
AGENT_TOOLS = (
    "repocontext_search",
    "repocontext_context",
    "repocontext_outline",
    "refs_find",
    "repocontext_remember",
    "repocontext_changed",
)
TOOLS: Catalogue[View] = Catalogue.of(
    search, context, files, records, notes, claims, readiness, repositories,
    memory_lookup, memory_checks, memory_writes, memory_retiring,
    codemap_symbols, codemap_graph, codemap_surfaces, codemap_repo, codemap_workspaces,
    codemap_reports,
).listing(AGENT, AGENT_TOOLS)  # fmt: skip
