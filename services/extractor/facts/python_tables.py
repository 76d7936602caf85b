"""Which tables and settings do Python classes declare?"""

from __future__ import annotations

import re

from contracts.extract import Symbol
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_ABSTRACT = re.compile(r"\babstract\s*=\s*True")
_MODELS = frozenset({"models.Model", "Model"})
_SETTINGS = frozenset({"BaseSettings", "pydantic_settings.BaseSettings", "pydantic.BaseSettings"})


def table_call(source: Source, use: Use) -> None:
    """SQLAlchemy Core: `users = Table("users", metadata, ...)`."""
    if use.kind != CALL or not source.imports_any("sqlalchemy"):
        return
    found = source.call(use)
    if found is None or len(found.positional) < 2:
        return
    name = source.literal(use, found.positional[0])
    schema = source.value(found.named["schema"]) if "schema" in found.named else ""
    if name and "{?}" not in name:
        source.fact("db_table", f"{_joined(schema, name)}|SQLAlchemy Table", use)


def _joined(schema: str, name: str) -> str:
    return f"{schema}.{name}" if schema and "{" not in schema else name


def read(source: Source) -> None:
    fields: dict[int, dict[str, Symbol]] = {}
    classes = []
    for index, symbol in enumerate(source.symbols):
        if symbol.kind == "class":
            classes.append(index)
        if symbol.parent >= 0:
            fields.setdefault(symbol.parent, {})[symbol.name] = symbol
    for index in classes:
        _class(source, index, fields)


def _class(source: Source, index: int, fields: dict[int, dict[str, Symbol]]) -> None:
    symbol = source.symbols[index]
    own = fields.get(index, {})
    if "__tablename__" in own:
        name = source.value(expressions.declared_value(own["__tablename__"].signature))
        arguments = own.get("__table_args__")
        schema = (
            re.search(r"['\"]schema['\"]\s*:\s*['\"]([\w$]+)", arguments.signature)
            if arguments
            else None
        )
        if name and "{?}" not in name:
            source.fact(
                "db_table",
                f"{_joined(schema[1] if schema else '', name)}|SQLAlchemy",
                (index, symbol.start_line),
            )
    elif "table=True" in symbol.signature.replace(" ", "") and (
        "SQLModel" in symbol.bases or source.imports_any("sqlmodel")
    ):
        source.fact("db_table", f"{symbol.name.lower()}|SQLModel", (index, symbol.start_line))
    elif "db.Model" in symbol.bases:
        _named_for_class(source, index, own)
    elif symbol.bases and source.imports_any("django.db", "django.contrib.gis.db"):
        _django(source, index, own)
    if _made_of(source, index, _SETTINGS, frozenset()):
        _settings(source, index, own)


def _named_for_class(source: Source, index: int, own: dict[str, Symbol]) -> None:
    """Flask-SQLAlchemy calls a model's table like its class; without a column it has none."""
    symbol = source.symbols[index]
    if "__abstract__" in own or "__table__" in own:
        return
    if not any(re.search(r"\b(?:Column|mapped_column)\(", each.signature) for each in own.values()):
        return
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])", "_", symbol.name).lower()
    confidence = source.confidence("flask_sqlalchemy")
    source.fact("db_table", f"{name}|SQLAlchemy", (index, symbol.start_line), confidence)


def _django(source: Source, index: int, own: dict[str, Symbol]) -> None:
    symbol = source.symbols[index]
    if symbol.name == "Meta" or (
        symbol.parent >= 0 and source.symbols[symbol.parent].kind != "class"
    ):
        return
    direct = _made_of(source, index, _MODELS | _renamed(source), frozenset())
    if not direct and not any("models." in field.signature for field in own.values()):
        return
    if not direct and any(
        base.rpartition(".")[2]
        in (
            "Migration",
            "Manager",
            "QuerySet",
            "TextChoices",
            "IntegerChoices",
            "ModelAdmin",
            "Form",
        )
        or base.endswith(
            ("Field", "Lookup", "Transform", "Func", "Mixin", "TestCase", "Manager", "QuerySet")
        )
        for base in symbol.bases
    ):
        return
    meta = own.get("Meta")
    label, name, text = _app_label(source.path), "", ""
    if meta is not None:
        text = source.data[meta.start_byte : meta.end_byte].decode(errors="replace")
        if _ABSTRACT.search(text) or re.search(r"\bproxy\s*=\s*True", text):
            return
        written = {
            key: source.value(value)
            for key, value in re.findall(
                r"^\s*(db_table|app_label)\s*=\s*(.+)$", text, re.MULTILINE
            )
        }
        name, label = written.get("db_table", ""), written.get("app_label", label)
    source_name = "Django db_table" if name else "Django model"
    name = name or f"{label}_{symbol.name.lower()}"
    if "{?}" not in name and label:
        source.fact(
            "db_table",
            f"{name}|{source_name}",
            (index, symbol.start_line),
            "high" if direct else "medium",
        )


def _renamed(source: Source) -> frozenset[str]:
    """`from django.contrib.gis.db import models as geo` makes models of `geo.Model`."""
    return frozenset(
        f"{each.alias}.Model"
        for each in source.imports
        if each.name == "models" and each.module.startswith("django.") and each.alias
    )


def _made_of(source: Source, index: int, roots: frozenset[str], below: frozenset[int]) -> bool:
    """Tell whether a class of this file is one of the roots', itself or by a base declared here."""
    if index < 0 or index in below:
        return False
    return any(
        base in roots or _made_of(source, source.symbol_named(base), roots, below | {index})
        for base in source.symbols[index].bases
    )


def _app_label(path: str) -> str:
    """Name the application by its folder: what holds `models.py`, or the package `models`."""
    parts = path.split("/")[:-1]
    if parts and parts[-1] == "migrations":
        return ""
    while parts and parts[-1] in ("models", "db"):
        parts.pop()
    return parts[-1] if parts else "app"


def _settings(source: Source, index: int, own: dict[str, Symbol]) -> None:
    text = source.data[source.symbols[index].start_byte : source.symbols[index].end_byte].decode(
        errors="replace"
    )
    found = re.search(r"\benv_prefix\s*=\s*['\"]([^'\"]*)", text)
    prefix = found[1] if found else ""
    for name, symbol in own.items():
        if (
            symbol.kind in ("field", "variable", "constant")
            and name != "model_config"
            and not name.startswith("_")
        ):
            alias = re.search(
                r"\b(?:env|alias|validation_alias)\s*=\s*['\"]([^'\"]+)", symbol.signature
            )
            key = alias[1] if alias else (prefix + name).upper()
            source.fact(
                "config", f"{key}|BaseSettings", (source.symbols.index(symbol), symbol.start_line)
            )
