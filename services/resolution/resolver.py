"""What does every name in a repository mean? One manifest's files, resolved and kept resolved.

    resolver = Resolver(read)                     # read(path) -> Body of an untouched file
    resolver.load({path: summary, ...})           # what an earlier process yielded; no bodies
    for path, edges, summary in resolver.apply([(path, language, body), (gone, "", None)]):
        ...                                       # store both; `edges` replaces the file's edges

`apply` yields the changed files and those whose edges may have changed with them; everything else
keeps its edges. A removed file is not yielded. Whatever the order and history of changes, the
edges are those of a fresh resolver over the same files.

For a cold build over several processes: make every file's `summary_of` wherever its body is, `gather`
them in one process, fork that, and let every child `resolve` a share of the paths.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from contracts.extract import Body
from services.resolution import lookups
from services.resolution.edges import FileEdges
from services.resolution.engine import Engine
from services.resolution.families import family_of
from services.resolution.file_edges import FileResolver
from services.resolution.index import Index, packed
from services.resolution.summary import SUMMARY_VERSION, Summary, decode, encode, summarise
from services.resolution.unread import unread

Change = tuple[str, str, Body | None]  # path, language ("" when removed), None when removed
Resolved = tuple[str, FileEdges, bytes]  # path, edges, summary

# What rules that meet code they were not made for may raise; what reading raises is the caller's.
FAULTS = (
    RecursionError, LookupError, TypeError, ValueError, AttributeError, AssertionError,
    ArithmeticError, StopIteration,
)  # fmt: skip
_FRAMES = 8_000  # a long chain of types that each need the next
NO_EDGES = FileEdges((), b"", b"", b"", b"", b"", b"", b"", b"", b"")

# once and for all: a limit that changes while others run is theirs as well
sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


class Resolver:
    """The names of one manifest; `fork` puts a workspace's files over it."""

    def __init__(self, read: Callable[[str], Body]) -> None:
        """`read` is asked for the body of an untouched file that has to be resolved anew."""
        self._read = read
        self._index = Index()
        self._engines: dict[str, Engine] = {}
        self._fresh: dict[str, Body] = {}  # bodies of changed files not resolved yet

    @property
    def paths(self) -> list[str]:
        """Every file known, in order."""
        return sorted(self._index.summaries)

    def load(self, summaries: Mapping[str, bytes]) -> list[str]:
        """Take over summaries of an earlier process.

        Returns the paths whose summary is of another version: `apply` them anew.
        """
        outdated = []
        for path in sorted(summaries):
            summary = decode(summaries[path])
            if summary is None:
                outdated.append(path)
            else:
                self._index.replace(path, summary)
        self._forget()
        return outdated

    def apply(self, changes: Iterable[Change]) -> Iterator[Resolved]:
        """Replace, add and remove files, and yield every file whose edges are new."""
        yield from self.resolve(self.declare(changes))

    def declare(self, changes: Iterable[Change]) -> list[str]:
        """Replace, add and remove files; return the paths `apply` would yield, unresolved."""
        touched: set[str] = set()
        changed: set[int] = set()
        for path, language, body in changes:
            if body is None:
                changed |= self._index.replace(path, None)
                touched.discard(path)
                self._fresh.pop(path, None)
                continue
            summary = _summary(path, language, body)
            changed |= self._index.replace(path, summary)
            touched.add(path)
            self._fresh[path] = body
        self._forget()
        return sorted(touched | set(self._index.dependents(changed)))

    def gather(self, summaries: Iterable[tuple[str, bytes]]) -> None:
        """Take in all files of a resolver that has none, by what `summary_of` gives of each."""
        self._index.fill((path, _decoded(summary)) for path, summary in summaries)

    def resolve(self, paths: Iterable[str]) -> Iterator[Resolved]:
        """Resolve declared files as they stand; changes nothing that another process must know."""
        for path in paths:
            yield self._resolved(path)

    def fork(self, read: Callable[[str], Body]) -> Resolver:
        """Return a resolver over the same files whose changes leave this one as it is."""
        found = Resolver(read)
        found._index = self._index.copy()
        found._fresh = dict(self._fresh)
        return found

    def _resolved(self, path: str) -> Resolved:
        # Answers by the ten thousand, and no circles: the collector would only walk them in vain.
        collecting = gc.isenabled()
        gc.disable()
        try:
            body = self._fresh.pop(path, None) or self._read(path)
            edges = self._edges(path, self._index.summaries[path], body)
            return path, edges, encode(self._index.summaries[path])
        finally:
            if collecting:
                gc.enable()

    def _edges(self, path: str, summary: Summary, body: Body) -> FileEdges:
        family = family_of(summary.language)
        if family is None:
            return NO_EDGES
        engine = self._engine(family.name, summary.language)
        asked = engine.begin()
        try:
            edges = FileResolver(engine, path, summary, body).edges()
        except FAULTS as error:  # one file must not cost the others their edges
            edges = unread(body, f"not resolved: {type(error).__name__}")
        needs = packed(family.name, asked.all_keys())
        if needs != summary.needs:  # a copy: another resolver may share the summary
            self._index.summaries[path] = msgspec.structs.replace(summary, needs=needs)
        return edges

    def _engine(self, name: str, language: str) -> Engine:
        engine = self._engines.get(name)
        if engine is None:
            family = family_of(language)
            assert family is not None
            engine = self._engines[name] = Engine(self._index, family, *lookups.of(name))
        return engine

    def _forget(self) -> None:
        for engine in self._engines.values():
            engine.forget()


def summary_of(path: str, language: str, body: Body) -> bytes:
    """What other files need to know of a file, for `Resolver.gather`."""
    return encode(_summary(path, language, body))


def _decoded(data: bytes) -> Summary:
    found = decode(data)
    assert found is not None  # made by this very code
    return found


def _summary(path: str, language: str, body: Body) -> Summary:
    """Return a file's summary; one that declares nothing when it cannot be read."""
    try:
        return summarise(path, language, body)
    except FAULTS:  # its names are then found nowhere, and the others keep theirs
        return Summary(SUMMARY_VERSION, language, "", (), ())
