"""Where do commands print for a person?

Names and texts of a repository may hold anything. What looks like markup in them is text, and a terminal
obeys what it is sent: on one, the characters that steer it, or that nobody would see, are written out.
What goes into a pipe stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from services.source.free_text import visible

_PIPED_WIDTH = 1_000  # whoever reads a pipe cuts lines himself


class Terminal(Console):
    """A console that shows such characters as <U+001B>, and words in the styles they are given only."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)
        if not self.is_terminal and "width" not in settings:
            self.width = _PIPED_WIDTH

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if self.is_terminal and not segment.control:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment
