"""Staying indexed, and pacing."""

from __future__ import annotations

from tests.rows import Row

_UPKEEP = "tests/unit/test_upkeep.py"
_PACING = "tests/unit/test_pacing.py"
_HEALS = "tests/pipeline/test_upkeep.py"
_LADDER = "tests/pipeline/test_ladder.py"
_FAULTS = "tests/faults/test_upkeep.py"

ROWS: tuple[Row, ...] = (
    Row("A12", "U5", "a client that disconnects after add_repo does not stop the pass", (f"{_HEALS}::test_a_client_that_leaves_right_after_asking_does_not_stop_the_pass",)),
    # -- staying indexed ------------------------------------------------------------------------
    Row("R13.gap", "R13", "missing vectors and missing content are made again, without reading the files", (f"{_HEALS}::test_vectors_lost_with_a_machine_are_made_again_without_reading_a_file", f"{_HEALS}::test_a_body_and_a_text_that_are_gone_come_back_from_the_stream", f"{_UPKEEP}::test_missing_vectors_are_looked_for_at_every_tick", f"{_UPKEEP}::test_a_gap_counts_when_two_looks_saw_it", f"{_UPKEEP}::test_a_gap_that_cannot_be_closed_is_tried_less_and_less_often_a_day_at_most")),
    Row("R13.rescue", "R13", "a failed run, also one before the first record, is driven again", (f"{_HEALS}::test_a_run_that_failed_before_its_first_record_is_driven_again_by_itself", f"{_UPKEEP}::test_a_failed_run_is_driven_again_at_once_and_then_less_and_less_often")),
    Row("R13.resume", "R13", "a pass whose job was lost resumes under its number", (f"{_HEALS}::test_a_pass_whose_job_was_lost_is_resumed_under_its_own_number", f"{_UPKEEP}::test_a_running_pass_is_left_alone_unless_it_fell_silent")),
    Row("R13.flight", "R13", "re-drives are single flight", (f"{_UPKEEP}::test_nothing_but_a_resume_is_ever_asked_for_beside_a_running_pass",)),
    Row("R13.reconcile", "R13", "reconciles come with jitter; longer intervals are counted in cycles", (f"{_UPKEEP}::test_an_unwatched_tree_is_walked_every_reconcile_interval_with_jitter", f"{_UPKEEP}::test_a_tree_whose_events_come_is_walked_at_every_third_cycle_and_scanned_between", f"{_UPKEEP}::test_the_longer_intervals_become_numbers_of_cycles", f"{_UPKEEP}::test_without_watches_a_tree_is_walked_now_and_every_minute")),
    Row("R13.audit", "R13", "the daily audit finds what size and time hide, and tries failed extracts again", (f"{_HEALS}::test_an_edit_that_left_size_and_time_alone_is_found_by_the_audit", f"{_HEALS}::test_an_audit_of_a_sound_index_changes_nothing_and_is_remembered", f"{_HEALS}::test_a_record_that_the_stream_lost_is_made_again_by_the_audit", f"{_HEALS}::test_a_failed_extract_is_tried_again_by_the_audit")),
    Row("R13.postpone", "R13", "an audit is postponed at most twelve times and survives restarts", (f"{_UPKEEP}::test_an_audit_is_put_off_while_people_wait_but_twelve_times_at_most", f"{_UPKEEP}::test_a_restart_does_not_begin_the_day_anew", f"{_UPKEEP}::test_every_file_is_hashed_once_a_day_and_not_sooner")),
    Row("R13.armed", "R13", "the maintainer is armed by onboarding and removed by reset and removal only", (f"{_HEALS}::test_what_was_removed_or_reset_is_looked_after_no_more",)),
    Row("R12.done", "R12", "a pass is over when its vectors are in, or cannot come for now", (f"{_HEALS}::test_a_pass_waits_for_vectors_that_are_still_to_be_made", f"{_HEALS}::test_a_pass_does_not_wait_for_an_embedder_that_is_down_and_loses_no_count")),
    # -- pacing -----------------------------------------------------------------------------------
    Row("R12.pacing", "R12", "the status of a running pass tells its pace", (f"{_HEALS}::test_the_status_of_a_running_pass_tells_its_pace", f"{_HEALS}::test_pacing_that_is_switched_off_says_so", f"{_PACING}::test_the_status_tells_the_worker_that_holds_back_most_and_idle_after_a_silence")),
    Row("R12.yield", "R12", "batches yield to questions, two seconds at most, and are never skipped", (f"{_PACING}::test_a_batch_waits_while_a_question_is_answered_and_tells_so", f"{_PACING}::test_questions_without_end_hold_a_batch_two_seconds_and_cost_half_the_speed")),
    Row("R12.backoff", "R12", "congestion backs off from 250 ms, doubling, and eases", (f"{_PACING}::test_congestion_doubles_the_delay_and_clean_batches_take_it_off", f"{_PACING}::test_the_delay_never_exceeds_its_ceiling", f"{_PACING}::test_a_latency_is_judged_against_what_was_learned_and_only_where_it_means_something", f"{_PACING}::test_a_short_batch_is_never_slow")),
    Row("R12.advisory", "R12", "what stays congested for a minute becomes advisory; waiting is bounded", (f"{_PACING}::test_what_stays_congested_for_a_minute_becomes_advisory_until_it_clears", f"{_PACING}::test_a_broker_without_answer_is_waited_for_half_a_minute_at_most")),
    Row("P.quiet", "P", "pacing costs nothing while nobody asks, and questions nothing while nothing is indexed", (f"{_PACING}::test_nothing_is_held_back_while_nobody_asks", f"{_PACING}::test_workers_are_told_of_questions_only_while_something_is_indexed")),
    # -- ladder -------------------------------------------------------------------------------------
    Row("R9.breaker", "R9", "a stalled exact scan opens a breaker: 60 s, doubling to 15 min, closed by an answer", (f"{_LADDER}::test_a_scan_that_stalled_is_left_alone_for_a_minute_then_twice_as_long", f"{_LADDER}::test_the_breaker_never_rests_longer_than_a_quarter_of_an_hour")),
    Row("R9.suppressed", "R9", "keyword.exact_fallback_suppressed is reached, and is a defect when it stays", (f"{_LADDER}::test_a_lack_of_memory_is_load_at_first_and_a_defect_when_it_stays",)),
    Row("R9.degraded", "R9", "keyword.index_degraded: the index throws, cannot be read, or names what is gone", (f"{_LADDER}::test_an_index_that_throws_is_degraded_and_answers_by_keyword", f"{_LADDER}::test_stored_vectors_that_cannot_be_read_degrade_and_do_not_fail", f"{_LADDER}::test_an_index_whose_candidates_are_all_gone_is_degraded")),
    Row("R9.budget", "R9", "the exact fallback is bounded by the corpus; an unknown size passes", (f"{_LADDER}::test_a_corpus_over_the_bound_without_an_index_is_saturated_until_it_has_one", f"{_LADDER}::test_a_corpus_of_unknown_size_passes_the_bound", f"{_LADDER}::test_without_an_index_of_a_large_corpus_everything_is_scanned")),
    Row("R9.empty", "R9", "a fault of the keyword scan is an empty answer with its route", (f"{_LADDER}::test_a_fault_of_the_keyword_scan_is_an_empty_answer_with_its_route",)),
    Row("R8.saturated", "R8", "saturated_unavailable is told, and clears by itself", (f"{_LADDER}::test_a_corpus_over_the_bound_without_an_index_is_saturated_until_it_has_one",)),
    Row("R8.passive", "R8", "health uses no probe up", (f"{_LADDER}::test_a_scan_that_stalled_is_left_alone_for_a_minute_then_twice_as_long",)),
    Row("P.cli", "P", "status and health of the command line tell the numbers of the tools", (f"{_HEALS}::test_the_command_line_tells_the_numbers_of_the_tools",)),
    Row("P.pulls", "P", "pull requests do not pile up at the broker", ("tests/pipeline/test_consumer.py::test_the_end_of_one_pull_request_is_not_taken_for_the_end_of_all",)),
    Row("P.damaged", "P", "workers wait for the rebuild of a damaged projection and then look after everything again", ("tests/pipeline/test_upkeep.py::test_a_damaged_projection_is_waited_for_and_then_looked_after_again",)),
    Row("P.gather", "P", "under load messages share batches and commits; an edit, a fact and a whole batch wait for nothing", ("tests/unit/test_fold_loop.py::test_after_a_large_commit_the_next_messages_are_gathered", "tests/unit/test_fold_loop.py::test_after_an_edit_nothing_waits", "tests/unit/test_fold_loop.py::test_the_pause_ends_for", "tests/pipeline/test_consumer.py::test_behind_a_full_batch_a_small_one_waits_for_company")),
    Row("P.outbox", "P", "what conflicts among the outputs of a batch is settled alone, and one output that is not stored fails the batch", ("tests/pipeline/test_consumer.py::test_appends_that_conflict_are_settled_one_by_one_and_the_rest_is_stored", "tests/pipeline/test_consumer.py::test_an_attempt_fails_when_one_of_its_outputs_is_not_stored")),
    Row("P.wire", "P", "the short way over the wire carries what nats-py would, and nothing that could be a command", ("tests/property/test_wire.py::test_messages_arrive_whole_and_in_order_however_they_are_cut", "tests/property/test_wire.py::test_what_is_sent_straight_is_what_nats_py_would_have_sent", "tests/property/test_wire.py::test_a_subject_that_could_carry_a_command_is_not_sent")),
    # -- reset ----------------------------------------------------------------------------------------
    Row("R15.swept", "R15", "a reset tells what it swept until the next pass", (f"{_HEALS}::test_a_reset_tells_what_it_swept",)),
    Row("R15.crash", "R15", "a reset is finished wherever it was cut off, once, and not after a newer command", (f"{_HEALS}::test_a_reset_cut_off_at_any_step_is_finished_by_its_second_delivery", f"{_HEALS}::test_a_reset_that_is_delivered_again_after_a_new_onboarding_changes_nothing", f"{_HEALS}::test_a_reset_that_a_new_onboarding_overtook_is_not_carried_out_any_more", f"{_FAULTS}::test_a_node_killed_while_it_resets_ends_with_the_content_of_a_clean_run")),
)  # fmt: skip
