"""Vue and Svelte components: the script blocks, read as TypeScript in their place in the file."""

from __future__ import annotations

import re
from dataclasses import replace

from services.extractor.languages import ecma
from services.extractor.reader import Draft, Reader

_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)(?:</script\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BLANK = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))


def _script_only(data: bytes) -> bytes:
    """Blank out everything but the script blocks; offsets and lines stay."""
    masked = bytearray(data.translate(_BLANK))
    for found in _SCRIPT.finditer(data):
        masked[found.start(1) : found.end(1)] = found[1]
    return bytes(masked)


def module_of(path: str) -> str:
    """Return the folder's module: the component itself adds its name."""
    return ecma.module_of(path).rpartition(".")[0]


def declare(reader: Reader) -> None:
    name = reader.path.rpartition("/")[2].partition(".")[0]
    draft = Draft("component", name, 0, len(reader.data), f"component {name}")
    draft.visibility = "public"
    reader.add(draft)
    ecma.declare(reader)


VUE = replace(
    ecma.TYPESCRIPT, language="vue", declare=declare, module=module_of, prepare=_script_only,
    chunks_by_tree=False,
)  # fmt: skip
SVELTE = replace(VUE, language="svelte")
