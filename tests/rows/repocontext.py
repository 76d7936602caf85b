"""The repository-context family and the pipeline behind it."""

from __future__ import annotations

from tests.rows import Row

_PIPE = "tests/pipeline/test_pipeline.py"
_ASK = "tests/pipeline/test_tools.py"
_MCP = "tests/unit/test_mcp_server.py"
_SCHEMA = "tests/unit/test_tool_schema.py"
_HTTP = "tests/unit/test_http.py"
_CATALOGUE = "tests/golden/test_tools_catalog.py"
_IGNORE = "tests/unit/test_ignore.py"
_GUARD = "tests/unit/test_guard.py"
_WALK = "tests/unit/test_walk.py"
_WATCH = "tests/unit/test_watch.py"
_BUS = "tests/pipeline/test_bus.py"
_CONSUMER = "tests/pipeline/test_consumer.py"
_FOLD = "tests/unit/test_fold.py"
_KILLS = "tests/faults/test_kills.py"
_NODE = "tests/e2e/test_node.py"
_PERMISSIONS = "tests/unit/test_node_permissions.py"

ROWS = (
    # -- surface --------------------------------------------------------------------------------
    Row("A01", "U5", "workspace mode with writes lists the workspace tools and no bootstrap", (f"{_CATALOGUE}::test_single_mode_onboards_by_bootstrap_and_workspace_mode_by_add_repo", f"{_MCP}::test_a_workspace_server_has_no_single_repository_tools")),
    Row("A02", "U5", "single mode has bootstrap and no workspace tools", (f"{_MCP}::test_a_single_repository_server_has_no_workspace_tools",)),
    Row("A03", "U5", "with writes off no mutating tool is listed or callable", (f"{_CATALOGUE}::test_without_writes_only_reading_tools_are_offered", f"{_MCP}::test_without_writes_no_writing_tool_is_listed", f"{_MCP}::test_a_hidden_tool_cannot_be_called_by_its_name")),
    Row("A04", "U5", "without a workspace root changed and onboarding are not listed", (f"{_CATALOGUE}::test_without_a_workspace_root_nothing_that_walks_is_offered",)),
    Row("A05", "U5", "an undeclared argument is refused and nothing happens", (f"{_SCHEMA}::test_an_undeclared_argument_is_named_with_the_accepted_ones", f"{_MCP}::test_a_mistake_is_explained_and_the_tool_does_not_run")),
    Row("A06", "U5", "a required string of spaces is refused by name", (f"{_SCHEMA}::test_a_blank_argument_is_named",)),
    Row("A07", "U5", "another region is refused, none is accepted", (f"{_MCP}::test_another_region_is_refused_and_ours_accepted",)),
    Row("A08", "U5", "mistakes of callers are counted by tool and reason", (f"{_ASK}::test_two_mistakes_raise_the_client_error_counter_by_two",)),
    Row("R1.1", "R1", "mutating tools are marked destructive, the rest read-only", (f"{_CATALOGUE}::test_writing_tools_of_the_family_are_marked_destructive",)),
    Row("R1.2", "R1", "a caller without data permission sees none of the tools", (f"{_MCP}::test_a_caller_without_scopes_sees_nothing",)),
    Row("R2.2a", "R2.2", "pageSize and k are clamped, not refused", (f"{_ASK}::test_page_size_and_k_are_clamped",)),
    Row("R2.2b", "R2.2", "scope is case-insensitive, an unknown one refused", (f"{_ASK}::test_scope_is_case_insensitive_and_an_unknown_one_is_refused",)),
    Row("R2.2c", "R2.2", "pathPrefix goes with Files only, MemoryTopic needs a topic", (f"{_ASK}::test_scan_refuses_what_does_not_go_together",)),
    Row("R2.2d", "R2.2", "a continuation token of other arguments, or a damaged one, is refused", (f"{_ASK}::test_a_continuation_token_is_bound_to_its_arguments",)),
    Row("R2.2e", "R2.2", "a blank repoId on health is refused, an absent one is the host", (f"{_ASK}::test_health_of_the_host_and_of_a_repository",)),
    Row("R2.3a", "R2.3", "refusals are sanitised, bounded and complete in the text", (f"{_SCHEMA}::test_a_fault_cannot_forge_a_line_or_hide_text", f"{_SCHEMA}::test_a_fault_is_cut_to_two_thousand_characters")),
    Row("R2.3b", "R2.3", "what nobody foresaw leaks nothing and is logged once", (f"{_MCP}::test_an_unforeseen_error_stays_inside_and_is_logged_once",)),
    Row("R2.3c", "R2.3", "an argument nested without end is refused like any other wrong one", (f"{_SCHEMA}::test_an_argument_nested_without_end_is_refused", f"{_SCHEMA}::test_a_wrong_type_is_explained_with_its_place")),
    # -- records --------------------------------------------------------------------------------
    Row("R3.1", "R3.1", "keys are reversible whatever their components hold", ("tests/property/test_ids_property.py::test_a_key_is_parsed_into_what_it_was_made_of",)),
    Row("R3.1b", "R3.1", "what is no key is refused", (f"{_ASK}::test_a_malformed_key_is_refused_and_a_missing_record_is_not",)),
    Row("A26", "U5", "recall of a missing key answers exists=false", (f"{_ASK}::test_a_malformed_key_is_refused_and_a_missing_record_is_not",)),
    Row("A27", "U5", "pages are bounded and join without gap or repeat", (f"{_PIPE}::test_scan_pages_join_without_gap_or_repeat", f"{_ASK}::test_page_size_and_k_are_clamped")),
    Row("A28", "U5", "pathPrefix with Symbols is refused; lower-case scope works", (f"{_ASK}::test_scan_refuses_what_does_not_go_together", f"{_ASK}::test_scope_is_case_insensitive_and_an_unknown_one_is_refused")),
    Row("A29", "U5", "MemoryTopic without topic is refused", (f"{_ASK}::test_scan_refuses_what_does_not_go_together",)),
    Row("R4.path", "R4", "a file or directory is found however its path is written", (f"{_ASK}::test_a_file_is_found_however_its_path_is_written",)),
    Row("R4.recall", "R4", "every record that scan shows can be recalled", (f"{_PIPE}::test_every_scanned_key_can_be_recalled",)),
    Row("R3.4a", "R3.4", "the content projection is the first 65,536 characters", (f"{_ASK}::test_the_content_record_is_the_first_65536_characters",)),
    Row("R3.4b", "R3.4", "token counts are exact", ("tests/unit/test_tokens.py::test_both_engines_count_the_same_on_random_text",)),
    # -- onboarding and status --------------------------------------------------------------------
    Row("A09", "U5", "an unknown repository has status None and no error", (f"{_ASK}::test_an_unknown_repository_is_no_error_where_the_spec_says_so",)),
    Row("A10", "U5", "add_repo returns Running at once and ends Completed/Done", (f"{_ASK}::test_add_repo_answers_running_at_once", f"{_PIPE}::test_the_status_counts_what_the_walk_saw")),
    Row("A11", "U5", "a path out of the workspace is refused", (f"{_ASK}::test_a_path_that_leaves_the_workspace_is_refused", f"{_GUARD}::test_a_root_outside_is_refused_in_the_same_words_whether_it_exists_or_not")),
    Row("A13", "U5", "an unchanged tree again: no changes, attempt + 1", (f"{_PIPE}::test_an_unchanged_tree_changes_nothing_but_the_attempt",)),
    Row("A14", "U5", "one edited, one new, one deleted: 1/1/1", (f"{_PIPE}::test_one_edited_one_new_and_one_deleted_file_are_counted_as_that",)),
    Row("A15", "U5", "a killed node resumes without raising the attempt", (f"{_KILLS}::test_a_killed_node_goes_on_where_it_was",)),
    Row("A16", "U5", "an edit is found without a call", (f"{_PIPE}::test_an_edit_is_found_by_the_watcher_without_a_walk",)),
    Row("A18", "U5", "a pass that failed is driven again by itself", (f"{_ASK}::test_a_failed_pass_is_told_and_the_next_one_heals_it",)),
    # -- walk -----------------------------------------------------------------------------------
    Row("A19", "U5", "gitignore decides exactly as git", ("tests/property/test_ignore_property.py::test_the_walk_yields_what_git_lists", f"{_IGNORE}::test_git_itself_decides_every_case_as_the_table_says")),
    Row("A20", "U5", "a NUL at 7999 is binary, at 8000 not", ("tests/unit/test_digest.py::test_only_a_nul_among_the_first_8000_bytes_makes_a_file_binary",)),
    Row("A21", "U5", "excludeBinary=false indexes binaries", (f"{_PIPE}::test_filters_of_the_onboarding_hold",)),
    Row("A22", "U5", "exclude beats include", (f"{_IGNORE}::test_exclude_beats_include_and_both_need_the_gitignore", f"{_PIPE}::test_filters_of_the_onboarding_hold")),
    Row("A23", "U5", "symbolic links are not followed", (f"{_WALK}::test_links_are_not_followed_and_special_files_are_passed_over",)),
    Row("A24", "U5", "a touched file is not re-embedded", (f"{_PIPE}::test_a_touched_file_keeps_its_record_and_is_settled_by_stat_from_then_on",)),
    Row("A25", "U5", "digests start xx128:", ("tests/unit/test_digest.py::test_a_digest_is_xxh3_with_128_bits_in_canonical_order",)),
    Row("R14.legacy", "R14", "a legacy digest is checked under its own algorithm", ("tests/unit/test_digest.py::test_an_old_digest_is_checked_as_sha256",)),
    Row("R14.odd", "R14", "odd names, long paths and wide folders are walked", (f"{_WALK}::test_names_of_any_bytes_come_back_as_they_are", f"{_WALK}::test_ten_thousand_files_in_one_folder_all_come", f"{_WALK}::test_paths_longer_than_the_system_takes_are_walked")),
    Row("P.watch", "P3", "saves, moves, storms and a used-up watch limit are handled", (f"{_WATCH}::test_a_save_by_renaming_is_told_as_the_file_it_leaves", f"{_WATCH}::test_a_renamed_folder_is_followed_under_its_new_name", f"{_WATCH}::test_too_many_changes_at_once_ask_for_one_walk", f"{_WATCH}::test_a_used_up_allowance_degrades_with_the_setting_to_raise")),
    Row("P.skip", "P3", "large files are recorded with the reason and not extracted", (f"{_ASK}::test_a_large_file_is_recorded_with_the_reason_and_found_by_its_path",)),
    # -- retrieval --------------------------------------------------------------------------------
    Row("A60", "U5", "no embedder: keyword.no_embedder, keyword_only, ready", (f"{_ASK}::test_without_an_embedder_answers_are_by_keyword_and_ready",)),
    Row("A61", "U5", "an unreachable embedder: vector_plane_unavailable, building", (f"{_ASK}::test_an_unreachable_embedder_is_told_and_keyword_answers_go_on",)),
    Row("A62", "U5", "content-match for body words; path-name-match first for names", (f"{_ASK}::test_without_an_embedder_answers_are_by_keyword_and_ready",)),
    Row("A63", "U5", "order finds OrderService", (f"{_ASK}::test_a_part_of_a_name_finds_it",)),
    Row("A64", "U5", "the same query gives the same order", (f"{_ASK}::test_the_same_query_gives_the_same_answer",)),
    Row("A65", "U5", "a file matched by several passages appears once", (f"{_ASK}::test_the_same_query_gives_the_same_answer",)),
    Row("A67", "U5", "related names tests and dependents, not itself", (f"{_PIPE}::test_related_names_dependents_and_covering_tests",)),
    Row("A68", "U5", "drift is told with its dependents; outside is refused", (f"{_PIPE}::test_drift_is_told_before_it_is_indexed", f"{_ASK}::test_a_path_that_leaves_the_workspace_is_refused")),
    Row("R9.reasons", "R9", "reasons are bounded, ordered and never null", ("tests/unit/test_ranking.py::test_keyword_reasons_stand_in_their_order_and_are_six_at_most", f"{_PIPE}::test_a_tree_becomes_searchable_with_reasons_and_a_route")),
    # -- reset and removal ------------------------------------------------------------------------
    Row("A80", "U5", "after a reset the repository is listed with nulls", (f"{_PIPE}::test_a_reset_drops_the_index_and_keeps_the_repository_listed",)),
    Row("A81", "U5", "reset or removal of an unknown id changes nothing", (f"{_ASK}::test_an_unknown_repository_is_no_error_where_the_spec_says_so",)),
    Row("A82", "U5", "an empty repository is nothing_registered and not ready", (f"{_ASK}::test_an_empty_repository_is_not_ready_and_the_host_is",)),
    Row("R3.4c", "R3.4", "who refers to a name is a record; without referrers there is none", (f"{_ASK}::test_who_refers_to_a_name_can_be_recalled",)),
    Row("R4.related", "R4", "answers about what is used everywhere stay small", (f"{_ASK}::test_what_thousands_refer_to_is_told_in_short_with_its_count",)),
    Row("R4.changed", "R4", "drift is told below any directory, a removed one included", (f"{_ASK}::test_drift_is_told_below_any_directory_even_one_that_is_gone",)),
    Row("R8.proof", "R8", "a non-empty index is ready whatever was asked of it before", (f"{_ASK}::test_a_question_of_unknown_words_does_not_make_a_repository_unready", f"{_ASK}::test_a_question_asked_too_early_does_not_make_a_repository_unready_for_good")),
    Row("R8.hold", "R8", "a proven repository stays ready for 30 s after a fault, and says so", (f"{_ASK}::test_a_proven_repository_stays_ready_for_a_while_after_a_fault",)),
    Row("R8.empty", "R8", "a tree without an eligible file is nothing_registered", (f"{_ASK}::test_a_repository_of_binaries_only_has_nothing_registered", f"{_ASK}::test_a_repository_whose_last_file_is_deleted_keeps_nobody_waiting")),
    Row("R4.health", "R4", "looking at health asks no embedding server", ("tests/unit/test_embedder_query.py::test_looking_at_the_space_asks_no_server",)),
    Row("P.embedder", "P", "an embedding server that is back is used within a minute", ("tests/unit/test_embedder_query.py::test_a_server_that_stays_away_is_tried_every_minute",)),
    Row("R15.remove", "R15", "removal deletes everything and can be repeated", (f"{_PIPE}::test_a_removed_repository_is_gone_and_can_come_back",)),
    # -- failure ----------------------------------------------------------------------------------
    Row("P.ack", "P2", "outputs are stored before the input is acknowledged", (f"{_CONSUMER}::test_nothing_is_acknowledged_before_its_outputs_are_stored",)),
    Row("P.dead", "P2", "what fails for good is on DEAD and stops nothing", (f"{_CONSUMER}::test_one_bad_message_does_not_stop_its_batch_and_ends_on_the_dead_stream", f"{_ASK}::test_a_poison_job_is_parked_and_the_rest_goes_on")),
    Row("P.late", "P2", "late and doubled messages change nothing", (f"{_BUS}::test_a_late_duplicate_of_an_old_version_is_refused", f"{_BUS}::test_vectors_are_stored_beside_their_own_record_only", f"{_ASK}::test_every_message_doubled_and_late_changes_nothing")),
    Row("P.fold", "P8", "folding is idempotent, batch-independent and replayable", ("tests/property/test_fold_property.py::test_batching_repetition_and_compaction_do_not_change_the_content", f"{_FOLD}::test_the_same_messages_a_second_time_change_nothing")),
    Row("P.map", "P8", "the map grows by itself", (f"{_FOLD}::test_the_map_grows_while_folding",)),
    Row("P.corrupt", "P8", "a damaged or old environment is rebuilt", (f"{_KILLS}::test_a_damaged_projection_is_rebuilt_by_itself", f"{_FOLD}::test_an_environment_of_another_format_is_refused")),
    Row("P.kill", "P", "kill -9 of any process costs nothing but time", (f"{_KILLS}::test_a_killed_process_costs_nothing_but_time", f"{_KILLS}::test_a_killed_node_goes_on_where_it_was")),
    Row("P.cluster", "P11", "a broker cluster, scaled workers and two replicas converge under fire", ("tests/faults/test_cluster.py::test_replicas_of_a_cluster_under_fire_end_with_the_digest_of_a_clean_run",)),
    Row("P.users", "P11", "each worker's NATS user reaches its own subjects alone", (f"{_PERMISSIONS}::test_a_user_reaches_its_own_subjects_and_no_others",)),
    Row("P.two", "P", "two nodes on one state directory: the second refuses", (f"{_NODE}::test_a_second_node_is_refused_and_told_who_holds_the_state",)),
    Row("P.orphan", "P", "a node whose stdio client was killed ends", (f"{_NODE}::test_the_node_of_a_killed_stdio_client_ends_as_well",)),
    Row("P.line", "P", "over stdio a line that is no message is answered, and the next one served", (f"{_MCP}::test_a_line_that_is_no_message_is_answered_and_the_next_one_served",)),
    Row("P.mixed", "P", "options of a command may stand among its words", ("tests/unit/test_cli.py::test_options_may_stand_among_the_words",)),
    Row("P.spoken", "P", "the command line tells next steps in commands, not in tools", ("tests/unit/test_cli.py::test_a_next_step_is_told_in_commands",)),
    Row("P.terminal", "P", "names and texts of a repository neither steer a terminal nor are taken for markup", ("tests/unit/test_terminal.py::test_what_steers_a_terminal_is_written_out_there", "tests/unit/test_terminal.py::test_what_looks_like_markup_is_text", "tests/unit/test_terminal.py::test_a_bar_shows_a_repository_of_any_name")),
    Row("P.notes", "P", "notes are shown in words, and where there are none that is told", ("tests/unit/test_note_command.py::test_notes_are_listed_in_words", "tests/unit/test_note_command.py::test_where_there_are_no_notes_nothing_but_that_is_told")),
    Row("P.disk", "P", "a full disk or read-only state directory is told", ("tests/unit/test_node_state.py::test_a_full_disk_is_refused_with_a_way_out", "tests/unit/test_node_state.py::test_a_read_only_directory_is_refused_with_a_way_out")),
    # -- HTTP -------------------------------------------------------------------------------------
    Row("P.http", "P9", "tokens, Host and Origin are checked", (f"{_HTTP}::test_without_a_token_of_ours_the_answer_is_401_and_where_to_learn_more", f"{_HTTP}::test_a_foreign_host_is_421", f"{_HTTP}::test_a_foreign_origin_is_403")),
    Row("P.tokens", "P1", "tokens.json is private and made once", (f"{_HTTP}::test_tokens_are_made_once_and_kept_private",)),
    Row("P.suite", "P9", "the official conformance suite passes", ("tests/conformance/test_official_suite.py::test_every_required_scenario_of_a_revision_passes",)),
    # -- deferred ---------------------------------------------------------------------------------
    Row("A17", "U5", "an embedder that comes back embeds everything", ("tests/pipeline/test_embedder_broker.py::test_an_outage_loses_nothing_and_is_told_once",)),
)  # fmt: skip
