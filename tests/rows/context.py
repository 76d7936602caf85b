"""Bundles, sessions and savings."""

from __future__ import annotations

from tests.rows import Row

_CONTEXT = "tests/pipeline/test_context.py"
_BUNDLE = "tests/property/test_bundle_property.py"

ROWS: tuple[Row, ...] = (
    Row("A69", "U5", "the tokens of the whole result never exceed the budget, responseTokens is at least that", (f"{_BUNDLE}::test_the_whole_result_as_sent_never_exceeds_its_budget", f"{_CONTEXT}::test_no_result_is_larger_than_its_budget")),
    Row("A70", "U5", "budget 1: empty, 0 tokens, and a retry that delivers", (f"{_CONTEXT}::test_an_empty_bundle_says_what_a_retry_costs_or_that_nothing_matches", f"{_BUNDLE}::test_reuse_withholds_what_is_held_and_a_retry_always_delivers")),
    Row("A71", "U5", "no match: no retry", (f"{_CONTEXT}::test_an_empty_bundle_says_what_a_retry_costs_or_that_nothing_matches",)),
    Row("A72", "U5", "unknown detail is auto, top is at most 50", (f"{_CONTEXT}::test_arguments_out_of_bounds_are_brought_within_them",)),
    Row("A73", "U5", "units join to the content and hold no text", (f"{_CONTEXT}::test_units_describe_the_content_and_hold_no_text", f"{_BUNDLE}::test_the_whole_result_as_sent_never_exceeds_its_budget")),
    Row("A74", "U5", "a receipt in seen withholds its unit, is listed, and makes room", (f"{_CONTEXT}::test_a_receipt_withholds_its_unit_and_makes_room_for_another",)),
    Row("A75", "U5", "a claim without a session is not honoured", (f"{_CONTEXT}::test_a_claim_counts_only_where_the_session_was_given_the_whole_file",)),
    Row("A76", "U5", "a claim counts after slices, not after an outline", (f"{_CONTEXT}::test_a_claim_counts_only_where_the_session_was_given_the_whole_file", f"{_BUNDLE}::test_a_claim_counts_only_with_a_delivery_of_that_version")),
    Row("A77", "U5", "a session is given no unit twice", (f"{_CONTEXT}::test_a_session_is_given_nothing_twice_but_what_changed", f"{_BUNDLE}::test_what_was_delivered_is_never_delivered_again")),
    Row("A78", "U5", "an edited file is delivered again", (f"{_CONTEXT}::test_a_session_is_given_nothing_twice_but_what_changed",)),
    Row("A79", "U5", "stats count bundles of the last hour and nothing else", (f"{_CONTEXT}::test_stats_count_bundles_of_the_last_hour_and_nothing_else",)),
    Row("R10.ttl", "R10", "a session ends six hours after its last delivery", (f"{_CONTEXT}::test_a_session_ends_six_hours_after_its_last_delivery",)),
    Row("R10.stream", "R10", "a session outlives its process and is shared by processes", (f"{_CONTEXT}::test_a_session_is_kept_by_the_stream_for_other_processes_and_restarts",)),
    Row("R10.join", "R10", "concurrent deliveries to one session are joined", (f"{_CONTEXT}::test_concurrent_deliveries_to_one_session_are_joined",)),
    Row("R10.bound", "R10", "what a session holds is bounded, the oldest goes first", (f"{_CONTEXT}::test_what_a_session_holds_is_bounded_and_the_newest_stays", f"{_CONTEXT}::test_a_message_stays_small_however_long_the_paths_are")),
    Row("R10.reset", "R10", "a reset drops the sessions", (f"{_CONTEXT}::test_a_reset_drops_the_sessions",)),
    Row("R10.notes", "R10", "notes take no place in a bundle", (f"{_CONTEXT}::test_notes_are_no_files_and_take_no_place_in_a_bundle",)),
    Row("R10.cli", "R10", "the command line delivers the same bundle", (f"{_CONTEXT}::test_the_command_line_tells_the_same",)),
)  # fmt: skip
