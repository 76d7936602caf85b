"""How is one entry put into a client's configuration file without harming the rest?

Pure text in, text out. JSON is parsed and written back with its own indentation; TOML, whose
comments a parser would lose, is appended to. Whatever cannot be done safely raises Conflict, whose
hint holds the entry to add by hand.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

from contracts.errors import Conflict

Entry = Mapping[str, object]


def merged_json(text: str, section: str, name: str, entry: Entry, *, force: bool) -> str:
    """Return `text` with `entry` at `section`.`name`; the same text when it is there already.

    Raises Conflict when the text is no plain JSON, when the section is something else, or when
    another entry has that name and `force` is not set.
    """
    document = _parse_json(text, by_hand={section: {name: entry}})
    servers = document.setdefault(section, {})
    if not isinstance(servers, dict):
        raise Conflict(f"{section} is no object", hint=_hint({section: {name: entry}}))
    if servers.get(name) == entry:
        return text
    if name in servers and not force:
        raise Conflict(f"{section}.{name} is there with other settings", hint="--force replaces it")
    servers[name] = entry
    return _written_json(document, like=text)


def with_json_items(text: str, section: str, items: Sequence[Entry]) -> str:
    """Return `text` with those of `items` that its list `section` lacks, told apart by their id."""
    document = _parse_json(text, by_hand={section: items})
    present = document.setdefault(section, [])
    if not isinstance(present, list):
        raise Conflict(f"{section} is no list", hint=_hint({section: items}))
    ids = {item.get("id") for item in present if isinstance(item, dict)}
    missing = [item for item in items if item["id"] not in ids]
    if not missing:
        return text
    present.extend(missing)
    return _written_json(document, like=text)


def merged_toml(text: str, section: str, name: str, entry: Entry, *, force: bool) -> str:
    """As `merged_json`, for TOML. An entry that is replaced loses its own comments only."""
    table = (
        "\n".join([f"[{section}.{name}]", *(f"{k} = {_toml(v)}" for k, v in entry.items())]) + "\n"
    )
    before = _parse_toml(text, table)
    servers = before.get(section, {})
    existing = servers.get(name) if isinstance(servers, dict) else None
    if existing == entry:
        return text
    if existing is not None:
        if not force:
            raise Conflict(
                f"{section}.{name} is there with other settings", hint="--force replaces it"
            )
        text = _without_table(text, f"{section}.{name}")
    gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    after = f"{text}{gap}{table}"
    expected = {
        **before,
        section: {**(servers if isinstance(servers, dict) else {}), name: dict(entry)},
    }
    if _parse_toml(after, table) != expected:
        raise Conflict(
            f"{section} is written in a way that cannot be added to", hint=f"add by hand:\n{table}"
        )
    return after


def _parse_json(text: str, *, by_hand: object) -> dict[str, object]:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a key occurs twice")
        return made

    try:
        document = json.loads(text, object_pairs_hook=unique) if text.strip() else {}
    except ValueError as error:
        raise Conflict(
            f"not plain JSON, perhaps for its comments ({error})", hint=_hint(by_hand)
        ) from None
    if not isinstance(document, dict):
        raise Conflict("not a JSON object", hint=_hint(by_hand))
    return document


def _written_json(document: object, *, like: str) -> str:
    indented = re.search(r"\n([ \t]+)\S", like)
    indent = indented[1] if indented else "  "
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def _hint(by_hand: object) -> str:
    return f"add by hand:\n{json.dumps(by_hand, indent=2)}"


def _parse_toml(text: str, table: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"not valid TOML ({error})", hint=f"add by hand:\n{table}") from None


def _without_table(text: str, dotted: str) -> str:
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        if header:
            inside = header[1] == dotted or header[1].startswith(f"{dotted}.")
        if not inside:
            kept.append(line)
    return "".join(kept)


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)  # strings, integers and booleans are written alike
