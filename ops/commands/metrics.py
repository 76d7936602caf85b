"""`repofold metrics`: what the instruments of the running node say."""

from __future__ import annotations

import argparse
import json
import math
import urllib.request
from collections.abc import Iterator, Sequence

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from contracts.errors import Unavailable
from ops.node import lock
from ops.node.options import add_place, indexed_state

_HTTP_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument(
        "name", nargs="?", default="", help="part of the name, e.g. ingest, retrieval, consumer"
    )
    parser.add_argument("--all", action="store_true", help="those at zero as well, and buckets")


def run(args: argparse.Namespace) -> int:
    """Print one line a figure; raises Unavailable when no node serves here."""
    holder = lock.holder(indexed_state(args))
    if holder is None or not holder.url:
        raise Unavailable(
            "no node serves here, and the figures are kept by the process that answers",
            hint="start one with `repofold up PATH`",
        )
    target = holder.url.removesuffix("/mcp") + "/metrics"
    try:
        with urllib.request.urlopen(target, timeout=_HTTP_S) as answer:  # noqa: S310 - our own node's URL
            text = answer.read().decode()
    except OSError as error:
        raise Unavailable(
            f"{target} does not answer: {error}", hint="`repofold doctor` tells what is wrong"
        ) from None
    shown = list(_samples(text, args.name, everything=args.all))
    if args.json:
        print(json.dumps([_entry(sample) for sample in shown]))
    else:
        _print(shown)
    return 0


def _samples(text: str, part: str, *, everything: bool) -> Iterator[Sample]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            wanted = everything or (sample.value != 0 and not sample.name.endswith("_bucket"))
            if wanted and part in sample.name:
                yield sample


def _entry(sample: Sample) -> dict[str, object]:
    value = sample.value if math.isfinite(sample.value) else None
    return {"name": sample.name, "labels": dict(sample.labels), "value": value}


def _print(shown: Sequence[Sample]) -> None:
    for sample in shown:
        labels = ", ".join(f"{name}={value}" for name, value in sample.labels.items() if value)
        value = f"{sample.value:,.3f}".rstrip("0").rstrip(".")
        print(f"{sample.name:<58} {value:>14}  {labels}".rstrip())
