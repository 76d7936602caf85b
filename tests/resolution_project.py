"""A small repository in memory, resolved as the resolution worker does it."""

from __future__ import annotations

from contracts.extract import Body
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.resolution.edges import Edge, FileEdges, rows
from services.resolution.resolver import Change, Resolver


def change_of(path: str, text: str | None) -> Change:
    """Return what the resolver is told of a file's new text, None for a removal."""
    if text is None:
        return path, "", None
    found = extract_file(RepoPath(path), text.encode())
    extract = found.extract
    if extract is None:
        return path, "", None
    body = Body(
        extract.symbols, extract.imports, extract.references, extract.bindings, extract.chunks
    )
    return path, found.language, body


class Project:
    """Files, and the edges a resolver has yielded for them."""

    def __init__(self, files: dict[str, str]) -> None:
        self.bodies: dict[str, Body] = {}
        self.found: dict[str, FileEdges] = {}
        self.summaries: dict[str, bytes] = {}
        self.resolver = Resolver(lambda path: self.bodies[path])
        self.put(dict(files))

    def put(self, files: dict[str, str | None]) -> list[str]:
        """Write or remove files; return the paths resolved anew."""
        changes = [change_of(path, text) for path, text in files.items()]
        for path, _, body in changes:
            if body is None:
                for kept in (self.bodies, self.found, self.summaries):
                    kept.pop(path, None)
            else:
                self.bodies[path] = body
        resolved = []
        for path, edges, summary in self.resolver.apply(changes):
            self.found[path], self.summaries[path] = edges, summary
            resolved.append(path)
        return resolved

    def edges(self) -> dict[str, list[Edge]]:
        return {path: list(rows(edges)) for path, edges in self.found.items()}

    def calls(self, path: str) -> dict[int, str]:
        """Return what the calls of a file mean, by line: a symbol id, or the state they are in."""
        return {
            edge.line: edge.target or edge.state
            for edge in rows(self.found[path])
            if edge.kind in ("call", "instantiate")
        }
