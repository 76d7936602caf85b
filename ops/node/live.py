"""What does a node say of itself? The running one where there is one, else its projection.

How indexing is paced and what the last questions met is known to the running query service alone;
everything else stands in the projection, so a stopped node is answered for as well.
"""

from __future__ import annotations

import argparse
import http.client
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from contracts.errors import Fault
from ops.ask import Asker
from ops.bench.client import ToolClient
from ops.node import lock
from ops.node.options import indexed_state

A = TypeVar("A", bound=Struct)


class Live:
    """Asks the node that the arguments mean."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.asker = Asker(args)
        state = indexed_state(args)
        holder = lock.holder(state)
        self._client = None
        if holder is not None and holder.url:
            try:
                self._client = ToolClient.of_state(holder.url, state.root)
            except (OSError, ValueError, KeyError):  # its tokens are not for us to read
                self._client = None

    @property
    def serving(self) -> bool:
        """Whether a running node answers; what a process keeps in memory is then that node's."""
        return self._client is not None

    def ask(self, tool: str, answer: type[A], arguments: Mapping[str, Any]) -> A:
        """The tool's answer; raises its faults."""
        if self._client is not None:
            try:
                return msgspec.convert(self._client.call(tool, **arguments), answer)
            except (OSError, http.client.HTTPException, Fault, KeyError, msgspec.ValidationError):
                self._client = None  # it stopped, or does not offer this tool
        found = self.asker.ask(tool, arguments)
        assert isinstance(found, answer)
        return found
