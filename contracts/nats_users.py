"""Which NATS user may do what?

Every worker connects as a user of its own that reaches its own subjects and nothing else: a broken
extractor cannot write facts, and nobody but the memory worker can write LOG, except for the resolver's
workspaces.

    user        takes                          writes
    walker      WORK durable, core notices     work.seen work.pass, history parts, progress; asks how far vectors are
    reconciler  WORK durable, folded notices   work.extract work.pass, file/anchor/pass records, progress
    extractor   WORK durable                   file records, progress, answers to the resolver
    embedder    INDEX, LOG durables, the space vec and note records, the space, progress; puts durables back
    ann         INDEX in order, notices        ann records, progress
    resolver    CMD durable, folded notices    edges, baselines, overlays, log.*.ws.>; read jobs; purges INDEX
    memory      CMD durables, LOG in order     log.>, work.pass, pass records, replies; purges INDEX, WORK
    projector   LOG and INDEX in order         folded notices, replies
    query       notices, progress              commands, sessions, replay requests
    ops         everything                     provisioning, commands, dead letters put back; never log.>

Everybody may park on its own dead subject and listen on its own inbox alone.
"""

from __future__ import annotations

from msgspec import Struct

from contracts.subjects import (
    ANY_FOREGROUND,
    BALLAST,
    CMD,
    DEAD,
    DURABLES,
    INDEX,
    LOG,
    PROGRESS,
    STREAMS,
    WORK,
    embedding_space,
    progress,
)

_API = "$JS.API"


class UserSpec(Struct, frozen=True, kw_only=True):
    """One user's permissions; what is not allowed is refused, `deny_publish` beats `publish`."""

    name: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    deny_publish: tuple[str, ...] = ()


def inbox(user: str) -> str:
    """The subjects of a user's own answers; the kernel's bus makes its inboxes below it."""
    return f"_INBOX_{user}.>"


def _durables(worker: str) -> tuple[str, ...]:
    """What taking and acknowledging a worker's durables needs, and parking what cannot be handled."""
    allowed: list[str] = []
    for spec in DURABLES:
        if spec.worker == worker:
            allowed += (
                f"{_API}.CONSUMER.MSG.NEXT.{spec.stream}.{spec.name}",
                f"{_API}.CONSUMER.INFO.{spec.stream}.{spec.name}",
                *_acknowledgements(spec.stream, spec.name),
                f"dead.{spec.name}.>",
            )
    return tuple(allowed)


def _acknowledgements(stream: str, durable: str) -> tuple[str, str]:
    # The second form carries the JetStream domain and the account, as leaf nodes use it.
    return f"$JS.ACK.{stream}.{durable}.>", f"$JS.ACK.*.*.{stream}.{durable}.>"


def _reading(*streams: str) -> tuple[str, ...]:
    """What reading streams in order needs: the state, and consumers that the broker forgets."""
    return tuple(
        subject
        for stream in streams
        for subject in (
            f"{_API}.STREAM.INFO.{stream}",
            f"{_API}.CONSUMER.CREATE.{stream}.*",
            f"{_API}.CONSUMER.MSG.NEXT.{stream}.*",
        )
    )


def _not_the_durables(*streams: str) -> tuple[str, ...]:
    """A reader may make consumers of its own, not touch those that workers share."""
    return tuple(
        f"{_API}.CONSUMER.{verb}.{spec.stream}.{spec.name}"
        for spec in DURABLES
        if spec.stream in streams
        for verb in ("CREATE", "MSG.NEXT")
    )


def _newest(*streams: str) -> tuple[str, ...]:
    """Reading a subject's newest message, as a conditional append does after a lost race."""
    return tuple(f"{_API}.DIRECT.GET.{stream}.>" for stream in streams)


def _worker(
    name: str,
    *publish: str,
    subscribe: tuple[str, ...] = (),
    deny_publish: tuple[str, ...] = (),
) -> UserSpec:
    return UserSpec(
        name=name,
        publish=(*_durables(name), *publish),
        subscribe=(inbox(name), *subscribe),
        deny_publish=deny_publish,
    )


