"""Segments of the lexical index: what goes in comes out, merged or not, and damage is told."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from contracts.extract import Terms
from store.segments import (
    SegmentCorrupt,
    SegmentFile,
    SegmentSize,
    SegmentView,
    build_segment,
    merge_segments,
    plan_merge,
    verify,
)


def file_of(
    sequence: int,
    chunks: list[dict[int, int]],
    fields: dict[int, int] | None = None,
    kind: str = "code",
) -> SegmentFile:
    """A file whose chunks and fields hold the given hashes so many times."""
    fields = fields or {}
    sizes = [0, *(len(chunk) for chunk in chunks)]
    terms = Terms(
        chunk_offsets=np.cumsum(sizes).astype("<u4").tobytes(),
        chunk_hash=np.array([h for chunk in chunks for h in sorted(chunk)], "<u8").tobytes(),
        chunk_tf=bytes(chunk[h] for chunk in chunks for h in sorted(chunk)),
        chunk_length=np.array([sum(chunk.values()) for chunk in chunks], "<u4").tobytes(),
        context_offsets=bytes(4 * len(sizes)),
        context_hash=b"",
        field_hash=np.array(sorted(fields), "<u8").tobytes(),
        field_tf=bytes(fields[h] for h in sorted(fields)),
        path_length=len(fields),
        symbols_length=2 * len(fields),
    )
    return SegmentFile(sequence, kind, terms)


FIRST = file_of(7, [{1: 2, 9: 1}, {9: 4}], {100: 3}, kind="test")
SECOND = file_of(8, [], {100: 1, 200: 1})
THIRD = file_of(12, [{9: 255}], {300: 1}, kind="doc")


def listed(pair: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return list(zip(pair[0].tolist(), pair[1].tolist(), strict=True))


def test_a_segment_gives_back_what_it_was_built_from() -> None:
    view = SegmentView(build_segment([THIRD, FIRST, SECOND]))

    assert [view.ordinal_of(sequence) for sequence in (7, 8, 9, 12, 13)] == [0, 1, None, 2, None]
    assert listed(view.body_postings(9)) == [(0, 1), (1, 4), (2, 255)]
    assert listed(view.body_postings(1)) == [(0, 2)]
    assert listed(view.body_postings(100)) == []
    assert listed(view.field_postings(100)) == [(0, 3), (1, 1)]
    assert view.chunk_file.tolist() == [0, 0, 2]
    assert view.arrays.chunk_length.tolist() == [3, 4, 255]
    assert view.arrays.kind.tolist() == [1, 0, 2]
    assert view.arrays.symbols_length.tolist() == [2, 4, 2]
    assert view.size == SegmentSize(postings=8)


def test_merging_sweeps_out_dead_files_and_weaves_sequences_together() -> None:
    outer, inner = build_segment([FIRST, THIRD]), build_segment([SECOND, file_of(9, [{5: 1}])])

    merged = merge_segments([(inner, [1]), (outer, [])])

    assert merged == build_segment([FIRST, SECOND, THIRD])
    assert merge_segments([(outer, [0, 1]), (inner, [0, 1])]) == build_segment([])
    assert merge_segments([]) == build_segment([])


def test_dead_files_count_in_the_size_with_their_postings() -> None:
    view = SegmentView(build_segment([FIRST, SECOND, THIRD]), dead=[2, 0, 2])

    assert view.size == SegmentSize(postings=8, dead=6)
    assert view.live_files.tolist() == [False, True, False]


def test_hashes_that_share_their_leading_bits_are_told_apart() -> None:
    base = 0xABCD_EF01_2345_0000
    chunks = [{base + low: 1 for low in (9, 3, 200)}, {base + 3: 2}, {base + 200: 3, base: 1}]

    view = SegmentView(build_segment([file_of(1, chunks)]))

    assert view.arrays.body.terms.tolist() == [base, base + 3, base + 9, base + 200]
    assert listed(view.body_postings(base + 200)) == [(0, 1), (2, 3)]


def test_more_than_65536_ordinals_widen_the_postings() -> None:
    files = [file_of(sequence, [], {5: 1, 6 + sequence % 2: 1}) for sequence in range(70_000)]

    wide = build_segment(files)
    view = SegmentView(wide)

    assert view.arrays.field.ordinals.dtype == np.uint32
    assert view.field_postings(7)[0].tolist() == list(range(1, 70_000, 2))
    assert (
        merge_segments([(build_segment(files[:100]), []), (build_segment(files[100:]), [])]) == wide
    )
    narrow = SegmentView(merge_segments([(wide, range(100, 70_000))]))
    assert narrow.arrays.field.ordinals.dtype == np.uint16
    assert narrow.file_count == 100


def test_an_aligned_blob_is_read_in_place_and_any_other_all_the_same() -> None:
    blob = build_segment([FIRST, SECOND, THIRD])
    buffer = bytearray(len(blob) + 16)
    room = np.frombuffer(buffer, np.uint8)
    start = -room.ctypes.data % 8
    buffer[start : start + len(blob)] = blob
    shifted = memoryview(b"." + blob)[1:]

    in_place = SegmentView(memoryview(buffer)[start : start + len(blob)])

    assert np.shares_memory(in_place.arrays.body.terms, room)
    assert in_place.arrays.body.terms.flags.aligned
    assert listed(SegmentView(shifted).body_postings(9)) == listed(in_place.body_postings(9))


@pytest.mark.parametrize(
    "damage",
    [
        lambda blob: b"",
        lambda blob: blob[:30],
        lambda blob: blob[:-1],
        lambda blob: blob + b"\0",
        lambda blob: b"XXXX" + blob[4:],
        lambda blob: blob[:4] + struct.pack("<H", 99) + blob[6:],
        lambda blob: blob[:6] + b"\4" + blob[7:],
        lambda blob: blob[:16] + struct.pack("<I", 1 << 31) + blob[20:],
        lambda blob: bytes(reversed(blob)),
    ],
)
def test_a_damaged_blob_is_refused_with_the_next_step(damage: object) -> None:
    assert callable(damage)
    blob = damage(build_segment([FIRST, SECOND, THIRD]))

    with pytest.raises(SegmentCorrupt, match="cannot be read") as caught:
        SegmentView(blob)
    assert "replay" in caught.value.hint


def test_a_flipped_bit_anywhere_is_found_by_verify() -> None:
    blob = build_segment([FIRST, SECOND, THIRD])
    verify(blob)

    for at in range(len(blob)):
        broken = blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]
        with pytest.raises(SegmentCorrupt):
            verify(broken)


def test_offsets_that_do_not_reach_the_end_are_refused_at_once() -> None:
    blob = bytearray(build_segment([FIRST]))
    end_of_chunk_start = 40 + 8 * (1 + 2 + 1) + 4  # header, u8 columns, the first of two offsets
    blob[end_of_chunk_start] ^= 1

    with pytest.raises(SegmentCorrupt, match="offsets"):
        SegmentView(bytes(blob))


def test_files_that_cannot_be_indexed_are_refused() -> None:
    twice = [file_of(3, [{1: 1}]), file_of(3, [])]
    torn = FIRST.terms
    torn = Terms(
        **{name: getattr(torn, name) for name in torn.__struct_fields__} | {"chunk_tf": b""}
    )

    with pytest.raises(ValueError, match="occurs twice"):
        build_segment(twice)
    with pytest.raises(ValueError, match="occurs twice"):
        merge_segments([(build_segment([FIRST]), []), (build_segment([FIRST]), [])])
    with pytest.raises(ValueError, match="unknown file kind"):
        build_segment([file_of(1, [], kind="poem")])
    with pytest.raises(ValueError, match="do not fit together"):
        build_segment([SegmentFile(1, "code", torn)])
    with pytest.raises(ValueError, match="outside the segment"):
        SegmentView(build_segment([FIRST]), dead=[1])


def settle(sizes: list[SegmentSize]) -> int:
    """Merge until nothing pays; return the postings moved."""
    moved = 0
    while groups := plan_merge(sizes):
        for group in reversed(groups):
            total = sum(sizes[at].postings - sizes[at].dead for at in group)
            moved += total
            sizes[group[0] : group[-1] + 1] = [SegmentSize(total)]
    return moved


@pytest.mark.parametrize("commit", [10_000, 25_000, 100_000, 500_000])
def test_twenty_million_postings_lie_in_twelve_segments_at_most(commit: int) -> None:
    sizes: list[SegmentSize] = []
    moved, most = 0, 0
    for _ in range(20_000_000 // commit):
        sizes.append(SegmentSize(commit))
        moved += settle(sizes)
        most = max(most, len(sizes))

    assert most <= 12
    assert max(size.postings for size in sizes) <= 7_000_000
    assert moved <= 8 * 20_000_000


def test_single_edits_stay_cheap_beside_large_segments() -> None:
    sizes = [SegmentSize(4_000_000), SegmentSize(1_500_000)]
    draw = random.Random(0)
    moved = 0
    for _ in range(3_000):
        sizes[0] = SegmentSize(sizes[0].postings, sizes[0].dead + 500)
        sizes.append(SegmentSize(draw.randint(100, 2_000)))
        moved += settle(sizes)

    assert len(sizes) <= 12
    assert moved < 3_000 * 40_000


def test_a_segment_that_is_mostly_dead_is_rewritten_alone() -> None:
    sizes = [SegmentSize(3_000_000, dead=1_600_000), SegmentSize(400_000)]

    assert plan_merge(sizes) == [[0]]
    assert plan_merge([SegmentSize(3_000_000, dead=1_400_000), SegmentSize(400_000)]) == []
    assert plan_merge([]) == []
