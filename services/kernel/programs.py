"""How is work done that needs a process of its own? By `main` of a module, in another interpreter."""

from __future__ import annotations

import sys

_START = "import sys; sys.path[:0] = {path!r}; from {module} import main; main()"


def command(module: str) -> list[str]:
    """What starts a module's `main` with this very interpreter, and finds what this process finds."""
    path = [entry for entry in sys.path if entry]
    return [sys.executable, "-P", "-c", _START.format(path=path, module=module)]
