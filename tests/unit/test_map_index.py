"""The index of a manifest: layers, search, and manifests worked out over the live tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.extract import Body, pack
from contracts.filemap import Columns, key_of
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.query.codemap import finding
from services.query.codemap.views import Files, Layer, MapView, hiding
from services.resolution.resolver import Resolver
from services.resolver.columns import columns_of
from store.map_segment import Segment, load, make, save

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
    return {
        path: columns_of(path, "python", "full", bodies[path], edges)
        for path, edges, _ in resolver.apply(changes)
    }


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
        assert number < 2
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
    for path, edges, _ in resolver.fork(both.__getitem__).apply(changes):
        if path in wanted:
            made[path] = columns_of(path, "python", "full", both[path], edges)

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
