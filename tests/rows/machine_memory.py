"""The memory_* tools."""

from __future__ import annotations

from tests.rows import Row

_TOOLS = "tests/pipeline/test_memory_tools.py"
_LOOKUP = "tests/unit/test_memory_lookup.py"
_RULES = "tests/unit/test_notebook_rules.py"
_DOCTOR = "tests/unit/test_notebook_doctor.py"
_MERGE = "tests/unit/test_notebook_merge.py"
_VECTORS = "tests/pipeline/test_note_embedder.py"
_INIT = "tests/unit/test_agents_file.py"
_CLI = "tests/unit/test_memory_command.py"
_ORIGIN = "tests/unit/test_origin.py"

ROWS = (
    # -- acceptance -------------------------------------------------------------------------------
    Row("A66", "U5", "a note searched by meaning names chunk:memory and its topic", (f"{_MERGE}::test_reasons_of_meaning_name_chunk_and_topic", f"{_TOOLS}::test_notes_are_found_by_meaning_once_embedded")),
    Row("A83", "U5", "451 bytes fit with defaults, 452 are an error with the report, and nothing is written", (f"{_TOOLS}::test_the_size_bar_is_exact_and_nothing_over_it_is_written",)),
    Row("M.retired", "M6", "a retired record may be longer than the budget, but not without end", (f"{_TOOLS}::test_a_retired_record_may_be_longer_but_not_without_end",)),
    Row("A84", "U5", "an age is refused for other types, and dropped with type status", (f"{_TOOLS}::test_only_status_memories_have_an_age",)),
    Row("A85", "U5", "an upsert updates a strong match, refuses a weak one, and creates when forced", (f"{_TOOLS}::test_an_upsert_updates_a_strong_match_and_refuses_a_weak_one",)),
    Row("A86", "U5", "an update takes either id or match, and echoes the match", (f"{_TOOLS}::test_an_update_takes_an_id_or_a_match",)),
    Row("A87", "U5", "twelve records in pages of five; a limit of 51 is refused", (f"{_LOOKUP}::test_pages_join_without_gap_and_limits_are_refused",)),
    Row("A88", "U5", "deprecating counts, tells what is missing, and refuses to supersede itself", (f"{_TOOLS}::test_deprecating_keeps_records_and_tells_what_was_not_there",)),
    Row("A89", "U5", "delete_many answers in exactly the promised shape", (f"{_TOOLS}::test_deleting_tells_exactly_what_went",)),
    Row("A90", "U5", "a negated sentence conflicts, the same one is consistent at 1", (f"{_LOOKUP}::test_verify_and_diff_compare_the_content", f"{_RULES}::test_statements_are_compared_by_terms_and_negation")),
    Row("A91", "U5", "each of the eleven kinds is found with all ids", (f"{_DOCTOR}::test_each_kind_is_found_with_every_id", f"{_DOCTOR}::test_there_is_a_fixture_for_each_of_the_eleven_kinds")),
    Row("A92", "U5", "gc lists what outlived its days and changes nothing", (f"{_LOOKUP}::test_gc_lists_what_outlived_its_days_and_keeps_it",)),
    Row("A93", "U5", "suggest derives terms and hints, and lifts the neighbourhood", (f"{_LOOKUP}::test_suggestions_come_from_paths_and_their_neighbourhood",)),
    Row("A94", "U5", "list_repositories counts by status", (f"{_LOOKUP}::test_repositories_are_listed_by_slug_with_their_counts",)),
    Row("R6.vectors", "R6", "files, symbols and notes with a vector are counted together", (f"{_TOOLS}::test_a_slug_means_its_registered_repository",)),
    Row("M6.namespaces", "M6", "a record is superseded by one of another namespace of its repository", (f"{_TOOLS}::test_a_slug_means_its_registered_repository",)),
    # -- sections -------------------------------------------------------------------------------
    Row("M2.unknown", "M2", "an unknown repository is empty, an unknown id an error", (f"{_LOOKUP}::test_an_unknown_repository_is_empty_and_an_unknown_id_an_error",)),
    Row("M2.filters", "M2", "filters are exact, tags a substring without wildcards, and no status is hidden", (f"{_LOOKUP}::test_filters_narrow_and_nothing_else_does",)),
    Row("M2.echo", "M2", "a write echoes where it was written", (f"{_TOOLS}::test_what_is_added_is_echoed_found_and_listed",)),
    Row("M3.terms", "M3", "terms are lower case, of two characters, distinct, without stop words", (f"{_RULES}::test_terms_are_lower_case_distinct_and_without_stop_words",)),
    Row("M3.bm25", "M3", "bm25 has FTS5's sign and size", (f"{_RULES}::test_bm25_has_the_sign_and_size_of_fts5", f"{_RULES}::test_removing_slots_is_as_if_they_had_never_been")),
    Row("M3.score", "M3", "the score is the sum of recency, certainty, tags, updates and words", (f"{_RULES}::test_the_score_is_the_sum_of_its_parts",)),
    Row("M3.compare", "M3", "added and removed terms are twelve at most, negations whole words", (f"{_RULES}::test_a_comparison_tells_twelve_terms_of_each_side", f"{_RULES}::test_negations_are_whole_words")),
    Row("M4.keyword", "M4", "keyword answers are scored and sorted", (f"{_LOOKUP}::test_keyword_answers_are_scored_and_sorted",)),
    Row("M4.hybrid", "M4", "hybrid fuses ranks, semantic sorts by cosine in one space", (f"{_LOOKUP}::test_hybrid_fuses_ranks_and_semantic_sorts_by_cosine",)),
    Row("M4.degraded", "M4", "without an embedder hybrid says so, semantic fails, an over-long query is refused", (f"{_LOOKUP}::test_without_an_embedder_hybrid_says_so_and_semantic_fails",)),
    Row("M5.sound", "M5", "what is in order is not found", (f"{_DOCTOR}::test_what_is_in_order_is_not_found", f"{_DOCTOR}::test_a_sound_record_has_no_finding_at_all")),
    Row("M5.stats", "M5", "stats count every status", (f"{_LOOKUP}::test_stats_count_every_status",)),
    Row("M6.race", "M6", "a change between match and write is a conflict", (f"{_TOOLS}::test_a_change_between_match_and_write_is_told",)),
    Row("M6.claimed", "M6", "a claimed record is refused, alone by an error, among others by its id", (f"{_TOOLS}::test_a_claimed_record_is_refused_alone_and_left_in_company",)),
    Row("M8.block", "M8", "init keeps one block, and everything around it", (f"{_INIT}::test_everything_around_the_block_is_kept", f"{_INIT}::test_a_missing_file_is_created_and_a_second_time_changes_nothing", f"{_INIT}::test_the_block_is_appended_once_and_duplicates_go")),
    Row("M8.legacy", "M8", "a file headed Project memory is replaced", (f"{_INIT}::test_a_legacy_file_is_replaced",)),
    Row("M8.path", "M8", "the variable and the option name another file", (f"{_INIT}::test_the_variable_and_the_option_name_another_file",)),
    # -- beyond the original ----------------------------------------------------------------------
    Row("M.slug", "U1", "a slug means its registered repository, wherever notes were kept before", (f"{_TOOLS}::test_a_slug_means_its_registered_repository", f"{_LOOKUP}::test_two_clones_of_one_origin_share_what_is_kept_under_its_name", f"{_ORIGIN}::test_only_the_remote_named_origin_counts")),
    Row("M.expired", "U2", "an expired note is gone at once for every tool", (f"{_LOOKUP}::test_an_expired_note_is_gone_at_once_everywhere",)),
    Row("M.removed", "U3", "a removed repository takes its memories along", (f"{_LOOKUP}::test_a_removed_repository_takes_its_memories_along",)),
    Row("M.deny", "M6", "what denies or renumbers an older record is reported and marked", (f"{_DOCTOR}::test_what_cannot_both_hold_is_reported", f"{_TOOLS}::test_a_new_record_names_what_it_denies")),
    Row("M.orders", "M5", "notes that read like orders to an agent are named", (f"{_DOCTOR}::test_notes_that_give_orders_are_named", f"{_DOCTOR}::test_plain_statements_are_left_alone")),
    Row("M.vectors", "R9", "only a changed text is embedded, the newest fact alone, in every new space", (f"{_VECTORS}::test_only_a_changed_text_is_embedded_again", f"{_VECTORS}::test_of_many_facts_only_the_newest_is_embedded", f"{_VECTORS}::test_another_space_embeds_every_note_again")),
    Row("M.gone", "R9", "vectors of what is gone go as well", (f"{_VECTORS}::test_what_is_gone_has_its_vectors_replaced_by_none", f"{_VECTORS}::test_notes_of_a_removed_repository_stay_without_vectors")),
    Row("M.wait", "R9", "without a provider notes wait; an outage holds up no file", (f"{_VECTORS}::test_without_a_provider_notes_wait_and_the_shipped_model_takes_them_later", f"{_VECTORS}::test_an_outage_of_notes_holds_up_no_file")),
    Row("M.remote", "R9", "a server is asked once for a text, and a note it refuses stops nothing", (f"{_VECTORS}::test_a_server_is_asked_once_for_a_text_and_a_note_it_refuses_is_parked",)),
    Row("M.user", "P11", "the embedder's own NATS user may embed notes", (f"{_VECTORS}::test_the_embedders_own_user_may_embed_notes",)),
    Row("M.order", "P8", "vectors are kept once, and only of the present text", (f"{_LOOKUP}::test_vectors_are_kept_once_and_only_of_the_present_text",)),
    Row("M.merge", "R9", "notes stand among files by evidence, and never crowd them out", (f"{_MERGE}::test_a_note_that_is_about_the_question_comes_first", f"{_MERGE}::test_files_keep_their_scores_and_order_whatever_is_remembered", f"{_MERGE}::test_thousands_of_notes_do_not_drown_the_files", f"{_MERGE}::test_merging_keeps_both_orders_and_the_notes_share")),
    Row("M.reasons", "R9", "reasons of a note found by words come in their order", (f"{_MERGE}::test_reasons_of_words_come_in_their_order",)),
    Row("M.follow", "P8", "a notebook that follows equals one read at once", (f"{_LOOKUP}::test_a_book_follows_as_one_that_is_read_at_once", f"{_LOOKUP}::test_an_idle_book_is_let_go_and_read_again")),
    Row("M.history", "P", "the history of a record tells who changed what, deleted ones included", (f"{_TOOLS}::test_the_history_of_a_record_tells_who_changed_what_and_when",)),
    Row("M.rejected", "U1", "a memory refuses what no note may hold", (f"{_TOOLS}::test_what_no_note_may_hold_is_refused",)),
    Row("M.cli", "P", "every memory tool has a command, with --json", (f"{_CLI}::test_every_memory_tool_has_a_command", f"{_CLI}::test_each_reading_command_shows_what_its_tool_answers", f"{_CLI}::test_json_is_the_tools_own_answer")),
)  # fmt: skip
