"""Which declaration does Clang give each name of a C or C++ tree?

    python clang_types.py TREE [ARGUMENT...] > package.tsv

It needs the package `libclang`, which this product does not. Arguments go to the compiler (`-DX=1`,
`-I` of what the tree's own folders do not tell). One line a use: path, line, byte column, then path,
line and name of the declaration; "-" when it lies outside the tree. A name that a macro's expansion
holds is none; the macro's own is.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit

_SOURCES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".inl", ".inc"})
_STANDARDS = {"c": "-std=gnu11", "c++": "-std=gnu++17"}
_USES = frozenset({
    CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR, CursorKind.TYPE_REF,
    CursorKind.TEMPLATE_REF, CursorKind.MEMBER_REF, CursorKind.MACRO_INSTANTIATION,
})  # fmt: skip


def main(root: Path, arguments: list[str]) -> None:
    """Print every use in the tree's sources and the headers they include, each once."""
    lines: set[str] = set()
    folders = _include_folders(root)
    index = Index.create()
    for source in sorted(root.rglob("*")):
        language = _SOURCES.get(source.suffix)
        if language is None:
            continue
        options = ["-x", language, _STANDARDS[language], "-ferror-limit=0", *folders, *arguments]
        unit = index.parse(
            str(source), options, options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        )
        lines.update(_uses(unit, root))
    print("\n".join(sorted(lines)))


def _include_folders(root: Path) -> list[str]:
    """Return the tree's folders with headers and those above, nearest to the top first."""
    folders = {root}
    for header in root.rglob("*"):
        if header.suffix in _HEADERS:
            folders.add(header.parent)
            folders.update(parent for parent in header.parents if parent.is_relative_to(root))
    builtin = subprocess.run(  # the headers of a compiler, which libclang comes without
        ["gcc", "-print-file-name=include"], capture_output=True, text=True, check=True
    ).stdout.strip()
    ordered = sorted(folders, key=lambda folder: (len(folder.parts), folder))
    return [*(f"-I{folder}" for folder in ordered), "-isystem", builtin]


def _uses(unit: TranslationUnit, root: Path) -> Iterator[str]:
    texts: dict[str, list[bytes]] = {}
    places: dict[str, str | None] = {}

    def inside(name: str) -> str | None:
        if name not in places:
            path = Path(name).resolve()
            places[name] = path.relative_to(root).as_posix() if path.is_relative_to(root) else None
        return places[name]

    for outermost in unit.cursor.get_children():
        held = outermost.location.file
        path = inside(held.name) if held is not None else None
        for cursor in outermost.walk_preorder() if path is not None else ():
            if cursor.kind not in _USES or cursor.location.file is None:
                continue
            path = inside(cursor.location.file.name)
            meant = cursor.referenced
            if path is None or meant is None or not meant.spelling:
                continue
            if path not in texts:
                texts[path] = (root / path).read_bytes().split(b"\n")
            yield from _line(cursor, meant, path, texts[path], inside)


def _line(
    cursor: Cursor, meant: Cursor, path: str, text: list[bytes], inside: Callable[[str], str | None]
) -> Iterator[str]:
    """Yield the line of a use, unless something else than the name is written there."""
    name, line, column = meant.spelling, cursor.location.line, cursor.location.column - 1
    if line > len(text) or not text[line - 1][column:].startswith(name.encode()):
        return
    declared = meant.location
    place = inside(declared.file.name) if declared.file is not None else None
    if place is None:
        yield f"{path}\t{line}\t{column}\t-\t0\t{name}"
    else:
        yield f"{path}\t{line}\t{column}\t{place}\t{declared.line}\t{name}"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
