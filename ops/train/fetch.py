"""How do the pinned packages get into the download folder?

Each registry is asked through its own client: pip for wheels, npm for tarballs, apt-get for Debian
source packages and for binary packages that carry source code (with package lists of its own, so
that the machine's settings stay untouched).
A file that is there already with the right SHA-256 is not asked for again.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import msgspec

from contracts.errors import Fault, NotFound
from ops.train.archives import stated_licence
from ops.train.sources import Source, is_excluded, is_permissive

DEBIAN_SUITE = "bookworm"


class WrongPackage(Fault):
    """A package is not what the list of sources says, or may not be used."""

    code = "WRONG_PACKAGE"


def fetch(source: Source, folder: Path) -> list[Path]:
    """The files of one pinned package, downloaded when they are not there yet.

    Raises WrongPackage when a file's bytes are not the pinned ones.
    """
    place = folder / source.registry
    paths = [place / name for name in source.files]
    if not all(path.is_file() for path in paths):
        place.mkdir(parents=True, exist_ok=True)
        _CLIENTS[source.registry](source, place, folder)
    for path, digest in zip(paths, source.files.values(), strict=True):
        if not path.is_file() or sha256(path) != digest:
            raise WrongPackage(
                f"{path.name} is not the file that sources.json pins",
                hint="delete it from the download folder, or run the recipe with --relock",
            )
    return paths


def lock(wish: Source, folder: Path) -> Source:
    """The newest admissible version of a package (or the wished one), pinned.

    Raises WrongPackage for an excluded project or a licence that is not permissive.
    """
    if is_excluded(wish.name):
        raise WrongPackage(f"{wish.group} is a benchmark subject", hint="take it off the list")
    place = folder / "lock" / re.sub(r"\W+", "_", wish.group)
    place.mkdir(parents=True, exist_ok=True)
    if not any(place.iterdir()):
        _CLIENTS[wish.registry](wish, place, folder)
    paths = sorted(place.iterdir())
    version, licence = stated_licence(wish.registry, paths)
    if not is_permissive(licence):
        raise WrongPackage(
            f"{wish.group} is under {licence or 'no stated licence'}", hint="take it off the list"
        )
    home = folder / wish.registry
    home.mkdir(parents=True, exist_ok=True)
    files = {path.name: sha256(path) for path in paths}
    for path in paths:
        path.replace(home / path.name)
    return msgspec.structs.replace(wish, version=version, licence=licence, files=files)


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_pypi(source: Source, place: Path, _folder: Path) -> None:
    wanted = f"{source.name}=={source.version}" if source.version else source.name
    # Only wheels without compiled parts: the same file everywhere.
    pure = ["--platform", "any", "--implementation", "py", "--abi", "none"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pure = ["--only-binary=:all:", "--platform", "any", "--implementation", "py", "--abi", "none"]
    _run([*command, *pure, "--python-version", "3.11", "--dest", str(place), wanted], place)


def _from_npm(source: Source, place: Path, _folder: Path) -> None:
    wanted = f"{source.name}@{source.version}" if source.version else source.name
    _run(["npm", "pack", "--silent", "--ignore-scripts", wanted], place)


def _from_debian(source: Source, place: Path, folder: Path) -> None:
    wanted = f"{source.name}={source.version}" if source.version else source.name
    action = ["source", "--download-only"] if source.registry == "debian" else ["download"]
    _run(["apt-get", *_apt_options(folder / "apt"), "-qq", *action, wanted], place)


def _apt_options(state: Path) -> list[str]:
    """Options that make apt use lists of its own, read at first use."""
    listed = state / "sources.list"
    options = [
        option
        for setting in (
            f"Dir::Etc::sourcelist={listed}",
            "Dir::Etc::sourceparts=/dev/null",
            f"Dir::State::lists={state / 'lists'}",
            f"Dir::Cache={state / 'cache'}",
            "APT::Sandbox::User=root",
        )
        for option in ("-o", setting)
    ]
    if not listed.is_file():
        (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (state / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        suite = f"{_debian_mirror()} {DEBIAN_SUITE} main"
        listed.write_text(f"deb {suite}\ndeb-src {suite}\n", encoding="utf-8")
        _run(["apt-get", *options, "-qq", "update"], state)
    return options


def _debian_mirror() -> str:
    """Address of the mirror that this machine's apt uses."""
    settings = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.sources")]
    for path in settings:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = re.search(r"^(?:URIs:|deb)\s+(?:\[[^]]*\]\s+)?(\S+/debian)/?(?:\s|$)", text, re.M)
        if found:
            return found[1]
    raise NotFound(
        "apt on this machine names no Debian mirror",
        hint="run the recipe on Debian, or leave the Debian packages out with --registries",
    )


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WrongPackage(
            f"{command[0]} failed: {done.stderr.strip()[-500:]}",
            hint="check the network and the package's name and version",
        )


_CLIENTS = {"pypi": _from_pypi, "npm": _from_npm, "debian": _from_debian, "deb": _from_debian}
