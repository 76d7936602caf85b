"""Which streams, subjects and durables exist, and who may use them?

    LOG       log.<repo>.repo                registry facts; kept for ever
              log.<repo>.mem.<topic>.<id>    NoteRecorded; kept for ever
              log.=~.numbers                 NumbersTaken
              log.<repo>.patch.<family>.<name>  RecordPatched; newest counts
              log.<repo>.ws.<workspace>      WorkspaceRecorded; newest counts
    INDEX     index.<repo>.file.<path>       FileRecorded / FileRemoved
              index.<repo>.anchor.<path>     AnchorMoved
              index.<repo>.vec.<path>        VectorsStored
              index.<repo>.pass              PassChanged
              index.<repo>.note.<topic>.<id> NoteVectorsStored
              index.<repo>.session.<id>      SessionDelivered
              index.<repo>.hist.<n>          HistoryStored (n = part)
              index.<repo>.ann.<n>           AnnPart (n = part), index.<repo>.ann.head AnnPublished
              index.<repo>.edges.<path>      EdgesResolved / EdgesDropped
              index.<repo>.base.<commit>.part.<n>  ManifestPart, .head BaselinePublished / BaselineDropped
              index.<repo>.ws.<workspace>.<0|1>.<n>  ManifestPart, .head OverlayPublished; editions alternate
              index.=~.space                 SpaceAgreed; "=~" stands for no repository
    WORK      work.pass.<repo>               PassJob            -> walker
              work.seen.<repo>.<walk>.<n>    WalkBatch, WalkFinished -> reconciler
              work.extract.<repo>.<path>     ExtractJob         -> extractors (shared durable)
              work.extract.<repo>.=~.<batch>.<path>  ReadJob, answered
    CMD       cmd.repo.<repo>                AddRepo RemoveRepo ResetIndex -> memory worker
              cmd.mem.<repo>                 RememberNote ClaimNote ... (events/memory.py) -> memory worker
              cmd.map.<repo>                 EnsureBaseline RefreshOverlay ... (events/mapping.py) -> resolver
    PROGRESS  progress.<repo>.<stage>
              progress.-.pace                PaceChanged
              progress.-.metrics.<worker>.<instance>  InstrumentsTold
    DEAD      dead.<durable>.<subject>       original bytes, cause in headers
    (core)    node.<node>.folded             projector: positions after each commit; not stored
    (core)    node.<node>.replay             projector: rebuild request, answered
    (core)    node.<node>.foreground         query: somebody waits for an answer while indexing goes on
    (core)    node.-.ballast                 zeros that nobody takes, so that the broker collects garbage

`<repo>` and `<path>` are escaped tokens: letters, digits, `-` and `_` stay, every other byte is
`=XX`; a token over 160 characters is cut and ends in `=~` and the xx128 of the whole.
"""

from __future__ import annotations

import re
from functools import lru_cache

import xxhash
from msgspec import Struct

from contracts.ids import path_to_bytes

_USUAL = re.compile(r"[A-Za-z0-9_/.-]+")
_PLAIN = re.compile(rb"[A-Za-z0-9_-]+")
_PIECES = re.compile(rb"[A-Za-z0-9_-]+|[^A-Za-z0-9_-]")
_TOKEN_CHARS = 160

LOG, INDEX, WORK, CMD, PROGRESS, DEAD = "LOG", "INDEX", "WORK", "CMD", "PROGRESS", "DEAD"


def token(text: str) -> str:
    """Escape any text into one subject token; injective up to the hash of over-long texts."""
    if _USUAL.fullmatch(text):
        escaped = text.replace("/", "=2F").replace(".", "=2E")
        if len(escaped) <= _TOKEN_CHARS:
            return escaped
    raw = path_to_bytes(text)
    if _PLAIN.fullmatch(raw):
        escaped = raw.decode()
    else:
        escaped = "".join(
            p.decode() if _PLAIN.match(p) else f"={p[0]:02X}" for p in _PIECES.findall(raw)
        )
    if len(escaped) <= _TOKEN_CHARS:
        return escaped or "=~"
    return f"{escaped[: _TOKEN_CHARS - 34]}=~{xxhash.xxh128_hexdigest(raw)}"


_repo = lru_cache(maxsize=256)(token)  # for subjects of files, which come by the thousand


def repo_log(repo: str) -> str:
    return f"log.{token(repo)}.repo"


def note_log(repo: str, topic: str, item: str) -> str:
    return f"log.{token(repo)}.mem.{token(topic)}.{token(item)}"


def workspace_log(repo: str, workspace: str) -> str:
    return f"log.{token(repo)}.ws.{token(workspace)}"


def record_patch(repo: str, family: str, name: str) -> str:
    return f"log.{token(repo)}.patch.{token(family)}.{token(name)}"


def memory_numbers() -> str:
    return f"log.{token('')}.numbers"


def note_vectors(repo: str, topic: str, item: str) -> str:
    return f"index.{token(repo)}.note.{token(topic)}.{token(item)}"


def session(repo: str, session_id: str) -> str:
    return f"index.{token(repo)}.session.{token(session_id)}"


def file_record(repo: str, path: str) -> str:
    return f"index.{_repo(repo)}.file.{token(path)}"


def file_anchor(repo: str, path: str) -> str:
    return f"index.{_repo(repo)}.anchor.{token(path)}"


def file_vectors(repo: str, path: str) -> str:
    return f"index.{_repo(repo)}.vec.{token(path)}"


