"""Which figures does the model card state?

The card's prose is written by hand; the part between the two marks is written here, so that it
always tells of the file that is shipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from contracts.errors import NotFound
from ops.train.check import Quality, mean
from ops.train.fit import Recipe
from ops.train.sources import REGISTRIES, Source

CARD_FILE = Path(__file__).parents[2] / "docs" / "model-card.md"
BEGIN, END = "<!-- written by ops.train -->", "<!-- end of what ops.train writes -->"


class Facts(NamedTuple):
    """What a training run used and reached."""

    space: str
    terms: int
    packages: int
    pairs: int  # after those with too few known terms were dropped
    kinds: Counter[str]  # pairs as mined
    suffixes: Counter[str]
    recipe: Recipe
    held_out: dict[str, Quality]  # package -> quality


def write_facts(path: Path, facts: Facts, sources: Sequence[Source]) -> None:
    """Replace the generated part of the card. Raises NotFound when the card has no such part."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN not in text or END not in text:
        raise NotFound(
            f"{path} has no part to write the figures to",
            hint=f"give --card a file with the lines {BEGIN} and {END}",
        )
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n{render(facts, sources)}{END}{after}", encoding="utf-8")


def render(facts: Facts, sources: Sequence[Source]) -> str:
    """The generated part, in Markdown."""
    recipe = facts.recipe
    overall = mean(list(facts.held_out.values()))
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in facts.kinds.most_common())
    suffixes = ", ".join(f"{name} {count:,}" for name, count in facts.suffixes.most_common())
    lines = [
        "",
        f"Space `{facts.space}`: {facts.terms:,} terms of {recipe.dimension} dimensions, trained on "
        f"{facts.pairs:,} pairs of {facts.packages} packages.",
        "",
        f"Pairs by kind: {kinds}. By file suffix: {suffixes}.",
        "",
        f"Training: {recipe.epochs} epochs, batches of {recipe.blocks} packages x "
        f"{recipe.block_pairs} pairs, temperature {recipe.temperature}, {recipe.dropped:.0%} of the "
        f"shared terms dropped, learning rate {recipe.learning_rate} falling along a cosine, "
        f"seed {recipe.seed}.",
        "",
        "### Held-out packages",
        "",
        "Docstrings and comments as queries, all pieces of the same package as answers:",
        "",
        "| package | queries | MRR@10 | found in the first 10 |",
        "| --- | ---: | ---: | ---: |",
        *(_quality_row(group, quality) for group, quality in sorted(facts.held_out.items())),
        _quality_row("mean over packages", overall),
        "",
        "### Sources",
        "",
        "Licences as the packages' own metadata state them; SHA-256 of the main archive (all files"
        " and digests: `ops/train/sources.json`).",
    ]
    for registry in REGISTRIES:
        own = [source for source in sources if source.registry == registry]
        if own:
            lines += ["", f"#### {_HEADINGS[registry]}", ""]
            lines += ["| package | version | licence | SHA-256 |", "| --- | --- | --- | --- |"]
            lines += map(_source_row, own)
    return "\n".join([*lines, "", ""])


_HEADINGS = {
    "pypi": "PyPI wheels",
    "npm": "npm tarballs",
    "debian": "Debian source packages",
    "deb": "Debian packages that carry source code",
}


def _quality_row(name: str, quality: Quality) -> str:
    return (
        f"| {name} | {quality.queries:,} | {quality.reciprocal_rank:.3f} "
        f"| {quality.found_at_10:.3f} |"
    )


def _source_row(source: Source) -> str:
    main = [name for name in source.files if re.search(r"\.orig\.tar\.", name)] or [*source.files]
    licence = source.licence.replace("|", "/")
    return f"| {source.name} | {source.version} | {licence} | `{source.files[main[0]]}` |"
