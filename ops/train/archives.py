"""What is inside a downloaded package: its source files, its licence, its version?"""

from __future__ import annotations

import fnmatch
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

import msgspec

from contracts.errors import NotFound
from ops.train.sources import debian_licences, is_permissive, licence_of

MAX_FILE_BYTES = 400_000
# Where Debian installs the source code of Rust, Go, Ruby and PHP packages.
_DEB_SOURCE = re.compile(
    r"usr/(?:share/cargo/registry/[^/]+/|share/gocode/src/|share/php/|lib/ruby/vendor_ruby/"
    r"|share/rubygems-integration/[^/]+/gems/[^/]+/)(.+)"
)


class Member(NamedTuple):
    """One text file of a package; the path has no leading package folder."""

    path: str
    body: bytes


def members(registry: str, paths: list[Path], suffixes: tuple[str, ...]) -> Iterator[Member]:
    """The files of a package whose names end in `suffixes`, sorted by path within each archive.

    Of a Debian source, files that its copyright file puts under another licence are left out; of a
    wheel, all but Python: scripts in wheels are mostly bundles of other projects.
    """
    if registry == "pypi":
        if ".py" in suffixes:
            yield from _of_zip(paths[0], (".py",))
        return
    if registry == "npm":
        yield from _of_tar(paths[0], suffixes, strip=1)
        return
    if registry == "deb":
        yield from _of_deb(paths[0], suffixes)
        return
    licences = debian_licences(_debian_text(paths, "copyright"))
    for path in paths:
        if re.search(r"\.orig(-[\w-]+)?\.tar\.\w+$", path.name):
            for member in _of_tar(path, suffixes, strip=1):
                if is_permissive(licence_of(member.path, licences)):
                    yield member


def stated_licence(registry: str, paths: list[Path]) -> tuple[str, str]:
    """Version and licence by the package's own metadata; "" for a licence it does not state."""
    if registry == "pypi":
        return _wheel_licence(paths[0])
    if registry == "npm":
        [manifest] = [m for m in _of_tar(paths[0], ("package.json",), 1) if "/" not in m.path]
        package = msgspec.json.decode(manifest.body, type=dict[str, object])
        licence = package.get("license")
        if isinstance(licence, dict):
            licence = licence.get("type")
        return str(package["version"]), licence if isinstance(licence, str) else ""
    if registry == "deb":
        _, version, _ = paths[0].name.split("_")
        copyright_text = _deb_copyright(paths[0])
        return version.replace("%3a", ":"), _main_licence(copyright_text)
    found = re.search(r"\(([^)]+)\)", _debian_text(paths, "changelog"))
    return (found[1] if found else ""), _main_licence(_debian_text(paths, "copyright"))


def _main_licence(copyright_text: str) -> str:
    pairs = debian_licences(copyright_text)
    return next((licence for pattern, licence in reversed(pairs) if pattern == "*"), "")


def _wheel_licence(path: Path) -> tuple[str, str]:
    with zipfile.ZipFile(path) as wheel:
        [name] = [n for n in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
        metadata = Parser().parsestr(wheel.read(name).decode("utf-8", "replace"))
    licence = metadata["License-Expression"] or ""
    if not licence:
        classifiers = [
            value.rpartition("::")[2].strip()
            for value in metadata.get_all("Classifier", [])
            if value.startswith("License ::")
        ]
        stated = (metadata["License"] or "").strip()
        licence = " AND ".join(classifiers) or (stated if "\n" not in stated else "")
    return str(metadata["Version"]), licence


def _debian_text(paths: list[Path], name: str) -> str:
    """The file debian/`name` of a Debian source package, "" when it has none."""
    for path in paths:
        if ".tar." in path.name and ".orig" not in path.name:
            for member in _of_tar(path, (name,), strip=0):
                if member.path.endswith(f"debian/{name}"):
                    return member.body.decode("utf-8", "replace")
    return ""


def _of_zip(path: Path, suffixes: tuple[str, ...]) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if info.filename.endswith(suffixes) and 0 < info.file_size <= MAX_FILE_BYTES:
                yield Member(info.filename, archive.read(info))


def _of_deb(path: Path, suffixes: tuple[str, ...]) -> Iterator[Member]:
    licences = debian_licences(_deb_copyright(path))
    with tarfile.open(fileobj=_deb_data(path)) as archive:
        found = list(_in_tar(archive, suffixes, strip=0))
    for member in sorted(found):
        placed = _DEB_SOURCE.fullmatch(member.path)
        # Patterns are relative to the source tree, of which the package holds a part.
        covering = [
            licence
            for pattern, licence in licences
            if fnmatch.fnmatchcase(f"/{member.path}", f"*/{pattern}")
        ]
        if placed and covering and is_permissive(covering[-1]):
            yield Member(placed[1], member.body)


def _deb_copyright(path: Path) -> str:
    with tarfile.open(fileobj=_deb_data(path)) as archive:
        for member in _in_tar(archive, ("/copyright",), strip=0):
            return member.body.decode("utf-8", "replace")
    return ""


def _deb_data(path: Path) -> io.BytesIO:
    """The archive of installed files inside a binary package (an `ar` archive of three files)."""
    blob = path.read_bytes()
    at = len(b"!<arch>\n")
    while at + 60 <= len(blob):
        name = blob[at : at + 16].decode().strip()
        size = int(blob[at + 48 : at + 58])
        at += 60
        if name.startswith("data.tar"):
            return io.BytesIO(blob[at : at + size])
        at += size + size % 2
    raise NotFound(f"{path.name} holds no files", hint="delete it, so that it is downloaded again")


def _of_tar(path: Path, suffixes: tuple[str, ...], strip: int) -> Iterator[Member]:
    with tarfile.open(path) as archive:
        found = sorted(_in_tar(archive, suffixes, strip))
    yield from found


def _in_tar(archive: tarfile.TarFile, suffixes: tuple[str, ...], strip: int) -> Iterator[Member]:
    for info in archive:
        parts = info.name.removeprefix("./").split("/")[strip:]
        wanted = info.isfile() and 0 < info.size <= MAX_FILE_BYTES
        if wanted and parts and info.name.endswith(suffixes):
            file = archive.extractfile(info)
            if file is not None:
                yield Member("/".join(parts), file.read())
