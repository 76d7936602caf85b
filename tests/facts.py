"""Small true-to-life facts for tests: envelopes of LOG and INDEX as the workers publish them."""

from __future__ import annotations

import zstandard

from contracts.envelope import Envelope, encode
from contracts.events.index import AnchorMoved, FileRecorded, FileRemoved, VectorsStored
from contracts.events.log import IndexReset, RepoRegistered, RepoRemoved, WalkFilters
from contracts.extract import EXTRACTOR_VERSION, ChunkSpan, Extract, Symbol, pack
from contracts.ids import Digest, RepoId, RepoPath
from services.source.digest import digest_of
from services.source.terms import build_terms
from store.fold import Message

REPO = RepoId("demo")
_compress = zstandard.ZstdCompressor(level=1).compress


def wrap(event: object, *, generation: int = 1, repo: str = REPO, at_ms: int = 1_000) -> bytes:
    return encode(
        Envelope(
            id="t",
            repo=RepoId(repo),
            generation=generation,
            at_ms=at_ms,
            producer="test",
            event=event,
        )
    )


def registered(repo: str = REPO, generation: int = 1, root: str = "/tree") -> bytes:
    event = RepoRegistered(
        repo_id=RepoId(repo), root=root, filters=WalkFilters(), display_name=repo,
        index_generation=generation, memory_generation=1,
    )  # fmt: skip
    return wrap(event, generation=generation, repo=repo)


def reset(generation: int, repo: str = REPO) -> bytes:
    event = IndexReset(
        repo_id=RepoId(repo), index_generation=generation, memory_generation=1, reason="test"
    )
    return wrap(event, generation=generation, repo=repo)


def removed_repo(generation: int, repo: str = REPO) -> bytes:
    event = RepoRemoved(repo_id=RepoId(repo), index_generation=generation, memory_generation=2)
    return wrap(event, generation=generation, repo=repo)


def extract_of(path: str, text: str, names: tuple[str, ...] = ()) -> Extract:
    symbols = tuple(
        Symbol("function", name, f"{path}.{name}", f"def {name}()", 1, 1, 0, len(text))
        for name in names
    )
    chunks = (
        (ChunkSpan(0, len(text.encode()), 1, max(1, text.count("\n") + 1)),) if text.strip() else ()
    )
    return Extract(
        extractor_version=EXTRACTOR_VERSION, quality="full", line_count=text.count("\n") + 1,
        token_count=len(text.split()), text=_compress(text.encode()), symbols=symbols, chunks=chunks,
        terms=build_terms(path, [text] if chunks else [], [names] if chunks else [], names, [s.fq_name for s in symbols], []),
    )  # fmt: skip


def recorded(
    path: str,
    text: str,
    version: int,
    *,
    generation: int = 1,
    names: tuple[str, ...] = (),
    repo: str = REPO,
) -> bytes:
    data = text.encode()
    event = FileRecorded(
        path=RepoPath(path), version=version, digest=Digest(digest_of(data)), size_bytes=len(data),
        mtime_ns=version, anchor_ns=version + 1, language="python", kind="code", pass_id="p",
        extract=pack(extract_of(path, text, names)),
    )  # fmt: skip
    return wrap(event, generation=generation, repo=repo)


def removed(path: str, version: int, *, generation: int = 1) -> bytes:
    return wrap(
        FileRemoved(path=RepoPath(path), version=version, pass_id="p"), generation=generation
    )


def vectors(
    path: str, file_sequence: int, rows: int = 1, *, generation: int = 1, fill: int = 7
) -> bytes:
    event = VectorsStored(
        path=RepoPath(path), file_sequence=file_sequence, space="test/4", dimension=4,
        vectors=bytes([fill]) * (4 * rows),
    )  # fmt: skip
    return wrap(event, generation=generation)


def anchored(path: str, digest: str, anchor_ns: int) -> bytes:
    return wrap(
        AnchorMoved(
            path=RepoPath(path), digest=Digest(digest), mtime_ns=anchor_ns - 1, anchor_ns=anchor_ns
        )
    )


def messages(*payloads: bytes, start: int = 1) -> list[Message]:
    return [Message(start + number, payload) for number, payload in enumerate(payloads)]
