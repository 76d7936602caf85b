"""How are repositories, paths and records named?

Record keys follow `repo/{repoId}/{family}/...`: opaque components percent-encode `%` and `/`,
hierarchical ones (paths) encode `%` only, so a directory is a key prefix.

File names are bytes; `RepoPath` is text. A name that is not UTF-8 keeps its bytes: each byte that
does not decode becomes U+EF80 + (byte - 0x80), and a name that really contains such a character
has its bytes mapped the same way, so the mapping is a bijection.
"""

from __future__ import annotations

from typing import NewType

from msgspec import Struct

from contracts.errors import InvalidArgument

RepoId = NewType("RepoId", str)
RepoPath = NewType("RepoPath", str)  # relative to the repository root, "/" separators, never ".."
Digest = NewType("Digest", str)  # "xx128:<32 hex>"

_RAW = 0xEF80  # first of the 128 private-use characters that stand for bytes 0x80..0xFF
_FAMILIES = frozenset({"pkg", "file", "symbol", "content", "xref", "mem", "session"})


def path_from_bytes(raw: bytes) -> RepoPath:
    """Return the text form of a file name's bytes; the inverse of `path_to_bytes`."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="surrogateescape")
        text = "".join(
            chr(ord(c) - 0xDC80 + _RAW) if 0xDC80 <= ord(c) <= 0xDCFF else _guard(c) for c in text
        )
        return RepoPath(text)
    if any(_RAW <= ord(c) < _RAW + 128 for c in text):
        text = "".join(map(_guard, text))
    return RepoPath(text)


def _guard(char: str) -> str:
    if _RAW <= ord(char) < _RAW + 128:
        return "".join(chr(_RAW + b - 0x80) for b in char.encode())
    return char


def path_to_bytes(path: str) -> bytes:
    """Return the file name's bytes behind a `RepoPath`."""
    if path.isascii():
        return path.encode()
    return b"".join(
        bytes([ord(c) - _RAW + 0x80]) if _RAW <= ord(c) < _RAW + 128 else c.encode() for c in path
    )


def opaque(component: str) -> str:
    """Encode a key component that may contain anything."""
    return component.replace("%", "%25").replace("/", "%2F")


def unopaque(component: str) -> str:
    return component.replace("%2F", "/").replace("%25", "%")


class RecordKey(Struct, frozen=True):
    """A parsed record key. `family` is "repo" for the root; `name` is decoded."""

    repo_id: RepoId
    family: str
    name: str = ""  # path, fully qualified name, xref name, session id, or topic for mem
    item: str = ""  # memory id within its topic

    def __str__(self) -> str:
        root = f"repo/{opaque(self.repo_id)}"
        if self.family == "repo":
            return root
        if self.family in ("file", "pkg", "content"):
            return f"{root}/{self.family}/{self.name.replace('%', '%25')}"
        tail = f"/{opaque(self.item)}" if self.family == "mem" else ""
        return f"{root}/{self.family}/{opaque(self.name)}{tail}"


def parse_key(key: str) -> RecordKey:
    """Parse a record key; raises InvalidArgument for anything that is not one."""
    parts = key.split("/", 3)
    if parts[0] != "repo" or len(parts) < 2 or not parts[1]:
        raise _malformed(key)
    repo_id = RepoId(unopaque(parts[1]))
    if len(parts) == 2:
        return RecordKey(repo_id, "repo")
    if len(parts) != 4 or parts[2] not in _FAMILIES or not parts[3]:
        raise _malformed(key)
    family, rest = parts[2], parts[3]
    if family in ("file", "pkg", "content"):
        return RecordKey(repo_id, family, rest.replace("%25", "%"))
    if family == "mem":
        topic, _, item = rest.partition("/")
        if not topic or not item or "/" in item:
            raise _malformed(key)
        return RecordKey(repo_id, family, unopaque(topic), unopaque(item))
    if "/" in rest:
        raise _malformed(key)
    return RecordKey(repo_id, family, unopaque(rest))


def _malformed(key: str) -> InvalidArgument:
    shown = key if len(key) <= 120 else key[:117] + "..."
    return InvalidArgument(
        f"malformed key {shown!r}",
        hint="keys look like repo/{repoId}/file/{path}, .../symbol/{name}, .../xref/{name} or .../mem/{topic}/{id}",
        reason="malformed_key",
    )
