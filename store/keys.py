"""How are keys spelled?

repo key     xxh64 of the repository id, 8 bytes
path key     the path's bytes; over 400 bytes: its first 384 and the xx128 of all, 16 bytes
note key     topic "/" id, each as encoded in record keys, at most 220 bytes
name key     as path key, of the fully qualified name, then a zero byte
sequence     u8 big-endian, so that key order is stream order
"""

from __future__ import annotations

import struct

import xxhash

from contracts.ids import opaque, path_to_bytes

_LONGEST = 400
_KEPT = 384
_HALF = 220  # bytes of a topic or note id; longer ones end in their xx128
_SEQUENCE = struct.Struct(">Q")


def repo(repo_id: str) -> bytes:
    return xxhash.xxh64_digest(repo_id.encode())


def _bounded(raw: bytes) -> bytes:
    return raw if len(raw) <= _LONGEST else raw[:_KEPT] + xxhash.xxh128_digest(raw)


def file(repo_key: bytes, path: str) -> bytes:
    return repo_key + _bounded(path_to_bytes(path))


def name(repo_key: bytes, fq_name: str, sequence: int) -> bytes:
    return name_prefix(repo_key, fq_name) + _SEQUENCE.pack(sequence)


def name_prefix(repo_key: bytes, fq_name: str) -> bytes:
    return repo_key + _bounded(opaque(fq_name).encode(errors="replace")) + b"\0"


def note(repo_key: bytes, topic: str, item: str) -> bytes:
    """Ordinal order of topic, then id, both as encoded in record keys."""
    return note_prefix(repo_key, topic) + _half(item)


def note_prefix(repo_key: bytes, topic: str) -> bytes:
    """What the keys of a topic's notes start with."""
    return repo_key + _half(topic) + b"/"


def _half(component: str) -> bytes:
    raw = opaque(component).encode(errors="replace")
    return raw if len(raw) <= _HALF else raw[: _HALF - 16] + xxhash.xxh128_digest(raw)


def session(repo_key: bytes, session_id: str) -> bytes:
    return repo_key + _bounded(session_id.encode(errors="replace"))


def sequence(repo_key: bytes, number: int) -> bytes:
    return repo_key + _SEQUENCE.pack(number)


def sequence_of(key: bytes) -> int:
    """The sequence number that ends a key."""
    return int(_SEQUENCE.unpack(key[-8:])[0])


def part(repo_key: bytes, generation: int, number: int) -> bytes:
    return repo_key + _SEQUENCE.pack(generation) + _SEQUENCE.pack(number)
