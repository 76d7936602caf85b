"""Every tool of the product, in the order clients see them."""

from __future__ import annotations

from services.query.host import View
from services.query.registry import AGENT, Catalogue
from services.query.tools import files, readiness, records, repositories, search

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
TOOLS: Catalogue[View] = Catalogue.of(search, files, records, readiness, repositories).listing(
    AGENT, AGENT_TOOLS
)
