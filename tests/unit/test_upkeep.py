"""What the maintainer of a repository decides, tick by tick, on a clock of its own."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from services.walker.upkeep import (
    POSTPONED_MOST,
    STALE_MS,
    Cadence,
    Due,
    Intervals,
    Look,
    Upkeep,
    cadence_of,
)

DAY = 86_400
USUAL = Intervals(tick_s=15, reconcile_s=900, jitter_s=300, walk_s=3600, scan_s=1200, audit_s=DAY)


def upkeep(
    cadence: Cadence | None = None, audited_s_ago: float = 0.0, jitter: float = 0.5
) -> Upkeep:
    return Upkeep(cadence or cadence_of(USUAL), 0.0, audited_s_ago, lambda: jitter)


def days(
    keeper: Upkeep, seconds: float, *, busy: bool = False, watched: bool = True, start: float = 0.0
) -> list[tuple[float, Due]]:
    """What was due, tick by tick, for a repository whose passes all complete at once."""
    found = []
    now = start
    while now < start + seconds:
        now += 15.0
        due = keeper.due(Look(now_s=now, status="Completed", busy=busy, watched=watched))
        if due != Due():
            found.append((now, due))
    return found


def test_the_longer_intervals_become_numbers_of_cycles() -> None:
    cadence = cadence_of(USUAL)

    assert (cadence.walk_cycles, cadence.scan_cycles, cadence.audit_cycles) == (3, 1, 72)


@given(
    *(st.floats(min_value=0, max_value=1e7) for _ in range(2)),
    *(st.floats(min_value=1, max_value=1e7) for _ in range(3)),
)
def test_there_is_always_at_least_one_cycle_between(
    reconcile: float, jitter: float, walk: float, scan: float, audit: float
) -> None:
    cadence = cadence_of(
        Intervals(
            tick_s=15, reconcile_s=reconcile, jitter_s=jitter, walk_s=walk, scan_s=scan,
            audit_s=audit,
        )
    )  # fmt: skip

    cycles = (cadence.walk_cycles, cadence.scan_cycles, cadence.audit_cycles)
    assert min(cycles) >= 1
    if reconcile + jitter > 0.001:
        assert cadence.walk_cycles * (reconcile + jitter) >= walk * (1 - 1e-9)


def test_an_unwatched_tree_is_walked_every_reconcile_interval_with_jitter() -> None:
    early, late = upkeep(jitter=0.0), upkeep(jitter=0.99)

    first = [at for at, due in days(early, 3600, watched=False) if due.walk]
    second = [at for at, due in days(late, 3600, watched=False) if due.walk]

    assert first == [900, 1800, 2700, 3600]
    assert second == [1200, 2400, 3600]


def test_a_tree_whose_events_come_is_walked_at_every_third_cycle_and_scanned_between() -> None:
    seen = days(upkeep(jitter=0.0), 900 * 6)

    assert [due.walk for _, due in seen] == ["", "", "reconcile"] * 2
    assert [due.scan for _, due in seen] == [True, True, False] * 2


def test_every_file_is_hashed_once_a_day_and_not_sooner() -> None:
    seen = days(upkeep(), 3 * DAY, watched=False)

    audits = [at for at, due in seen if due.walk == "audit"]
    assert len(audits) == 3
    assert all(0.8 * DAY < later - at <= DAY for at, later in pairwise(audits))


def test_an_audit_is_put_off_while_people_wait_but_twelve_times_at_most() -> None:
    keeper = upkeep(audited_s_ago=2 * DAY, jitter=0.0)

    seen = [due.walk for _, due in days(keeper, 900 * 14, busy=True, watched=False)]

    assert seen.index("audit") == POSTPONED_MOST
    assert seen[:POSTPONED_MOST] == ["reconcile"] * POSTPONED_MOST


def test_a_restart_does_not_begin_the_day_anew() -> None:
    keeper = upkeep(audited_s_ago=DAY - 1000, jitter=0.0)

    assert "audit" in [due.walk for _, due in days(keeper, 1000)]


def test_a_failed_run_is_driven_again_at_once_and_then_less_and_less_often() -> None:
    keeper = upkeep()
    tried = []
    for tick in range(1, 400):
        now = tick * 15.0
        if keeper.due(Look(now_s=now, status="Failed")).walk == "failed":
            tried.append(now)

    assert tried[0] == 15.0
    pauses = [later - at for at, later in pairwise(tried)]
    assert pauses[:4] == [15.0, 30.0, 60.0, 120.0]
    assert max(pauses) <= 900.0 + 15.0
    keeper.due(Look(now_s=6000.0, status="Completed"))
    assert keeper.due(Look(now_s=9000.0, status="Failed")).walk == "failed"


def test_a_running_pass_is_left_alone_unless_it_fell_silent() -> None:
    keeper = upkeep()
    running = {"status": "Running", "now_s": 500.0}

    assert keeper.due(Look(**running, silent_ms=STALE_MS - 1)) == Due()
    assert keeper.due(Look(**running, silent_ms=STALE_MS + 1, walking=True)) == Due()
    assert keeper.due(Look(**running, silent_ms=STALE_MS + 1)) == Due("resume")
    assert keeper.due(Look(**running, silent_ms=STALE_MS + 1)) == Due()


def test_missing_vectors_are_looked_for_at_every_tick() -> None:
    assert upkeep().due(Look(now_s=15.0, status="Completed", missing=True)) == Due(scan=True)


def test_a_gap_counts_when_two_looks_saw_it() -> None:
    keeper = upkeep()

    assert not keeper.confirmed(frozenset({"a.py"}), 15.0)
    assert not keeper.confirmed(frozenset({"b.py"}), 30.0)
    assert keeper.confirmed(frozenset({"b.py", "c.py"}), 45.0)


def test_a_gap_that_cannot_be_closed_is_tried_less_and_less_often_a_day_at_most() -> None:
    keeper = upkeep()
    poison = frozenset({"poison.py"})
    tried = [
        tick * 15.0 for tick in range(1, 60_000) if keeper.confirmed(poison, now_s=tick * 15.0)
    ]

    pauses = [later - at for at, later in pairwise(tried)]
    assert pauses[:3] == [15.0, 30.0, 60.0]
    assert max(pauses) <= DAY + 15.0
    assert len(tried) < 30
    keeper.confirmed(frozenset(), 1e7)
    keeper.confirmed(poison, 1e7 + 15)
    assert keeper.confirmed(poison, 1e7 + 30)


def test_without_watches_a_tree_is_walked_now_and_every_minute() -> None:
    keeper = upkeep()
    keeper.unwatched(100.0)

    seen = [at for at, due in days(keeper, 180, watched=False, start=90.0) if due.walk]

    assert seen == [105.0, 165.0, 225.0]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Completed", "Failed", "Running"]), st.booleans(), st.booleans(),
            st.integers(0, 200_000),
        ),
        max_size=200,
    )
)  # fmt: skip
def test_nothing_but_a_resume_is_ever_asked_for_beside_a_running_pass(
    looks: list[tuple[str, bool, bool, int]],
) -> None:
    keeper = upkeep(audited_s_ago=2 * DAY)
    for number, (status, busy, watched, silent) in enumerate(looks):
        due = keeper.due(
            Look(now_s=number * 300.0, status=status, busy=busy, watched=watched, silent_ms=silent)
        )
        allowed = {"Running": ("", "resume"), "Failed": ("", "failed")}
        assert due.walk in allowed.get(status, ("", "reconcile", "audit"))
        assert not (due.walk and due.scan)