def embedding_space() -> str:
    return f"index.{token('')}.space"


def repo_pass(repo: str) -> str:
    return f"index.{token(repo)}.pass"


def ann_part(repo: str, part: int) -> str:
    return f"index.{token(repo)}.ann.{part}"


def ann_head(repo: str) -> str:
    return f"index.{token(repo)}.ann.head"


def file_edges(repo: str, path: str) -> str:
    return f"index.{_repo(repo)}.edges.{token(path)}"


def baseline_part(repo: str, commit: str, part: int) -> str:
    return f"index.{token(repo)}.base.{token(commit)}.part.{part}"


def baseline_head(repo: str, commit: str) -> str:
    return f"index.{token(repo)}.base.{token(commit)}.head"


def overlay_part(repo: str, workspace: str, edition: int, part: int) -> str:
    """Where a part of an edition lies: beside those of the edition before, which still serves."""
    return f"index.{token(repo)}.ws.{token(workspace)}.{edition % 2}.{part}"


def overlay_head(repo: str, workspace: str) -> str:
    return f"index.{token(repo)}.ws.{token(workspace)}.head"


def map_command(repo: str) -> str:
    return f"cmd.map.{token(repo)}"


def history_part(repo: str, part: int) -> str:
    return f"index.{token(repo)}.hist.{part}"


def index_all(repo: str) -> str:
    return f"index.{token(repo)}.>"


def pass_job(repo: str) -> str:
    return f"work.pass.{token(repo)}"


def seen(repo: str, walk_id: str, number: int) -> str:
    return f"work.seen.{token(repo)}.{token(walk_id)}.{number}"


def extract_job(repo: str, path: str) -> str:
    return f"work.extract.{_repo(repo)}.{token(path)}"


def repo_command(repo: str) -> str:
    return f"cmd.repo.{token(repo)}"


def note_command(repo: str) -> str:
    return f"cmd.mem.{token(repo)}"


def read_job(repo: str, batch: str, path: str) -> str:
    return f"work.extract.{token(repo)}.=~.{token(batch)}.{token(path)}"


def progress(repo: str, stage: str) -> str:
    return f"progress.{token(repo or '-')}.{token(stage)}"


def dead(durable: str, subject: str) -> str:
    return f"dead.{durable}.{subject}"


def folded(node: str) -> str:
    return f"node.{token(node)}.folded"


def replay_request(node: str) -> str:
    return f"node.{token(node)}.replay"


ANY_FOREGROUND = "node.*.foreground"
BALLAST = "node.-.ballast"


def foreground(node: str) -> str:
    return f"node.{token(node)}.foreground"


def pace() -> str:
    return progress("", "pace")


def instruments(worker: str, instance: str) -> str:
    return f"{progress('', 'metrics')}.{token(worker)}.{token(instance)}"


ANY_INSTRUMENTS = f"{progress('', 'metrics')}.>"


class StreamSpec(Struct, frozen=True, kw_only=True):
    """One JetStream stream, as provisioned."""

    name: str
    subjects: tuple[str, ...]
    retention: str = "limits"  # limits, workqueue
    per_subject: int = -1  # newest kept per subject
    max_age_s: int = 0


STREAMS = (
    StreamSpec(name=LOG, subjects=("log.>",)),
    StreamSpec(name=INDEX, subjects=("index.>",), per_subject=1),
    StreamSpec(name=WORK, subjects=("work.>",), retention="workqueue", per_subject=1),
    StreamSpec(name=CMD, subjects=("cmd.>",), retention="workqueue"),
    StreamSpec(name=PROGRESS, subjects=("progress.>",), per_subject=1, max_age_s=3600),
    StreamSpec(name=DEAD, subjects=("dead.>",)),
)


class DurableSpec(Struct, frozen=True, kw_only=True):
    """One durable pull consumer; every process of a worker shares it."""

    name: str
    worker: str
    stream: str
    subject: str
    ack_wait_s: float = 10.0  # so long what a process had in hand waits when it was killed
    max_ack_pending: int = 1024


DURABLES = (
    DurableSpec(
        name="walker", worker="walker", stream=WORK, subject="work.pass.>", max_ack_pending=8
    ),
    DurableSpec(
        name="reconciler",
        worker="reconciler",
        stream=WORK,
        subject="work.seen.>",
        max_ack_pending=64,
    ),
    DurableSpec(
        name="extractor",
        worker="extractor",
        stream=WORK,
        subject="work.extract.>",
        max_ack_pending=2048,
    ),
    DurableSpec(
        name="embedder",
        worker="embedder",
        stream=INDEX,
        subject="index.*.file.>",
        max_ack_pending=2048,
    ),
    DurableSpec(
        name="memory", worker="memory", stream=CMD, subject="cmd.repo.>", max_ack_pending=64
    ),
    # A claim that waits its turn stays unacknowledged: so many may wait at once.
    DurableSpec(
        name="notes",
        worker="memory",
        stream=CMD,
        subject="cmd.mem.>",
        ack_wait_s=4.0,  # so long a caller waits for a command whose worker died
        max_ack_pending=50_000,
    ),
    DurableSpec(
        name="resolver", worker="resolver", stream=CMD, subject="cmd.map.>", max_ack_pending=64
    ),
    DurableSpec(name="note_embedder", worker="embedder", stream=LOG, subject="log.*.mem.>"),
)
