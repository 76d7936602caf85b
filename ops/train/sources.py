"""Which packages does the static model learn from, and may it?

`sources.json` pins every package: registry, version, the SHA-256 of each file, and the licence its
own metadata states. Only permissive licences are admitted, and none of the projects that are in
use as benchmark subjects, so that a score on those never shows a text the model has seen.
"""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import msgspec
from msgspec import Struct

SOURCES_FILE = Path(__file__).with_name("sources.json")

REGISTRIES = ("pypi", "npm", "debian", "deb")

# Subjects of the code-search and issue-resolution benchmarks in use, here and elsewhere.
_EXCLUDED_TEXT = """
    pytest scrapy sphinx eslint svelte fastify rxjs bat fzf libgit2 mockito composer puma
    aiohttp pydantic werkzeug flask fastapi requests click starlette httpx django kubernetes k8s.io
    sqlalchemy astropy matplotlib seaborn xarray pylint scikit-learn sympy numpy pandas scipy
    axios express preact vue react three babel docusaurus immutable dayjs darkreader mui
    clap tokio ripgrep fd nushell rayon serde bytes tracing axum ruff coreutils
    caddy gin hugo prometheus terraform cli grpc-go go-zero
    druid gson lombok lucene rxjava javaparser jackson-core jackson-databind jib
    redis jq micropython valkey zstd ponyc catch2 fmtlib fmt nlohmann-json simdjson
    phpspreadsheet laravel-framework php-cs-fixer carbon jekyll fluentd rubocop fastlane faker fpm
    """
EXCLUDED = frozenset(_EXCLUDED_TEXT.split())
# Names that are ordinary words for a folder of somebody's own code.
_ORDINARY_NAMES = frozenset({"cli", "bytes", "three", "carbon", "tracing", "fd"})
_DISTRIBUTION_AFFIX = re.compile(
    r"^(?:librust-|lib|golang-(?:github-[^-]+-)?|rust-|ruby-|php-|node-|python-)|(?:-java|-dev|\.js)+$"
)
_PERMISSIVE_NAMES = frozenset({"mit", "expat", "bsd", "apache", "isc", "psf", "python"})
_LICENCE_TEXT = """
    asl c clause foundation google iscl licence license modified new revised simplified software
    style the v version x
"""
_LICENCE_WORDS = _PERMISSIVE_NAMES | frozenset(_LICENCE_TEXT.split())


class Source(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pinned package."""

    registry: str  # one of REGISTRIES: debian has source packages, deb binary ones with source code
    name: str
    version: str = ""  # "" in a wish that was never locked
    licence: str = ""  # as the package's own metadata states it
    files: dict[str, str] = {}  # file name -> SHA-256, in hexadecimal
    share: int = 1  # how many packages' worth of pairs it may give, for a language with few others

    @property
    def group(self) -> str:
        """Name of the package among all registries."""
        return f"{self.registry}:{self.name}"


def read_sources(path: Path = SOURCES_FILE) -> list[Source]:
    """The pinned packages, in the file's order."""
    return msgspec.json.decode(path.read_bytes(), type=list[Source])


def write_sources(sources: list[Source], path: Path = SOURCES_FILE) -> None:
    """Write the list with one package a line, so that a change of one is a change of one line."""
    lines = ",\n".join(msgspec.json.encode(source).decode() for source in sources)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def is_excluded(name: str) -> bool:
    """Whether a package is a benchmark subject, under its own or its distribution's name."""
    plain = name.lower().rpartition("/")[2]
    return plain in EXCLUDED or _DISTRIBUTION_AFFIX.sub("", plain) in EXCLUDED


def is_copy_of_excluded(path: str) -> bool:
    """Whether a file looks like a copy of a benchmark subject inside another package.

    A folder or a script named for one is enough: that loses some code which merely works with the
    project, and keeps out what is bundled without being called vendored.
    """
    *folders, name = path.lower().split("/")
    names = {folder.lstrip("_") for folder in folders}
    if name.endswith((".js", ".mjs", ".cjs", ".ts")):
        names.add(name.partition(".")[0])
    return bool(names & (EXCLUDED - _ORDINARY_NAMES))


def is_permissive(licence: str) -> bool:
    """Whether a licence expression is MIT, BSD, Apache, ISC or PSF, or offers one of them."""
    text = re.sub(r"with llvm-exception", "", licence.lower())
    for choice in re.split(r"\bor\b|[/|]", text):
        words = set(re.findall(r"[a-z]+", choice)) - {"and"}
        if words & _PERMISSIVE_NAMES and words <= _LICENCE_WORDS:
            return True
    return False


def debian_licences(copyright_text: str) -> list[tuple[str, str]]:
    """(file pattern, licence) pairs of a machine-readable copyright file, in its order.

    A later pattern wins over an earlier one; a text in another format gives no pairs.
    """
    pairs: list[tuple[str, str]] = []
    for stanza in re.split(r"\n[ \t]*\n", copyright_text):
        files = re.search(r"^Files:[ \t]*((?:.*\n?)(?:[ \t]+.*\n?)*)", stanza, re.MULTILINE)
        licence = re.search(r"^License:[ \t]*(.*)", stanza, re.MULTILINE)
        if files and licence:
            pairs += [(pattern, licence[1].strip()) for pattern in files[1].split()]
    return pairs


def licence_of(path: str, pairs: list[tuple[str, str]]) -> str:
    """The licence of one file by the pairs of `debian_licences`; "" when none covers it."""
    covering = [licence for pattern, licence in pairs if fnmatch.fnmatchcase(path, pattern)]
    return covering[-1] if covering else ""
