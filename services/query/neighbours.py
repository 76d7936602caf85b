"""Which files refer to which names? By simple name, as the cross-reference table of the spec.

The lexical segments hold the names each file refers to as a field of their own, so the files that
use a name are one posting list away; which of their symbols does is read from their bodies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set

import numpy as np

from contracts.extract import REFERENCE_KINDS, Body, References
from contracts.ids import RepoId
from services.source.terms import DEFINED, REFERENCE, hash_term
from store.read.live import Snapshot

_TYPE_KINDS = frozenset(
    {"class", "interface", "struct", "enum", "trait", "record", "union", "type", "component"}
)
_NAMES_FOLLOWED = (
    200  # declared names of one file that are looked up; more would read half the tree
)


def declared_types(body: Body) -> set[str]:
    """Simple names of the types that a file declares; of its functions where it declares no type."""
    types = {symbol.name for symbol in body.symbols if symbol.kind in _TYPE_KINDS}
    if types:
        return types
    return {
        symbol.name
        for symbol in body.symbols
        if symbol.kind in ("function", "macro") and symbol.parent < 0
    }


def referred_names(body: Body) -> list[str]:
    """Sorted names that a file imports or refers to as types, bases and constructors."""
    names = {
        entry.name or entry.module
        for entry in body.imports
        if (entry.name or entry.module) not in ("", "*")
    }
    names |= {entry.module for entry in body.imports if entry.module}
    if body.references is not None:
        wanted = {REFERENCE_KINDS.index(kind) for kind in ("type", "base", "new")}
        kinds = np.frombuffer(body.references.kind, dtype=np.uint8)
        chosen = np.isin(kinds, list(wanted))
        numbers = np.unique(np.frombuffer(body.references.name, dtype="<u4")[chosen])
        own = {symbol.name for symbol in body.symbols}
        names |= {body.references.strings[number] for number in numbers} - own
    return sorted(names)


def dependents(
    snapshot: Snapshot, repo_id: RepoId, names: Iterable[str], excluded: Set[str]
) -> list[tuple[str, str]]:
    """(path, symbol) of everything outside `excluded` files that refers to one of the names.

    A use at module level is told under the file's own path as its symbol.
    """
    wanted = set(sorted(names)[:_NAMES_FOLLOWED])
    found: set[tuple[str, str]] = set()
    for path, body in _files_using(snapshot, repo_id, wanted):
        if path in excluded or body.references is None:
            continue
        for scope in _scopes_using(body.references, wanted):
            found.add((path, body.symbols[scope].fq_name if scope >= 0 else path))
    return sorted(found, key=lambda pair: (pair[0].encode(), pair[1]))


def covering_tests(
    snapshot: Snapshot, repo_id: RepoId, names: Iterable[str], own_path: str
) -> list[tuple[str, str]]:
    """(path, symbol) of tests: types named {Name}Tests or {Name}Test, and test functions in test
    files that refer to one of the names."""
    followed = sorted(names)[:_NAMES_FOLLOWED]
    wanted = set(followed)
    found: set[tuple[str, str]] = set()
    by_convention = {f"{name}{ending}" for name in followed for ending in ("Tests", "Test")} | {
        f"Test{name}" for name in followed
    }
    for path, body in _declaring(snapshot, repo_id, by_convention):
        found |= {
            (path, symbol.fq_name)
            for symbol in body.symbols
            if symbol.name in by_convention and symbol.kind in _TYPE_KINDS
        }
    for path, body in _files_using(snapshot, repo_id, wanted):
        row = snapshot.file(repo_id, path)
        if path == own_path or row is None or row.kind != "test" or body.references is None:
            continue
        found |= {
            (path, body.symbols[scope].fq_name)
            for scope in _scopes_using(body.references, wanted)
            if scope >= 0
        }
    return sorted(found, key=lambda pair: (pair[0].encode(), pair[1]))


def most_telling(
    snapshot: Snapshot, repo_id: RepoId, referrers: list[tuple[str, str]], limit: int
) -> list[tuple[str, str]]:
    """At most `limit` of the (path, symbol) pairs, in their order: code before tests, and one symbol
    of each file before the second of any."""
    if len(referrers) <= limit:
        return referrers
    rows = {path: snapshot.file(repo_id, path) for path in {path for path, _ in referrers}}
    in_tests = {path: row is not None and row.kind == "test" for path, row in rows.items()}
    nth: Counter[str] = Counter()
    ranked: list[tuple[bool, int, int]] = []
    for position, (path, _) in enumerate(referrers):
        ranked.append((in_tests[path], nth[path], position))
        nth[path] += 1
    chosen = sorted(position for _, _, position in sorted(ranked)[:limit])
    return [referrers[position] for position in chosen]


def _scopes_using(references: References, names: Set[str]) -> set[int]:
    """Indexes of the symbols whose bodies use one of the names; -1 for module level."""
    numbers = [number for number, text in enumerate(references.strings) if text in names]
    if not numbers:
        return set()
    used = np.isin(np.frombuffer(references.name, dtype="<u4"), numbers)
    kinds = np.frombuffer(references.kind, dtype=np.uint8)
    used &= kinds != REFERENCE_KINDS.index("import")
    return {int(scope) for scope in np.unique(np.frombuffer(references.scope, dtype="<i4")[used])}


def _files_using(snapshot: Snapshot, repo_id: RepoId, names: Set[str]) -> list[tuple[str, Body]]:
    return _bodies(snapshot, repo_id, {hash_term(name, REFERENCE) for name in names})


def _declaring(snapshot: Snapshot, repo_id: RepoId, names: Set[str]) -> list[tuple[str, Body]]:
    return _bodies(snapshot, repo_id, {hash_term(name, DEFINED) for name in names})


def _bodies(snapshot: Snapshot, repo_id: RepoId, terms: Set[int]) -> list[tuple[str, Body]]:
    """Path and body of the live files that have one of these field terms."""
    sequences: set[int] = set()
    for view in snapshot.segment_views(repo_id):
        live = view.live_files
        for term in terms:
            ordinals, _ = view.field_postings(term)
            sequences |= {
                int(view.arrays.file_sequence[ordinal]) for ordinal in ordinals if live[ordinal]
            }
    found = []
    for sequence in sorted(sequences):
        path, body = snapshot.path(repo_id, sequence), snapshot.body(repo_id, sequence)
        if path is not None and body is not None:
            found.append((path, body))
    return found
