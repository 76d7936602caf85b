"""Which grammar reads a file? Grammars load when the first file of their language comes."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from services.extractor.grammar import Grammar

_MODULES = {
    "python": ("python", "PYTHON"),
    "javascript": ("ecma", "JAVASCRIPT"),
    "typescript": ("ecma", "TYPESCRIPT"),
    "tsx": ("ecma", "TSX"),
    "vue": ("components", "VUE"),
    "svelte": ("components", "SVELTE"),
    "java": ("java", "JAVA"),
    "csharp": ("csharp", "CSHARP"),
    "go": ("go", "GO"),
    "rust": ("rust", "RUST"),
    "c": ("c", "C"),
    "cpp": ("cpp", "CPP"),
    "kotlin": ("kotlin", "KOTLIN"),
    "swift": ("swift", "SWIFT"),
    "scala": ("scala", "SCALA"),
    "php": ("php", "PHP"),
    "ruby": ("ruby", "RUBY"),
    "lua": ("lua", "LUA"),
    "bash": ("bash", "BASH"),
}


def grammar_for(path: str, language: str, data: bytes) -> Grammar | None:
    """Return the grammar for a file, None when its language is only text."""
    if path.lower().endswith(".tsx"):
        language = "tsx"
    elif language == "c" and path.endswith((".h", ".H")) and _looks_like_cpp(data):
        language = "cpp"
    return _load(language) if language in _MODULES else None


def _looks_like_cpp(data: bytes) -> bool:
    from services.extractor.languages.cpp import looks_like_cpp

    return looks_like_cpp(data)


@cache
def _load(language: str) -> Grammar:
    module, name = _MODULES[language]
    found: Grammar = getattr(import_module(f"services.extractor.languages.{module}"), name)
    return found
