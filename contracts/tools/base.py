"""What do all requests and answers have in common?

Python names are snake_case, wire names camelCase. A request refuses fields it does not declare; an
answer may grow. Bounds that clamp (page sizes, counts) are applied by the tool, not declared here:
a value out of bounds is no mistake.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

# A text that may be left out, but is refused when it is given blank. Required texts always are.
Filled = Annotated[str, Meta(extra={"filled": True})]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Arguments of one call."""


class Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of one call. A null means "does not apply" or "not known", never zero or empty."""
