"""Train the static code model: `python -m ops.train --work DIR`.

Downloads the packages of `sources.json` (about 0.85 GB, kept in DIR), reads pairs of words and
code out of them, trains the table, writes the package data and the figures of the model card.
Needs pip, npm and, for the Debian packages, apt-get; no library beyond the product's own.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from contracts.errors import Fault
from ops.train.archives import members
from ops.train.card import CARD_FILE, Facts, write_facts
from ops.train.check import Quality, mean, measure
from ops.train.fetch import fetch, lock
from ops.train.fit import Recipe, fit
from ops.train.mine import SUFFIXES, Pair, mine
from ops.train.pack import pack, write
from ops.train.pairs import Corpus, PackagePairs, assemble, encode
from ops.train.sources import REGISTRIES, Source, read_sources, write_sources
from services.source.static_model import DATA_FILE, StaticModel
from services.source.terms import hash_term

VOCABULARY_SIZE = 40_000
MIN_FREQUENCY = 6
MIN_PAIRS = 32  # a package with fewer has no near wrong answers to offer
_SEED = 1


class Mined(NamedTuple):
    """What one package gives to the training."""

    group: str
    kinds: Counter[str]  # pairs by kind
    suffixes: Counter[str]  # pairs by the file's suffix
    pairs: PackagePairs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the recipe from downloads to package data."""
    options = _options(arguments)
    try:
        if options.relock:
            write_sources([lock(source, options.work) for source in read_sources()])
        sources = [each for each in read_sources() if each.registry in options.registries]
        for number, source in enumerate(sources, 1):
            fetch(source, options.work)
            _progress("fetched", number, len(sources), source.group)
    except Fault as fault:
        print(f"\n{fault.message}\n{fault.hint}", file=sys.stderr)
        return 1
    mined = _mine_all([each for each in sources if not is_held_out(each)], options)
    corpus = assemble([each.pairs for each in mined], VOCABULARY_SIZE, MIN_FREQUENCY)
    recipe = Recipe(seed=_SEED)
    model = _train(corpus, recipe)
    write(model, options.out)
    held_out = {
        source.group: _ask(model, source, options.work) for source in sources if is_held_out(source)
    }
    facts = Facts(
        space=model.space,
        terms=len(model.terms),
        packages=len(mined),
        pairs=len(corpus),
        kinds=sum((each.kinds for each in mined), Counter()),
        suffixes=sum((each.suffixes for each in mined), Counter()),
        recipe=recipe,
        held_out={group: quality for group, quality in held_out.items() if quality.queries},
    )
    write_facts(options.card, facts, sources)
    overall = mean(list(facts.held_out.values()))
    print(f"{model.space}: MRR@10 {overall.reciprocal_rank:.3f} in held-out packages")
    return 0


def is_held_out(source: Source) -> bool:
    """Whether a package is kept out of the training, to be asked about afterwards."""
    return hash_term(source.group) % 32 == 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ops.train", description=__doc__)
    parser.add_argument("--work", type=Path, help="folder for downloads (default: a new one)")
    parser.add_argument("--out", type=Path, default=DATA_FILE, help="the package data to write")
    parser.add_argument("--card", type=Path, default=CARD_FILE, help="the model card to update")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that read")
    parser.add_argument(
        "--registries", nargs="+", default=REGISTRIES, choices=REGISTRIES, help="use only these"
    )
    parser.add_argument(
        "--relock", action="store_true", help="pin the packages anew, as they are there now"
    )
    options = parser.parse_args(arguments)
    options.work = (options.work or Path(tempfile.mkdtemp(prefix="train-"))).resolve()
    return options


def _mine_all(sources: list[Source], options: argparse.Namespace) -> list[Mined]:
    """The pairs of every package that has enough of them, in the order of the sources."""
    mined: list[Mined] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, each in enumerate(pool.map(_mine, sources, repeat(options.work)), 1):
            if len(each.pairs) >= MIN_PAIRS:
                mined.append(each)
            _progress("read", number, len(sources), each.group)
    return mined


def _mine(source: Source, work: Path) -> Mined:
    pairs = _pairs(source, work)
    return Mined(
        source.group,
        Counter(pair.kind for pair in pairs),
        Counter(pair.path.rpartition(".")[2] for pair in pairs),
        encode(pairs),
    )


def _pairs(source: Source, work: Path) -> list[Pair]:
    files = members(source.registry, fetch(source, work), SUFFIXES)
    return mine(files, source.share, _SEED)


def _train(corpus: Corpus, recipe: Recipe) -> StaticModel:
    trained = fit(
        corpus,
        recipe,
        lambda step, steps, loss: _progress("trained", step, steps, f"loss {loss:.3f}"),
    )
    return pack(corpus.vocabulary, trained)


def _ask(model: StaticModel, source: Source, work: Path) -> Quality:
    pairs = _pairs(source, work)
    random.Random(_SEED).shuffle(pairs)  # noqa: S311 - repeatable sampling, nothing secret
    return measure(model, pairs)


def _progress(what: str, number: int, total: int, detail: str) -> None:
    end = "\n" if number == total else "\r"
    print(f"{what} {number}/{total} {detail:<60.60}", end=end, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