_ANSWERS = (inbox("query"), inbox("ops"))
_PROGRESS = "progress.>"
_EMBEDDED = f"{_API}.CONSUMER.INFO.{INDEX}.embedder"  # how far vectors have been made

USERS = (
    _worker(
        "walker", "work.seen.>", "work.pass.>", "index.*.hist.>", _PROGRESS, _EMBEDDED,
        subscribe=("node.*.folded", ANY_FOREGROUND),
    ),
    _worker(
        "reconciler",
        "work.extract.>", "work.pass.>",
        "index.*.file.>", "index.*.anchor.>", "index.*.pass",
        _PROGRESS,
        *_newest(INDEX), f"{_API}.STREAM.INFO.{WORK}", f"{_API}.CONSUMER.INFO.{WORK}.extractor",
        f"{_API}.STREAM.INFO.{INDEX}", _EMBEDDED,
        subscribe=("node.*.folded", ANY_FOREGROUND, progress("", "embedder")),
    ),
    _worker("extractor", "index.*.file.>", inbox("resolver"), _PROGRESS, *_newest(INDEX), subscribe=(ANY_FOREGROUND,)),
    _worker(
        "embedder",
        "index.*.vec.>", "index.*.note.>", embedding_space(), _PROGRESS, *_newest(LOG, INDEX),
        f"{_API}.CONSUMER.RESET.{INDEX}.embedder", f"{_API}.CONSUMER.RESET.{LOG}.note_embedder",
        subscribe=(embedding_space(), ANY_FOREGROUND),
    ),
    _worker(
        "ann",
        "index.*.ann.>", _PROGRESS, *_newest(INDEX), *_reading(INDEX),
        subscribe=("node.*.folded",),
        deny_publish=_not_the_durables(INDEX),
    ),
    _worker(
        "resolver",
        "index.*.edges.>", "index.*.base.>", "index.*.ws.>", "log.*.ws.>", "work.extract.*.=~.>",
        _PROGRESS, *_ANSWERS, *_newest(LOG, INDEX), f"{_API}.STREAM.PURGE.{INDEX}",
        subscribe=("node.*.folded",),
    ),
    _worker(
        "memory",
        "log.>", "work.pass.>", "index.*.pass", _PROGRESS, *_ANSWERS,
        *_newest(LOG, INDEX), *_reading(LOG),
        f"{_API}.DIRECT.GET.{LOG}", f"{_API}.STREAM.MSG.GET.{LOG}",
        *(f"{_API}.STREAM.{verb}.{stream}" for verb in ("INFO", "PURGE") for stream in (INDEX, WORK)),
        f"{_API}.DIRECT.GET.{WORK}.work.pass.>",
        subscribe=("log.*.mem.>",),
    ),
    _worker(
        "projector",
        "node.*.folded", _PROGRESS, *_ANSWERS, *_reading(LOG, INDEX),
        subscribe=("node.*.replay",),
        deny_publish=_not_the_durables(LOG, INDEX),
    ),
    _worker(
        "query",
        "cmd.>", "index.*.session.>", "node.*.replay", "node.*.foreground", *_newest(LOG, INDEX),
        f"{_API}.DIRECT.GET.{PROGRESS}",
        *(f"{_API}.STREAM.INFO.{stream.name}" for stream in STREAMS),
        *(f"{_API}.CONSUMER.INFO.{spec.stream}.{spec.name}" for spec in DURABLES),
        subscribe=("node.*.folded", _PROGRESS),
    ),
    UserSpec(
        name="ops",
        publish=(f"{_API}.>", "cmd.>", "work.>", "index.*.file.>", "node.*.replay", BALLAST),
        subscribe=(
            inbox("ops"), "log.>", "index.>", "work.>", "cmd.>", _PROGRESS, "dead.>", "node.*.folded",
        ),
        deny_publish=tuple(f"{_API}.STREAM.{verb}.{stream}" for verb in ("DELETE", "PURGE") for stream in (LOG, CMD, PROGRESS, DEAD)),
    ),
)  # fmt: skip
