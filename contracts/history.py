"""What is kept of a repository's earlier commits?

Of each commit the words of its message, hashed as the search terms of files are, and the paths it
touched; never the message itself, its author or its time. Commits stand oldest first.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from contracts.extract import compressed, decompressed
from contracts.ids import RepoPath


class Commits(Struct, frozen=True, array_like=True):
    """A run of commits, column by column; arrays are little-endian bytes."""

    paths: tuple[RepoPath, ...]  # what the arrays below index; relative to the repository's root
    term_offsets: bytes  # u4[commits + 1]
    terms: bytes  # u8, the distinct terms of each message, ascending
    file_offsets: bytes  # u4[commits + 1]
    files: bytes  # u4, paths as they were called after the commit; none where too many were touched
    renames: bytes  # u4[renames, 3]: commit, path before, path after

    @property
    def count(self) -> int:
        return len(self.term_offsets) // 4 - 1


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Commits)


def pack_commits(commits: Commits) -> bytes:
    """Bring commits into the form that travels and is stored."""
    return compressed(_encoder.encode(commits))


def unpack_commits(data: bytes | memoryview) -> Commits:
    """Raises msgspec.DecodeError for what `pack_commits` did not make."""
    return _decoder.decode(decompressed(data))
