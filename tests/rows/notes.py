"""Notes and claims."""

from __future__ import annotations

from tests.rows import Row

_NOTES = "tests/pipeline/test_notes.py"
_LINKS = "tests/pipeline/test_note_links.py"
_MODEL = "tests/property/test_claims_property.py"
_RACE = "tests/pipeline/test_claim_races.py"
_KILLS = "tests/faults/test_memory_kills.py"
_TEXT = "tests/unit/test_free_text.py"
_DECIDE = "tests/unit/test_note_decisions.py"
_FILES = "tests/unit/test_memory_files.py"
_BETWEEN = "tests/pipeline/test_interleavings.py"
_ARCHIVE = "tests/pipeline/test_memory_archive.py"

ROWS = (
    # -- records --------------------------------------------------------------------------------
    Row("A26.note", "U5", "recall of a missing note is no error, a malformed key is", (f"{_NOTES}::test_a_missing_note_is_no_error_and_a_malformed_key_is",)),
    Row("A27.note", "U5", "pages of notes join without gap or repeat, in key order", (f"{_NOTES}::test_pages_of_notes_join_without_gap_or_repeat",)),
    Row("A30", "U5", "a topic with a slash and a percent sign is recalled and shown as it is", (f"{_NOTES}::test_a_topic_with_a_slash_and_a_percent_sign_is_shown_as_it_is",)),
    Row("A31", "U5", "update takes names in any case, and neither kind nor claim fields", (f"{_NOTES}::test_update_takes_names_in_any_case_and_no_others",)),
    Row("A32", "U5", "update of an absent key is refused", (f"{_NOTES}::test_update_takes_names_in_any_case_and_no_others", f"{_LINKS}::test_fields_that_a_family_does_not_have_are_refused")),
    Row("A33", "U5", "parallel updates of different fields all survive", (f"{_NOTES}::test_two_parallel_updates_of_different_fields_both_survive",)),
    Row("R3.2", "R3.2", "each family has its own patchable fields; integers must be some", (f"{_LINKS}::test_fields_that_a_family_does_not_have_are_refused",)),
    Row("R3.2b", "R3.2", "what is written over an indexed field holds until the record is indexed anew", (f"{_LINKS}::test_what_was_written_over_a_file_holds_until_it_is_indexed_anew",)),
    Row("R3.2c", "P", "what is written over a record is bounded as a note is", (f"{_LINKS}::test_fields_that_a_family_does_not_have_are_refused",)),
    Row("R3.3", "R3.3", "links need a relation and a well-formed key; additions beat removals", (f"{_NOTES}::test_links_that_are_none_and_names_nobody_can_read_are_refused", f"{_DECIDE}::test_what_is_removed_and_added_at_once_is_there")),
    Row("R5.forget", "R5", "what the tree has cannot be forgotten, what is absent is forgotten already", (f"{_LINKS}::test_fields_that_a_family_does_not_have_are_refused",)),
    Row("R5.unread", "R5", "a note that cannot be read can still be retired, by the lock", (f"{_NOTES}::test_a_note_that_cannot_be_read_can_still_be_forgotten", f"{_DECIDE}::test_an_unreadable_record_goes_by_the_lock", f"{_DECIDE}::test_an_unreadable_record_lapses_in_exactly_the_window")),
    Row("R5.entry", "R5", "a note is read back as it was written, author and provenance always", (f"{_NOTES}::test_a_note_is_read_back_as_it_was_written", f"{_NOTES}::test_what_hides_in_a_note_is_shown_when_it_is_read")),
    # -- lifetime ---------------------------------------------------------------------------------
    Row("A34", "U5", "an expired note is gone everywhere at once", (f"{_NOTES}::test_a_note_whose_time_is_over_is_gone_everywhere_at_once",)),
    Row("A35", "U5", "an expiry only moves later", (f"{_NOTES}::test_an_expiry_only_moves_later",)),
    Row("A36", "U5", "a lapse shortens no longer life, and lapses a durable note", (f"{_NOTES}::test_an_expiry_only_moves_later", f"{_NOTES}::test_a_durable_note_lapses_in_the_window_and_a_delete_looks_at_none")),
    Row("A37", "U5", "without id every note is new, with one it is merged and keeps its kind", (f"{_NOTES}::test_without_an_id_every_note_is_new_and_with_one_it_is_merged",)),
    Row("R16.default", "R16", "the default lifetime is the repository's, for creation; a senseless one creates nothing", (f"{_NOTES}::test_the_default_lifetime_is_the_repositorys_and_a_senseless_one_creates_nothing", f"{_DECIDE}::test_a_default_lifetime_is_for_creation_only")),
    Row("R16.archive", "R16", "a graceful stop leaves an archive that fills an empty log", (f"{_ARCHIVE}::test_a_graceful_stop_leaves_an_archive_that_fills_an_empty_log",)),
    Row("R16.empty", "R16", "an empty export replaces none that holds notes", (f"{_FILES}::test_an_export_without_notes_does_not_replace_one_that_has_some", f"{_ARCHIVE}::test_without_restoring_the_archive_is_not_overwritten_by_nothing")),
    Row("R16.import", "R16", "an import can be repeated, keeps ids, tokens and times, and lowers no token", (f"{_ARCHIVE}::test_an_import_on_the_command_line_can_be_repeated", f"{_DECIDE}::test_an_import_brings_back_what_is_gone_and_leaves_what_is_there", f"{_FILES}::test_an_export_is_read_back_as_it_was", f"{_FILES}::test_what_is_no_export_is_refused_by_its_line", f"{_FILES}::test_a_line_that_holds_no_note_is_refused_or_left_out")),
    # -- free text --------------------------------------------------------------------------------
    Row("A38", "U5", "a body that ends in tool-call markup is refused naming what it swallowed", (f"{_NOTES}::test_swallowed_arguments_and_credentials_are_refused_and_nothing_is_written", f"{_TEXT}::test_a_text_that_ends_in_tool_call_markup_names_what_it_swallowed", f"{_TEXT}::test_a_text_about_markup_passes", f"{_TEXT}::test_the_markup_of_the_called_tools_own_arguments_counts")),
    Row("A39", "U5", "a URL with credentials is refused without repeating it", (f"{_NOTES}::test_swallowed_arguments_and_credentials_are_refused_and_nothing_is_written", f"{_TEXT}::test_a_url_with_credentials_is_found_by_its_shape", f"{_TEXT}::test_a_url_without_credentials_passes", f"{_TEXT}::test_the_first_mistake_is_told_without_its_text")),
    Row("P.hidden", "P", "invisible and steering characters are written out on output", (f"{_TEXT}::test_what_nobody_would_see_is_written_out", f"{_NOTES}::test_what_hides_in_a_note_is_shown_when_it_is_read")),
    Row("P.joiners", "P", "joiners that are spelling, in Persian, Hindi and emoji, stay", (f"{_TEXT}::test_joiners_that_are_spelling_stay",)),
    Row("R5.bounds", "R5", "nothing is written that could not be read again: sizes, lifetimes, tokens", (f"{_NOTES}::test_what_could_not_be_read_again_is_not_written", f"{_NOTES}::test_a_lapse_beyond_all_times_is_refused", f"{_NOTES}::test_a_token_that_no_message_can_carry_is_judged_as_any_other", f"{_DECIDE}::test_a_note_grows_no_larger_than_it_can_be_read")),
    Row("R7.return", "R7", "an answer waits for an asker that comes back after the broker", ("tests/pipeline/test_answers.py::test_after_a_reconnect_an_answer_waits_for_whoever_is_still_on_the_way", "tests/pipeline/test_answers.py::test_whoever_does_not_listen_has_gone")),
    Row("R7.late", "R7", "nobody is told late of a grant that does not hold any more", (f"{_DECIDE}::test_a_grant_is_told_again_only_while_it_holds",)),
    # -- links ------------------------------------------------------------------------------------
    Row("A40", "U5", "a link is stale once its file was indexed anew", (f"{_LINKS}::test_a_link_goes_stale_with_its_file_and_holds_again_once_it_is_made_anew",)),
    Row("A41", "U5", "a link to nothing dangles, then is stale, until it is made anew", (f"{_LINKS}::test_a_link_to_nothing_dangles_until_it_is_indexed_and_is_stale_until_made_anew",)),
    Row("A42", "U5", "a removed edge is not evaluated", (f"{_LINKS}::test_a_link_to_nothing_dangles_until_it_is_indexed_and_is_stale_until_made_anew",)),
    Row("A43", "U5", "scan evaluates neither links nor expiry", (f"{_LINKS}::test_a_link_goes_stale_with_its_file_and_holds_again_once_it_is_made_anew", f"{_NOTES}::test_pages_of_notes_join_without_gap_or_repeat")),
    Row("A44", "U5", "neighbours are clamped, and what is gone is among them", (f"{_NOTES}::test_neighbours_come_breadth_first_and_bounded",)),
    Row("A45", "U5", "truncated means that one more was there", (f"{_NOTES}::test_neighbours_come_breadth_first_and_bounded",)),
    Row("R4.alone", "R4", "a record of the tree has no neighbours, and exists or does not", (f"{_LINKS}::test_a_link_to_nothing_dangles_until_it_is_indexed_and_is_stale_until_made_anew", f"{_NOTES}::test_neighbours_come_breadth_first_and_bounded")),
    # -- claims -----------------------------------------------------------------------------------
    Row("A46", "U5", "a lost claim is contended, timeout or missing", (f"{_NOTES}::test_a_claim_is_granted_to_one_and_told_to_the_others",)),
    Row("A47", "U5", "waiters are granted in their order, tokens rise", (f"{_NOTES}::test_waiters_are_granted_in_the_order_they_came",)),
    Row("A48", "U5", "a live claim stops every write without its token", (f"{_NOTES}::test_a_claim_stops_every_tool_that_writes",)),
    Row("A49", "U5", "an older token is stale, also after the release", (f"{_NOTES}::test_every_row_of_the_fencing_table_holds", f"{_DECIDE}::test_the_fencing_table")),
    Row("A50", "U5", "a token that nobody was granted is unissued", (f"{_NOTES}::test_every_row_of_the_fencing_table_holds", f"{_DECIDE}::test_the_fencing_table")),
    Row("A51", "U5", "a released token is refused, no token is admitted", (f"{_NOTES}::test_every_row_of_the_fencing_table_holds",)),
    Row("A52", "U5", "after a lapse renew is superseded and the holder may write until the next claim", (f"{_NOTES}::test_after_a_lapse_the_holder_may_write_until_the_next_claim",)),
    Row("A53", "U5", "a renewal without leaseSeconds shrinks a long lease and says so", (f"{_NOTES}::test_a_renewal_keeps_the_token_and_tells_when_it_shrank",)),
    Row("A54", "U5", "a release can be repeated; stale, unclaimed and missing are told", (f"{_NOTES}::test_a_release_can_be_repeated_and_is_decided_by_the_mark",)),
    Row("A55", "U5", "a lease is clamped to the maximum", (f"{_NOTES}::test_a_renewal_keeps_the_token_and_tells_when_it_shrank",)),
    Row("A56", "U5", "claim_status is never authoritative", (f"{_NOTES}::test_a_release_can_be_repeated_and_is_decided_by_the_mark",)),
    Row("A57", "U5", "the memory_* tools have no way around a claim", (f"{_NOTES}::test_memory_tools_have_no_way_around_a_claim",)),
    Row("A58", "U5", "tokens rise over deletion, lapse, removal, restart and a new projection", (f"{_NOTES}::test_tokens_only_rise_whatever_happens_to_the_note",)),
    Row("A59", "U5", "removing a repository drops claimed notes as well, registered or not", (f"{_NOTES}::test_removing_a_repository_drops_its_memory_registered_or_not", f"{_NOTES}::test_what_a_slow_writer_stores_after_the_removal_is_void")),
    Row("R7.model", "R7", "claims behave as a plain lock with a queue, in any order of events", (f"{_MODEL}::test_claims_behave_as_a_lock_with_a_queue", f"{_NOTES}::test_any_course_of_commands_ends_as_the_pure_decisions_say")),
    Row("R7.race", "R7", "ten thousand claims at once never give a note to two", (f"{_RACE}::test_ten_thousand_claims_never_give_a_note_to_two",)),
    Row("R7.lapse", "R7", "a waiter gets the note when the lease runs out", (f"{_NOTES}::test_a_waiter_gets_the_note_when_the_lease_runs_out",)),
    Row("R7.dead", "R7", "who left the queue does not block it; a deleted note sends its waiters away", (f"{_NOTES}::test_whoever_left_the_queue_does_not_block_it", f"{_NOTES}::test_a_deleted_note_sends_its_waiters_away")),
    Row("R7.place", "R7", "a waiter finds its place again when its worker goes", (f"{_NOTES}::test_a_waiter_finds_its_place_again_when_its_worker_goes", f"{_NOTES}::test_a_look_at_the_queue_decides_nothing_about_who_came_after_it")),
    Row("R7.many", "R7", "a thousand waiters leave room for everybody else", (f"{_NOTES}::test_a_thousand_waiters_leave_room_for_everybody_else",)),
    Row("P.notefold", "P8", "notes fold to their newest fact, removals void them, the digest covers them", ("tests/unit/test_note_fold.py::test_the_newest_fact_of_a_note_is_the_note", "tests/unit/test_note_fold.py::test_a_removal_voids_notes_of_repositories_that_were_never_registered", "tests/unit/test_note_fold.py::test_the_digest_depends_on_notes_and_on_nothing_but_them")),
    # -- failure ----------------------------------------------------------------------------------
    Row("R15.memory", "R15", "a reset keeps memory and drops what was written over records", (f"{_LINKS}::test_a_reset_keeps_notes_and_drops_what_was_written_over_records", f"{_NOTES}::test_registering_keeps_the_memory_that_was_there")),
    Row("P.memory", "P", "kill -9 of worker and broker loses no answered write and doubles none", (f"{_KILLS}::test_no_answered_write_is_lost_and_none_is_doubled", f"{_NOTES}::test_a_command_tried_again_after_its_fact_was_stored_has_one_effect")),
    Row("P.asked", "P", "an answer that was lost with the broker is asked for again, and nothing is done twice", (f"{_BETWEEN}::test_an_answer_that_was_lost_with_the_broker_is_asked_for_again", f"{_BETWEEN}::test_a_reset_that_is_asked_for_again_undoes_nothing_that_came_since", f"{_BETWEEN}::test_a_grant_that_was_heard_of_is_not_given_back_by_whoever_was_asked_again")),
    Row("P.twice", "P", "a command that is delivered twice undoes nothing that came in between", (f"{_BETWEEN}::test_a_patch_that_is_delivered_again_does_not_undo_a_later_one", f"{_BETWEEN}::test_a_command_that_changed_nothing_is_not_carried_out_late", f"{_BETWEEN}::test_a_late_grant_to_somebody_who_left_is_given_back", f"{_BETWEEN}::test_a_change_that_was_stored_is_told_as_done_though_another_lies_over_it")),
    Row("P.archived", "P", "an archive holds all that it says it holds, and is written by one export at a time", (f"{_BETWEEN}::test_an_export_that_ran_out_of_time_says_so_instead_of_leaving_notes_out", f"{_BETWEEN}::test_an_export_that_is_given_up_is_over_before_another_begins")),
    Row("P.memorydead", "P2", "a command that fails for good is answered, and parked", (f"{_NOTES}::test_a_command_that_fails_for_good_is_answered_and_parked",)),
    Row("P.synced", "P", "facts are on disk before they are answered, with one sync a batch", (f"{_FILES}::test_the_newest_block_is_synced_once_for_all", f"{_FILES}::test_a_foreign_brokers_files_are_left_alone")),
)  # fmt: skip
