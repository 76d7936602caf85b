"""How are lines of a file read and shown? From the disk, or from what a caller sent along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contracts.errors import Fault, InvalidArgument, NotFound
from contracts.filemap import FileFacts
from contracts.ids import RepoPath
from contracts.tools.codemap import Span, VirtualFile
from services.query.codemap.desk import Case
from services.source.digest import holds
from services.source.guard import RootReader

_LARGEST = 16 << 20
_EXCERPT_CHARS = 200
_CHANGED = (
    ", but the file has changed since, so these may be other lines;"
    ' workspace_id "live" follows the working tree'
)


class Sources:
    """Files of one repository, read once per call."""

    def __init__(self, case: Case, virtual: Sequence[VirtualFile] | None = None) -> None:
        self._case, self._root = case, Path(case.repo.root)
        self._virtual = {relative(file.file_path): file.content for file in virtual or ()}
        self._lines: dict[str, list[str]] = {}
        self._data: dict[str, bytes] = {}
        self._moved: dict[str, bool] = {}

    def lines(self, path: str) -> list[str]:
        """The lines of a file; raises NotFound for one that is not there or outside."""
        known = self._lines.get(path)
        if known is None:
            known = self._lines[path] = split_lines(self._read(path))
        return known

    def line(self, path: str, number: int) -> str | None:
        """One line, trimmed; None where the file is not the one any more that was indexed."""
        try:
            lines = self.lines(path)
        except Fault:
            self._lines[path] = []
            return None
        if self.moved(path) or not 1 <= number <= len(lines):
            return None
        return lines[number - 1].strip()[:_EXCERPT_CHARS]

    def moved(self, path: str) -> bool:
        """Is a file that was read another than the one the map was made of?"""
        known = self._moved.get(path)
        if known is None:
            facts, data = self._indexed(path), self._data.get(path)
            known = facts is not None and data is not None and not holds(facts.digest, data)
            self._moved[path] = known
        return known

    def told(self, path: str) -> str:
        """What an answer with lines of a file has to say of them where they may be other ones."""
        if not self.moved(path):
            return ""
        if path in self._virtual:
            return ", but virtual_files have the file otherwise, so these may be other lines"
        return _CHANGED

    def _indexed(self, path: str) -> FileFacts | None:
        """What the map tells of a file; nothing where the disk alone is asked about."""
        return self._case.map.files.facts(path) if hasattr(self._case, "map") else None

    def _read(self, path: str) -> str:
        if path in self._virtual and is_inside(path):
            self._data[path] = self._virtual[path].encode(errors="replace")
            return self._virtual[path]
        try:
            if ".git" in path.lower().split("/"):  # its configuration may hold passwords
                raise NotFound("no file of the tree")
            with RootReader(self._root) as reader:
                data = reader.read(RepoPath(path), _LARGEST).data
        except Fault as fault:
            gone = self._indexed(path) is not None
            raise NotFound(
                f"there is no file {path[:200]!r} in this repository",
                hint='it was there when it was indexed; workspace_id "live" follows the working tree'
                if gone
                else "give its path relative to the repository root",
                file_path=path[:200],
                reason=str(fault.details.get("reason", "missing")),
            ) from None
        self._data[path] = data
        return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def split_lines(text: str) -> list[str]:
    """Lines as they are counted when a file is read in: a form feed or the like ends none."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def relative(path: str) -> str:
    """A path as it is recorded: forward slashes, no "./" in front."""
    text = path.replace("\\", "/") if "/" not in path else path
    while text.startswith("./"):
        text = text[2:]
    return text


def is_inside(path: str) -> bool:
    """Whether a path, as `relative` gives it, is a plain one below the root."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def span(case: Case, path: str, lines: Sequence[str], first: int, last: int, *, cut: bool) -> Span:
    """Lines with their numbers, within the budget of an answer."""
    text = "\n".join(
        f"{number:>5} | {line}" for number, line in enumerate(lines[first - 1 : last], first)
    )
    shown, over = case.cut_chars(text, last - first + 1)
    if over:
        last = first + shown.count("\n")
    return Span(
        file_path=path,
        start_line=first,
        end_line=last,
        total_file_lines=len(lines),
        content=shown,
        truncated=cut or over,
    )


def bounded(first: int, last: int, total: int) -> tuple[int, int]:
    """A range of lines that a file has. Raises InvalidArgument when it begins behind the end."""
    if first < 1 or last < first:
        raise InvalidArgument(
            "start_line is at least 1 and end_line not before it",
            hint="lines are counted from 1; both ends are included",
            reason="span",
        )
    if first > max(total, 1):
        raise InvalidArgument(
            f"the file has {total} lines and start_line is {first}",
            hint="ask for lines that are there",
            reason="span",
        )
    return first, min(last, total)
