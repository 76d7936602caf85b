"""Every tool of the product, in the order clients see them."""

from __future__ import annotations

from services.query.host import View
from services.query.registry import Catalogue
from services.query.tools import files, readiness, records, repositories, search

TOOLS: Catalogue[View] = Catalogue.of(search, files, records, readiness, repositories)
