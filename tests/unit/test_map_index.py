"""The index of a manifest: layers, search, and manifests worked out over the live tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.extract import Body, pack
from contracts.filemap import Columns, key_of, pack_columns
from contracts.ids import RepoPath
from ops.bench.map_samples import samples
from services.extractor.extract import extract_file
from services.query.codemap import finding, layers
from services.query.codemap.layers import Layer, hiding
from services.query.codemap.views import Files, MapView
from services.resolution.resolver import Resolver
from services.resolver.columns import ResolvedFile, columns_of_each
from store.map_segment import Segment, letters, load, make, save
from store.read.maps import Maps

_NO_FILES = cast("Files", None)
_PATHS = ("a.py", "b.py", "pkg/c.py")
_TEXTS = (
    "def shared():\n    return 1\n",
    "from a import shared\n\n\ndef user():\n    return shared()\n",
    "class Shared:\n    def shared(self):\n        return self.other()\n",
    "import b\n\n\ndef caller():\n    return b.user()\n",
    "x = (\n",
)


def body_of(path: str, text: str) -> Body:
    extract = extract_file(RepoPath(path), text.encode()).extract
    assert extract is not None
    assert pack(extract).body
    return Body(
        extract.symbols, extract.imports, extract.references, extract.bindings, extract.chunks
    )


def resolved(tree: Mapping[str, str]) -> dict[str, Columns]:
    """Columns of every file, by a resolver that knows nothing else."""
    bodies = {path: body_of(path, text) for path, text in tree.items()}
    resolver = Resolver(bodies.__getitem__)
    changes = [(path, "python", body) for path, body in sorted(bodies.items())]
    files = [
        ResolvedFile(path, "python", "full", bodies[path], edges)
        for path, edges, _ in resolver.apply(changes)
    ]
    return {file.path: columns for file, columns in columns_of_each(files)}


def view_of(*layers: tuple[dict[str, Columns], set[str]]) -> MapView:
    made = []
    for files, hidden in layers:
        segment = Segment(*make(sorted(files.items()), 1))
        made.append(Layer(segment, hiding(segment, hidden) if hidden else None))
    return MapView(made, _NO_FILES)


def told(view: MapView) -> object:
    """Everything that a view says of symbols, search and links."""
    found = []
    for number, layer in enumerate(view.layers):
        for file in range(layer.segment.file_count):
            if layer.shows(file):
                first, last = layer.segment.symbol_start[file : file + 2].tolist()
                found += [layer.segment.ids[n] for n in range(first, last)]
        assert number < 3
    links = {}
    for symbol_id in sorted(set(found)):
        users = [u if isinstance(u, str) else view.id(u) for links_ in view.links_to(key_of(symbol_id)) for u in view.using(links_)]  # fmt: skip
        links[symbol_id] = sorted(users)
    searched = {
        word: sorted(
            view.id(symbol)
            for symbol, _ in finding.search(view, word, finding.Filters(), 100).symbols
        )
        for word in ("shared", "user", "sha*", "caller OR other")
    }
    browsed = finding.browse(view, finding.Filters(frozenset({"method"})), 100)
    return sorted(found), links, searched, [view.id(symbol) for symbol, _ in browsed.symbols]


trees = st.dictionaries(st.sampled_from(_PATHS), st.sampled_from(_TEXTS), max_size=3)


@settings(max_examples=40, deadline=None)
@given(before=trees, after=trees)
def test_a_layered_view_equals_one_over_all_files(
    before: dict[str, str], after: dict[str, str]
) -> None:
    base, whole = resolved(before), resolved(after)
    over = {path: columns for path, columns in whole.items() if base.get(path) != columns}
    hidden = {*over, *(path for path in base if path not in whole)}

    layered = view_of((base, hidden), (over, set()))

    assert told(layered) == told(view_of((whole, set())))


@settings(max_examples=40, deadline=None)
@given(live=trees, wanted=trees)
def test_a_manifest_over_the_live_tree_is_that_of_a_fresh_one(
    live: dict[str, str], wanted: dict[str, str]
) -> None:
    bodies = {path: body_of(path, text) for path, text in live.items()}
    resolver = Resolver(bodies.__getitem__)
    for _ in resolver.apply([(p, "python", body) for p, body in sorted(bodies.items())]):
        pass
    known = resolved(live)
    own = {p: body_of(p, t) for p, t in wanted.items() if live.get(p) != t}
    both = {**bodies, **own}
    changes: list[tuple[str, str, Body | None]] = [(p, "", None) for p in live if p not in wanted]
    changes += [(path, "python", body) for path, body in own.items()]

    made = {path: known[path] for path in wanted if path in known and path not in own}
    files = [
        ResolvedFile(path, "python", "full", both[path], edges)
        for path, edges, _ in resolver.fork(both.__getitem__).apply(changes)
        if path in wanted
    ]
    made |= {file.path: columns for file, columns in columns_of_each(files)}

    assert made == resolved(wanted)
    again = {p: e for p, e, _ in resolver.apply([])}
    assert again == {}  # the fork left the live resolver as it was


def test_whole_names_come_first_and_totals_are_true() -> None:
    many = "".join(f"def shared_{number}():\n    pass\n\n\n" for number in range(300))
    view = view_of(
        (resolved({"a.py": _TEXTS[0], "many.py": many, "tests/test_a.py": _TEXTS[0]}), set())
    )

    found = finding.search(view, "shared", finding.Filters(), 10)

    assert found.total == 302
    assert [view.id(symbol) for symbol, _ in found.symbols[:2]] == [
        "M:a.shared", "M:tests.test_a.shared",
    ]  # fmt: skip
    assert all(score < 0 for _, score in found.symbols)


def test_scores_are_below_zero_however_little_a_hit_is_worth() -> None:
    names = [letter * 150 for letter in "abc"]
    text = f"class {'K' * 150}:\n"
    text += "".join(f'    def {name}(self):\n        """Common."""\n\n' for name in names)
    view = view_of((resolved({"a.py": text}), set()))

    found = finding.search(view, "common", finding.Filters(), 10)

    assert [view.name(symbol) for symbol, _ in found.symbols] == names
    assert all(score < 0 for _, score in found.symbols)


def test_a_segment_that_was_kept_is_the_one_that_was_made(tmp_path: Path) -> None:
    files = sorted(resolved(dict(zip(_PATHS, _TEXTS, strict=False))).items())
    arrays, header = make(files, 7)
    assert save(tmp_path / "x.seg", arrays, header)

    kept = load(tmp_path / "x.seg")

    assert kept is not None
    assert kept.upto == 7
    assert told(MapView([Layer(kept, None)], _NO_FILES)) == told(
        MapView([Layer(Segment(arrays, header), None)], _NO_FILES)
    )
    (tmp_path / "x.seg").write_bytes((tmp_path / "x.seg").read_bytes()[:200])
    assert load(tmp_path / "x.seg") is None


class _Tree:
    """What the projection says of a live tree, as far as layers ask."""

    def __init__(self) -> None:
        self.newest = 0
        self.order: dict[str, int] = {}
        self.files: dict[str, Columns] = {}

    def change(self, tree: Mapping[str, Columns]) -> None:
        for path in {*self.files, *tree}:
            if self.files.get(path) != tree.get(path):
                self.newest += 1
                self.order[path] = self.newest
        self.files = dict(tree)

    def changed_since(self, sequence: int) -> list[str]:
        return [path for path, at in self.order.items() if at > sequence]

    def live_blob(self, _table: str, path: str) -> bytes:
        return pack_columns(self.files[path]) if path in self.files else b""


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(trees, min_size=2, max_size=5), at_once=st.integers(0, 2))
def test_layers_over_layers_equal_one_segment_of_all(
    steps: list[dict[str, str]], at_once: int
) -> None:
    tree = _Tree()
    maps = cast("Maps", tree)
    tree.change(resolved(steps[0]))
    first = Segment(*make(sorted(tree.files.items()), tree.newest))
    second = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "AT_ONCE", at_once)
        for step in steps[1:]:
            tree.change(resolved(step))
            found, second = layers.layered(first, second, maps, tree.newest, build=True)

            assert len(found) <= 3
            assert told(MapView(found, _NO_FILES)) == told(view_of((tree.files, set())))


def test_many_changed_files_are_not_read_while_everybody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers, "AT_ONCE", 1)
    tree = _Tree()
    first = Segment(*make((), 0))
    tree.change(resolved({"a.py": _TEXTS[0], "b.py": _TEXTS[1]}))
    maps = cast("Maps", tree)

    with pytest.raises(layers.NotAtHand):
        layers.layered(first, None, maps, tree.newest, build=False)
    found, second = layers.layered(first, None, maps, tree.newest, build=True)
    again, _ = layers.layered(first, second, maps, tree.newest, build=False)

    assert told(MapView(found, _NO_FILES)) == told(MapView(again, _NO_FILES))


_letters = st.text("abcé", max_size=7)


@settings(max_examples=300, deadline=None)
@given(left=_letters, right=_letters)
def test_the_distance_of_words_is_that_of_the_usual_table(left: str, right: str) -> None:
    table = {(at, -1): at + 1 for at in range(-1, len(left))}
    table |= {(-1, place): place + 1 for place in range(-1, len(right))}
    for at, char in enumerate(left):
        for place, other in enumerate(right):
            cost = min(table[at - 1, place] + 1, table[at, place - 1] + 1)
            cost = min(cost, table[at - 1, place - 1] + (char != other))
            if at and place and char == right[place - 1] and other == left[at - 1]:
                cost = min(cost, table[at - 2, place - 2] + 1)
            table[at, place] = cost
    distance = table[len(left) - 1, len(right) - 1]
    ends = [np.frombuffer(f"{text}\n".encode(), "u1") for text in (left, right)]
    one, other_letters = (letters(data, np.zeros(1, np.int64)) for data in ends)

    assert finding.distance_from(left)(right) == distance
    assert int(np.bitwise_count(one ^ other_letters)[0]) <= 2 * distance


@settings(max_examples=40, deadline=None)
@given(
    tree=trees,
    kinds=st.sampled_from([frozenset[str](), frozenset({"method"})]),
    namespace=st.sampled_from(["", "a", "B", "pkg.c", "a.shared.longer", "é"]),
    file_path=st.sampled_from(["", "a.py", "pkg/", "b", "z"]),
    limit=st.sampled_from([1, 100]),
)
def test_filters_keep_what_has_the_kind_the_beginning_and_the_path(
    tree: dict[str, str], kinds: frozenset[str], namespace: str, file_path: str, limit: int
) -> None:
    view = view_of((resolved(tree), set()))
    every = finding.browse(view, finding.Filters(), 100).symbols
    wanted = [
        symbol
        for symbol, _ in every
        if (not kinds or view.kind(symbol) in kinds)
        and view.id(symbol)[2:].lower().startswith(namespace.lower())
        and view.path(symbol).startswith(file_path)
    ]

    found = finding.browse(view, finding.Filters(kinds, namespace, file_path), limit)

    assert found.total == len(wanted)
    assert [symbol for symbol, _ in found.symbols] == wanted[:limit]


def test_samples_are_names_that_a_search_can_be_asked_for() -> None:
    text = "\n\n".join(
        [
            "class PlaceOrderNow:\n    def _(self):\n        return place_order_later()",
            "class Sub(PlaceOrderNow):\n    pass",
            "def place_order_later():\n    return 1",
            "def user():\n    return place_order_later()",
        ]
    )
    view = view_of((resolved({"a.py": text + "\n"}), set()))

    found = samples(view.layers[0].segment, 5)

    for words in (found.popular, found.rare, found.misspelt, found.parts, found.both, found.either):
        assert words
        assert all(finding.search(view, word, finding.Filters(), 5).total for word in words)
    assert found.called == ("M:a.place_order_later",)
    assert set(found.callers) == {"M:a.PlaceOrderNow._", "M:a.user"}
    assert found.types == ("T:a.PlaceOrderNow",)
    assert set(found.kinds) == {"class", "method"}
