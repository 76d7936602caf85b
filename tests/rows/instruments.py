"""Instruments and their exposition."""

from __future__ import annotations

from tests.rows import Row

_UNIT = "tests/unit/test_instruments.py"
_NODE = "tests/pipeline/test_instruments.py"
_E2E = "tests/e2e/test_instruments.py"
_TOOLS = "tests/pipeline/test_tools.py"

ROWS: tuple[Row, ...] = (
    Row("R17.names", "R17", "44 instruments are declared and shown, with their kinds, units and labels", (f"{_UNIT}::test_every_specified_instrument_is_declared", f"{_UNIT}::test_a_declaration_is_sound", f"{_UNIT}::test_no_two_instruments_are_shown_under_one_name", f"{_E2E}::test_a_node_shows_what_is_declared_and_what_its_processes_count")),
    Row("R17.primed", "R17", "primed arms exist at zero from the start; histograms are never primed", (f"{_UNIT}::test_arms_exist_at_zero_before_anything_happened", f"{_UNIT}::test_a_plane_has_22_arms_of_build_steps")),
    Row("R17.restore", "R17", "memory.restore exists only with an archive, under both names", (f"{_UNIT}::test_restores_are_counted_only_with_an_archive_and_under_both_names",)),
    Row("R17.reference", "R17", "the reference is made from the declarations", (f"{_UNIT}::test_the_reference_lists_every_instrument",)),
    Row("R17.bundles", "R17", "calls, response tokens and replaced tokens count by command", (f"{_UNIT}::test_bundles_are_counted_with_what_they_cost_and_replaced",)),
    Row("R17.duration", "R17", "retrieval.duration is recorded on every end, by tool and path", (f"{_UNIT}::test_calls_are_told_by_tool_reason_and_route",)),
    Row("R17.search", "R17", "searches count by the index's state, the cause of their lack, and stages", (f"{_UNIT}::test_a_search_is_counted_by_state_and_by_the_cause_of_its_lack",)),
    Row("R17.scan", "R17", "faults of exact scans are told apart", (f"{_UNIT}::test_exact_scans_that_fail_are_told_apart",)),
    Row("R17.ready", "R17", "retrieval.ready_seconds is recorded once per process", (f"{_NODE}::test_readiness_is_told_once_with_how_it_came",)),
    Row("R17.ann", "R17", "build steps tell phase, progress and cause; unreadable corpora park", (f"{_UNIT}::test_a_build_tells_its_phases_and_where_it_failed", f"{_UNIT}::test_causes_of_a_failed_build_are_a_closed_set", f"{_UNIT}::test_vectors_that_cannot_be_read_five_times_are_left_alone_until_they_change", f"{_NODE}::test_a_generation_is_counted_from_its_corpus_to_its_head", f"{_NODE}::test_vectors_that_cannot_be_read_fault_the_sweep_and_are_left_alone_in_the_end")),
    Row("R17.load", "R17", "loads of generations are told apart", (f"{_UNIT}::test_loads_of_generations_are_told_apart",)),
    Row("R17.coverage", "R17", "coverage probes and verdicts, and rebuilds of the projection, are counted", (f"{_NODE}::test_the_maintainer_tells_what_it_looked_for_and_concluded",)),
    Row("R17.ingest", "R17", "ingest figures count where the work happens, by repository", (f"{_NODE}::test_a_pass_is_counted_where_each_part_of_it_happens", f"{_UNIT}::test_a_pass_is_counted_once_with_its_files")),
    Row("R17.cancelled", "R17", "a pass that is cut off counts with its phase and the time lost", (f"{_UNIT}::test_a_pass_that_is_cut_off_is_told_with_its_phase_and_time",)),
    Row("R17.low", "R17", "tags are low-cardinality, whatever is counted", (f"{_UNIT}::test_a_flood_of_label_values_ends_in_one_series", f"{_UNIT}::test_a_repository_that_is_gone_is_shown_no_more")),
    Row("R17.lag", "R17", "lag per durable, projection behind the head, LMDB, embed queue, dead letters", (f"{_NODE}::test_a_scrape_tells_how_far_everybody_is_behind", f"{_UNIT}::test_lag_is_asked_once_for_scrapes_in_a_row_and_tells_what_answered")),
    Row("R17.reader", "R17", "the oldest reader's age and lag are shown", (f"{_NODE}::test_a_snapshot_that_is_held_shows_as_the_oldest_reader",)),
    Row("R17.dropped", "R17", "dropped duplicates are counted", (f"{_NODE}::test_a_message_stored_twice_is_counted_as_dropped",)),
    Row("R2.3.counter", "R2.3", "caller mistakes raise a counter by tool and reason", (f"{_TOOLS}::test_two_mistakes_raise_the_client_error_counter_by_two", f"{_TOOLS}::test_a_path_that_leads_outside_counts_as_the_callers_mistake")),
    Row("P.figures", "P", "figures of every worker reach the query service over NATS, and never go back", (f"{_NODE}::test_figures_of_workers_reach_a_query_process_that_starts_later_and_one_that_listens", f"{_UNIT}::test_a_counter_never_goes_back_however_words_arrive", f"{_UNIT}::test_a_restarted_worker_adds_to_what_its_predecessor_counted", f"{_UNIT}::test_of_a_gauge_the_newest_word_counts", f"{_UNIT}::test_many_short_lived_workers_are_kept_as_a_sum", f"{_UNIT}::test_what_another_version_tells_and_this_one_does_not_know_is_left_out")),
    Row("P.silent", "P", "an idle process tells nothing", (f"{_UNIT}::test_a_change_is_told_once_and_an_idle_process_is_silent", f"{_UNIT}::test_a_process_that_counted_nothing_says_nothing", f"{_UNIT}::test_threads_lose_no_count", f"{_UNIT}::test_what_is_not_declared_cannot_be_counted")),
)  # fmt: skip
