"""Which functions look names up in which family of languages?"""

from __future__ import annotations

from services.resolution import ecma_names, layered_names, packaged_names, python_names
from services.resolution.engine import ImportLookup, Lookup, MemberLookup

_LOOKUPS: dict[str, tuple[Lookup, ImportLookup, MemberLookup]] = {
    "python": (python_names.named, python_names.imported, python_names.member),
    "ecma": (ecma_names.named, ecma_names.imported, ecma_names.member),
    "go": (packaged_names.go_named, packaged_names.go_imported, packaged_names.go_member),
    "jvm": (packaged_names.jvm_named, packaged_names.jvm_imported, packaged_names.package_member),
    "csharp": (
        packaged_names.csharp_named,
        packaged_names.csharp_imported,
        packaged_names.package_member,
    ),
    "php": (packaged_names.php_named, packaged_names.php_imported, packaged_names.package_member),
    "ruby": (layered_names.ruby_named, layered_names.ruby_imported, layered_names.space_member),
    "rust": (layered_names.rust_named, layered_names.rust_imported, layered_names.rust_member),
    "c": (layered_names.c_named, layered_names.c_imported, layered_names.c_member),
    "swift": (layered_names.global_named, layered_names.outside_import, layered_names.space_member),
    "script": (
        layered_names.script_named,
        layered_names.outside_import,
        layered_names.space_member,
    ),
}


def of(family: str) -> tuple[Lookup, ImportLookup, MemberLookup]:
    """Return how a family looks up a bare name, an import, and a member of a module."""
    return _LOOKUPS[family]
