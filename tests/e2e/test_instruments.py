"""Does a running node show every instrument as it is declared?"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from contracts.instruments import INSTRUMENTS
from contracts.subjects import DURABLES
from tests.e2e.node_process import Node, make_repository, repofold, running, until

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def scraped(node: Node) -> dict[str, Metric]:
    with urllib.request.urlopen(node.url.removesuffix("/mcp") + "/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_a_node_shows_what_is_declared_and_what_its_processes_count(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "demo")
    with running(tmp_path / "state", str(repository)) as node:
        node.ready()

        def added() -> float:
            samples = scraped(node)["repocontext_ingest_files"].samples
            return sum(each.value for each in samples if each.labels["outcome"] == "added")

        until("the files of the first pass", lambda: added() == 3)
        until(
            "what the extractors counted",
            lambda: sum(each.value for each in scraped(node)["repocontext_ingest_files_content_projected"].samples) == 3,
        )  # fmt: skip
        shown = scraped(node)
        state = str(node.state.root)
        told = repofold("metrics", "ingest_files", "--state", state, "--json")
    stopped = repofold("metrics", "--state", state)

    assert {
        "name": "repocontext_ingest_files_total",
        "labels": {"outcome": "added", "repository": "demo"},
        "value": 3.0,
    } in json.loads(told.stdout)
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "no node serves here" in stopped.stderr
    declared = {each.exposed: each for each in INSTRUMENTS.values() if not each.needs}
    assert set(shown) == set(declared)
    for name, each in declared.items():
        family = shown[name]
        assert (family.type, family.documentation) == (each.kind, each.meaning)
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(each.labels), name
        arms = {tuple(s.labels[label] for label in each.labels) for s in family.samples}
        if each.kind == "counter" and not each.free:
            assert arms == set(each.arms or arms), name
    for name in ("repocontext_ingest_files", "repocontext_ingest_passes"):
        primed = {(s.labels["repository"], s.labels["outcome"]) for s in shown[name].samples}
        assert primed == {("demo", arm[0]) for arm in declared[name].arms}
    sweeps = shown["repocontext_ann_sweep"].samples
    assert {s.labels["outcome"] for s in sweeps} == {"armed", "empty", "faulted"}
    lag = {sample.labels["durable"] for sample in shown["repofold_consumer_pending"].samples}
    assert lag == {spec.name for spec in DURABLES}
