"""How are keys spelled?

repo key     xxh64 of the repository id, 8 bytes
path key     the path's bytes; over 400 bytes: its first 384 and the xx128 of all, 16 bytes
note key     topic "/" id, each as encoded in record keys, at most 220 bytes
name key     as path key, of the fully qualified name, then a zero byte
sequence     u8 big-endian, so that key order is stream order
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

import xxhash

from contracts.ids import opaque, path_to_bytes

_LONGEST = 400
_KEPT = 384
_SHORT = _LONGEST // 4  # characters: no such name is over the longest, whatever is in it
_HALF = 220  # bytes of a topic or note id; longer ones end in their xx128
_SEQUENCE = struct.Struct(">Q")


@lru_cache(maxsize=256)  # part of nearly every key, and of few repositories
def repo(repo_id: str) -> bytes:
    return xxhash.xxh64_digest(repo_id.encode())


def _bounded(raw: bytes) -> bytes:
    return raw if len(raw) <= _LONGEST else raw[:_KEPT] + xxhash.xxh128_digest(raw)


def file(repo_key: bytes, path: str) -> bytes:
    return repo_key + _bounded(path_to_bytes(path))


def names(repo_key: bytes, fq_names: Iterable[str], sequence: int) -> list[bytes]:
    """The keys of names that one file declares."""
    tail = b"\0" + _SEQUENCE.pack(sequence)
    return [
        repo_key + _bounded(opaque(fq_name).encode(errors="replace")) + tail
        if len(fq_name) > _SHORT or "%" in fq_name or "/" in fq_name
        else repo_key + fq_name.encode(errors="replace") + tail
        for fq_name in fq_names
    ]


def name_prefix(repo_key: bytes, fq_name: str) -> bytes:
    return repo_key + _bounded(opaque(fq_name).encode(errors="replace")) + b"\0"


def note(repo_key: bytes, topic: str, item: str) -> bytes:
    """Ordinal order of topic, then id, both as encoded in record keys."""
    return note_prefix(repo_key, topic) + _half(item)


def note_prefix(repo_key: bytes, topic: str) -> bytes:
    """What the keys of a topic's notes start with."""
    return repo_key + _half(topic) + b"/"


def patch(repo_key: bytes, family: str, name: str) -> bytes:
    return repo_key + _bounded(f"{family}/".encode() + path_to_bytes(name))


def _half(component: str) -> bytes:
    raw = opaque(component).encode(errors="replace")
    return raw if len(raw) <= _HALF else raw[: _HALF - 16] + xxhash.xxh128_digest(raw)


def session(repo_key: bytes, session_id: str) -> bytes:
    return repo_key + _bounded(session_id.encode(errors="replace"))


def commit(repo_key: bytes, commit_sha: str) -> bytes:
    return repo_key + commit_sha.encode()


def workspace(repo_key: bytes, workspace_id: str) -> bytes:
    return repo_key + _bounded(workspace_id.encode(errors="replace"))


def base_name(commit_sha: str) -> str:
    """How a commit's manifest is named."""
    return f"base/{commit_sha}"


def overlay_name(workspace_id: str) -> str:
    """How a workspace's overlay is named."""
    return f"ws/{workspace_id}"


def edition(repo_key: bytes, name: str, number: int) -> bytes:
    return editions(repo_key, name) + _SEQUENCE.pack(number)


def editions(repo_key: bytes, name: str) -> bytes:
    """What the keys of all editions of a manifest start with."""
    return repo_key + xxhash.xxh64_digest(name.encode(errors="replace"))


def manifest(repo_key: bytes, name: str, edition: int) -> bytes:
    """What the keys of one edition of a baseline or an overlay start with."""
    return repo_key + xxhash.xxh64_digest(f"{name}\0{edition}".encode(errors="replace"))


def sequence(repo_key: bytes, number: int) -> bytes:
    return repo_key + _SEQUENCE.pack(number)


def sequence_of(key: bytes) -> int:
    """The sequence number that ends a key."""
    return int(_SEQUENCE.unpack(key[-8:])[0])


def edition_of(key: bytes) -> int:
    """The generation or edition in the key of a part."""
    return int(_SEQUENCE.unpack(key[-16:-8])[0])


def part(repo_key: bytes, generation: int, number: int) -> bytes:
    return repo_key + _SEQUENCE.pack(generation) + _SEQUENCE.pack(number)
