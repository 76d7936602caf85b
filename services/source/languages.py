"""What is a file, judged by its path: which language, and what part does it play in a repository?

Two further questions look at a little of the body: was the file written by a program, and was it
squeezed for delivery? Both lean to "no": a file wrongly left out of the index is worse than a
generated one left in.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_EXTENSIONS = """
python: py pyi pyw pyx pxd | javascript: js mjs cjs jsx es6 | typescript: ts mts cts tsx
java: java | csharp: cs csx cake | go: go | rust: rs | c: c h | ruby: rb rake gemspec ru rbi rbw
cpp: cc cpp cxx c++ hpp hh hxx h++ ipp inl tpp cu cuh ino | php: php phtml php3 php4 php5 inc phps
kotlin: kt kts | swift: swift | scala: scala sc sbt | lua: lua | bash: sh bash bats ksh zsh
elixir: ex exs | erlang: erl hrl | haskell: hs lhs | ocaml: ml mli | fsharp: fs fsi fsx
zig: zig | dart: dart | julia: jl | r: r | perl: pl pm | objectivec: m mm | clojure: clj cljs cljc
groovy: groovy gradle | nim: nim | d: d di | fortran: f f90 f95 f03 | pascal: pas pp | ada: adb ads
assembly: s asm | tcl: tcl | powershell: ps1 psm1 psd1 | batch: bat cmd | fish: fish | vim: vim
elisp: el | commonlisp: lisp cl | scheme: scm ss rkt | prolog: pro | vhdl: vhd vhdl
verilog: v sv svh | solidity: sol | proto: proto | thrift: thrift | graphql: graphql gql
prisma: prisma | razor: razor cshtml
cmake: cmake | make: mk mak | nix: nix | awk: awk | sed: sed | glsl: glsl vert frag | yacc: y yy
lex: l lex | jinja: j2 jinja jinja2 | erb: erb | twig: twig | vue: vue | svelte: svelte | sql: sql
html: html htm xhtml | css: css | scss: scss | sass: sass | less: less | astro: astro
markdown: md mdx markdown mkd | rst: rst | text: txt text | asciidoc: adoc asciidoc | latex: tex sty
org: org | json: json json5 jsonc webmanifest geojson topojson | yaml: yaml yml | toml: toml
ini: ini cfg conf properties editorconfig env | xml: xml xsd xsl xslt wsdl plist csproj props pom
hcl: tf tfvars hcl | gettext: po pot | csv: csv tsv | svg: svg | diff: diff patch | lock: lock
"""
_FILE_NAMES = """
make: makefile gnumakefile | docker: dockerfile containerfile | cmake: cmakelists.txt
ruby: gemfile rakefile vagrantfile podfile guardfile brewfile | groovy: jenkinsfile
starlark: build build.bazel workspace tiltfile | just: justfile | go-mod: go.mod | lock: go.sum
text: license copying notice authors readme changelog | bash: .bashrc .bash_profile .profile
ini: .gitconfig .npmrc .flake8 .env | gitignore: .gitignore .dockerignore .npmignore
"""
_SHEBANG = re.compile(
    rb"#![^\n]*?[/ ](python|node|ruby|php|perl|lua|bash|zsh|ksh|dash|sh|deno)[\d.]*(?:\s|$)"
)
_SHEBANG_LANGUAGES = {"node": "javascript", "deno": "typescript", "zsh": "bash", "ksh": "bash"} | {
    "dash": "bash",
    "sh": "bash",
}

_PROSE = frozenset({"markdown", "rst", "text", "asciidoc", "latex", "org", "html"})
_CONFIG = frozenset({"json", "yaml", "toml", "ini", "xml", "hcl", "docker", "gitignore", "go-mod"})
_DATA = frozenset({"gettext", "csv", "svg", "diff", "lock"})
_NO_PROGRAMS = _PROSE | _CONFIG | _DATA
_STYLE = frozenset({"css", "scss", "sass", "less"})


def _table(text: str) -> dict[str, str]:
    entries = (entry.split(":") for entry in text.replace("\n", "|").split("|") if entry.strip())
    return {name: language.strip() for language, names in entries for name in names.split()}


_BY_EXTENSION = _table(_EXTENSIONS)
_BY_NAME = _table(_FILE_NAMES)

_TEST_NAME = re.compile(
    r"(?:^test_|^test-|[_.-](?:test|tests|spec|specs|e2e|bench)$|^conftest$|\.test-d$|^tests$)"
)
_TEST_TYPE_NAME = re.compile(r"[a-z0-9](?:Tests?|TestCase|Spec|IT)$")
_TEST_FOLDERS = frozenset(
    [
        "tests",
        "__tests__",
        "__mocks__",
        "testdata",
        "test-data",
        "test_data",
        "fixtures",
        "e2e",
        "androidtest",
        "commontest",
        "integration_tests",
        "integration_test",
        "integration-tests",
        "unittests",
        "unit_tests",
    ]
)
_SPEC_LANGUAGES = frozenset({"ruby", "javascript", "typescript", "php", "lua", "vue", "svelte"})
_DOC_FOLDERS = frozenset({"doc", "docs", "documentation", "website", "man"})
_VENDOR_FOLDERS = frozenset(
    [
        "vendor",
        "vendors",
        "vendored",
        "_vendor",
        "third_party",
        "third-party",
        "thirdparty",
        "node_modules",
        "bower_components",
        "site-packages",
        "external",
        "externals",
    ]
)
_BUILT_FOLDERS = frozenset({"dist", "deps", "extern"})
_EXAMPLE_FOLDERS = frozenset(
    [
        "example",
        "examples",
        "sample",
        "samples",
        "demo",
        "demos",
        "playground",
        "playgrounds",
        "tutorial",
        "tutorials",
        "benchmark",
        "benchmarks",
        "bench",
        "benches",
        "fuzz",
        "fuzzing",
        "fuzzers",
        "snippets",
    ]
)
_TEMPLATE_FOLDERS = frozenset({"templates", "template", "views", "layouts", "partials"})
_DATA_FOLDERS = frozenset(
    [
        "data",
        "fixtures",
        "locale",
        "locales",
        "i18n",
        "l10n",
        "translations",
        "lang",
        "langs",
        "snapshots",
        "__snapshots__",
    ]
)
_REQUIREMENTS = re.compile(r"requirements[^/]*\.txt$")
_DOC_TOOLING = frozenset({"conf.py", "docutils.conf", "mkdocs.yml", "docusaurus.config.js"})


def language_of(path: str, head: bytes = b"") -> str:
    """Return the language of a file, "" when unknown.

    The file name decides; `head`, the first bytes of the body, only serves names that say nothing.
    """
    name = path.rpartition("/")[2].lower()
    stem, _, extension = name.rpartition(".")
    language = _BY_NAME.get(name) or (_BY_EXTENSION.get(extension, "") if stem else "")
    if not language and name.split(".")[0] in ("dockerfile", "makefile"):
        language = _BY_NAME[name.split(".")[0]]
    if not language and "." not in name and head.startswith(b"#!"):
        found = _SHEBANG.match(head)
        program = found[1].decode() if found else ""
        language = _SHEBANG_LANGUAGES.get(program, program)
    return language


class _Place(NamedTuple):
    """A path taken apart; folders and name in lower case."""

    folders: tuple[str, ...]
    name: str
    stem: str  # original case, without the last extension
    language: str

    @property
    def is_program(self) -> bool:
        return bool(self.language) and self.language not in _NO_PROGRAMS


@lru_cache(maxsize=4096)
def kind_of(path: str) -> str:
    """Return the part a file plays: code, test, doc, config, vendor, example or data."""
    *folders, name = path.split("/")
    place = _Place(
        tuple(folder.lower() for folder in folders),
        name.lower(),
        name.rpartition(".")[0] or name,
        language_of(path),
    )
    folder_set = frozenset(place.folders)
    if folder_set & _VENDOR_FOLDERS or ".min." in place.name:
        return "vendor"
    if _is_test(place, folder_set):
        return "test"
    if _is_document(place, folder_set):
        return "doc"
    if folder_set & _BUILT_FOLDERS and not _under_sources(place.folders):
        return "vendor"
    if folder_set & _EXAMPLE_FOLDERS:
        return "example"
    return _material(place, folder_set)


def _material(place: _Place, folder_set: frozenset[str]) -> str:
    """Tell code, configuration and data apart by language."""
    if folder_set & _DOC_FOLDERS and (place.name in _DOC_TOOLING or place.language in _STYLE):
        return "config"
    if place.is_program or (place.language == "html" and folder_set & _TEMPLATE_FOLDERS):
        return "code"
    if place.language in _DATA or (folder_set & _DATA_FOLDERS and place.language in _CONFIG):
        return "data"
    return "config"


def _is_test(place: _Place, folder_set: frozenset[str]) -> bool:
    stem = place.stem
    if place.is_program and (_TEST_NAME.search(stem.lower()) or _TEST_TYPE_NAME.search(stem)):
        return True
    if folder_set & _TEST_FOLDERS:
        return True
    if not place.folders or ("main" in folder_set and "src" in folder_set):
        return False
    first = place.folders[0]
    if first in ("test", "testing", "spec", "specs"):
        return True
    # Below the top, `testing` and a Python package `test` are libraries that help tests.
    if "test" in folder_set:
        return place.language != "python"
    return bool(folder_set & {"spec", "specs"}) and place.language in _SPEC_LANGUAGES


def _is_document(place: _Place, folder_set: frozenset[str]) -> bool:
    in_documents = bool(folder_set & _DOC_FOLDERS)
    if place.language == "html":  # a template is source, a page of a manual is not
        return in_documents or not folder_set & (_TEMPLATE_FOLDERS | {"src", "app"})
    if place.language in _PROSE:
        return _REQUIREMENTS.match(place.name) is None
    return in_documents and not place.is_program and place.language not in _CONFIG


def _under_sources(folders: tuple[str, ...]) -> bool:
    """Is a folder named like build output really a source package, as in src/compiler/build?"""
    at = next(index for index, folder in enumerate(folders) if folder in _BUILT_FOLDERS)
    return bool({"src", "lib", "pkg", "internal", "cmd", "app"} & set(folders[:at]))


_HEAD_BYTES = 2_048
_COMMENT_LINE = re.compile(rb"^\s*(?:#|//|/\*|\*|--|;|%|<!--|\"\"\"|'''|@?rem\b)", re.IGNORECASE)
_MARKS = (b"generated", b"Generated", b"GENERATED")  # without any, no comment says so
_GO_MARK = re.compile(rb"^(?://|#|/\*|--|;) ?Code generated .{0,200}DO NOT EDIT\.?", re.MULTILINE)
_AT_GENERATED = re.compile(rb"@generated\b")
_MADE_BY_PROGRAM = re.compile(rb"\b(?:auto|automatically|machine)?[ -]?generated\b", re.IGNORECASE)
_HANDS_OFF = re.compile(
    rb"\b(?:do not|don't|must not|not be|should not be) (?:manually |hand[ -])?(?:edit|modif|change)"
    rb"|\bnot intended for manual editing|\bany changes? (?:made )?(?:here|to this file) will be lost",
    re.IGNORECASE,
)
_GENERATED_NAME = re.compile(
    r"(?:\.pb\.(?:go|cc|h)|_pb2(?:_grpc)?\.pyi?|\.pb\.gw\.go|_grpc\.pb\.(?:cc|h)|\.g\.dart"
    r"|\.designer\.cs|\.g\.cs|\.js\.map|\.css\.map|\.mjs\.map|\.cjs\.map)$"
    r"|^zz_generated\.|^package-lock\.json$|^yarn\.lock$|^pnpm-lock\.yaml$|^npm-shrinkwrap\.json$"
)
_FRONT_END = frozenset({"javascript", "typescript", "css"})


def generated_reason(path: str, data: bytes) -> str:
    """Say why a file counts as written by a program, or return "".

    Only comment lines of the head count, and only a mark that also forbids editing: a file merely
    begun by a generator, as a Django migration is, stays. Prose is never left out.
    """
    name = path.rpartition("/")[2].lower()
    if _GENERATED_NAME.search(name):
        return f"generated: named {name}"
    if language_of(path) in _PROSE:
        return ""
    head = data[:_HEAD_BYTES]
    if not any(mark in head for mark in _MARKS):
        return ""
    if _GO_MARK.search(head):
        return "generated: header says 'Code generated ... DO NOT EDIT'"
    comments = b"\n".join(line for line in head.split(b"\n")[:40] if _COMMENT_LINE.match(line))
    if _AT_GENERATED.search(comments):
        return "generated: header says '@generated'"
    forbidden = _HANDS_OFF.search(comments)
    if forbidden and _MADE_BY_PROGRAM.search(comments):
        return f"generated: header says '{forbidden[0].decode(errors='replace')}'"
    return ""


def minified_reason(path: str, data: bytes) -> str:
    """Say why a file counts as squeezed for delivery, or return ""."""
    size = len(data)
    if size < 2_000:
        return ""
    language = language_of(path)
    if ".min." in path.rpartition("/")[2].lower():
        least_mean, least_size = 150, 0
    elif language in _FRONT_END:
        least_mean, least_size = 400, 0
    elif language in _PROSE - {"html"}:
        return ""
    else:
        least_mean, least_size = 2_000, 20_000
    if size < least_size:
        return ""
    mean = size // (data.count(b"\n") + 1)
    if mean >= least_mean or _one_giant_line(data, language):
        return f"minified: mean line length {mean:,}"
    return ""


def _one_giant_line(data: bytes, language: str) -> bool:
    """Does a single line hold nine tenths of a front-end file, below a licence header?"""
    if language not in _FRONT_END:
        return False
    middle = len(data) // 2
    start = data.rfind(b"\n", 0, middle) + 1
    end = data.find(b"\n", middle)
    return (len(data) if end < 0 else end) - start > max(5_000, len(data) * 9 // 10)
