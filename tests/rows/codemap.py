"""Symbols, references, graphs, baselines and overlays."""

from __future__ import annotations

from tests.rows import Row

_MAP = "tests/pipeline/test_codemap.py"
_FOLD = "tests/property/test_map_fold_property.py"
_KILLS = "tests/faults/test_map_kills.py"
_SCAN = "tests/unit/test_text_scan.py"
_VIEWS = "tests/pipeline/test_map_views.py"
_INDEX = "tests/unit/test_map_index.py"
_ANSWERS = "tests/pipeline/test_map_answers.py"
_GIT = "tests/unit/test_gitrepo.py"
_SEARCH = f"{_MAP}::test_a_search_wants_a_query_or_kinds_and_clamps_its_limit"
_GRAPH = f"{_MAP}::test_references_and_graphs_tell_what_is_certain_and_what_is_not"
_BASE = f"{_MAP}::test_a_baseline_is_needed_built_once_and_told_of"
_EDIT = f"{_MAP}::test_an_edit_is_in_the_workspace_after_a_refresh_and_not_in_the_commit"
_GONE = f"{_MAP}::test_a_deleted_file_is_hidden_in_the_workspace_only"
_VIRTUAL = f"{_MAP}::test_virtual_files_show_in_spans_for_one_call_of_a_workspace"
_COMMITS = f"{_MAP}::test_other_commits_and_trees_without_git_have_baselines"
_OUTSIDE = f"{_MAP}::test_what_lies_outside_is_refused"
_REPORTS = f"{_MAP}::test_refusals_are_json_and_reports_answer"
_LIVE = f"{_MAP}::test_the_live_map_follows_edits_as_a_fresh_resolve_would"

ROWS: tuple[Row, ...] = (
    Row("A95", "U5", "without a baseline INDEX_NOT_AVAILABLE, retryable; built once, then already_existed without stats", (_BASE,)),
    Row("A96", "U5", "neither query nor kinds is INVALID_ARGUMENT; * with kinds browses", (_SEARCH,)),
    Row("A97", "U5", "a limit above its cap is clamped and told in limits_applied", (_SEARCH,)),
    Row("A98", "U5", "an edit shows in the workspace after a refresh, not in the commit; a second refresh keeps the revision", (_EDIT,)),
    Row("A99", "U5", "a deleted file's symbols are NOT_FOUND in the workspace and there without it", (_GONE,)),
    Row("A100", "U5", "virtual files show in spans of one call of a workspace, not in search", (_VIRTUAL,)),
    Row("C1", "C1", "ids are 40 hex commits, 16 hex repositories, the same for every clone", (f"{_GIT}::test_clones_of_one_remote_have_one_id",)),
    Row("C3", "C3", "the envelope leaves nulls out, writes snake_case and counts what it spares", (_REPORTS, _BASE)),
    Row("C4", "C4", "limits: default when left out, clamped and noted above the cap, one when below", (_SEARCH,)),
    Row("C5a", "C5", "a workspace reads its base minus replaced files plus its overlay", (f"{_INDEX}::test_a_layered_view_equals_one_over_all_files", _EDIT)),
    Row("C5b", "C5", "resolving an overlay gives what a fresh resolve of the same files gives", (f"{_INDEX}::test_a_manifest_over_the_live_tree_is_that_of_a_fresh_one",)),
    Row("C6", "C6", "refusals are JSON with code, message, details and retryable", (_REPORTS,)),
    Row("C7.2", "C7", "a baseline is shared between machines by CODEMAP_CACHE_DIR", (f"{_MAP}::test_machines_share_baselines_by_a_folder",)),
    Row("C7.3", "C7", "search: AND, OR, prefix, namespace, path, kinds, true totals, nearly spelled words", (_SEARCH, f"{_INDEX}::test_whole_names_come_first_and_totals_are_true")),
    Row("C7.3b", "C7", "ids and beginnings are searched for; declarations of one id in one file count once", (f"{_MAP}::test_a_search_takes_ids_beginnings_and_each_declaration_once",)),
    Row("C7.3d", "C7", "filters keep kind, namespace and path; words as near as the table of edits tells", (f"{_INDEX}::test_filters_keep_what_has_the_kind_the_beginning_and_the_path", f"{_INDEX}::test_the_distance_of_words_is_that_of_the_usual_table")),
    Row("C7.4", "C7", "a card by id, stable id or name; several meanings are AMBIGUOUS", (_GRAPH,)),
    Row("C5c", "C5", "an edit costs its own files: layers over layers equal one segment, a worn first one is made anew beside", (f"{_INDEX}::test_layers_over_layers_equal_one_segment_of_all", f"{_VIEWS}::test_a_first_segment_that_much_has_changed_since_is_made_anew_beside")),
    Row("C5d", "C5", "making a view holds up no other question; without a cache it is made all the same", (f"{_VIEWS}::test_a_program_makes_the_segment_while_others_are_answered", f"{_INDEX}::test_many_changed_files_are_not_read_while_everybody_waits", f"{_VIEWS}::test_a_cache_that_cannot_be_written_leaves_questions_answered")),
    Row("C5e", "C5", "views that nobody asks for are let go of and come back", (f"{_VIEWS}::test_what_nobody_asks_for_is_let_go_of_and_comes_back",)),
    Row("C7.5", "C7", "spans are numbered lines of the disk, inside the repository only", (_VIRTUAL, _OUTSIDE)),
    Row("C7.6", "C7", "the code of a symbol is read from disk; when that has moved on, the answer says so", (f"{_MAP}::test_a_definition_says_when_the_disk_has_moved_on",)),
    Row("C7.3c", "C7", "words of one or two letters are near nothing", (f"{_MAP}::test_a_query_of_one_letter_is_near_nothing",)),
    Row("C7.7", "C7", "references by kind and state, unresolved ones told apart", (_GRAPH,)),
    Row("C7.8", "C7", "callers and callees breadth first with depths and edges, clamped at six", (_GRAPH,)),
    Row("C7.5b", "C7", "lines are counted as the index counts them; git's own files are not shown", (f"{_MAP}::test_lines_are_those_of_the_index_and_git_keeps_its_own",)),
    Row("C7.8b", "C7", "an answer without callers tells of uses as a value, of the type a constructor makes, and of the overridden member", (f"{_MAP}::test_no_callers_is_never_all_that_is_said",)),
    Row("C7.10", "C7", "hierarchy: base, interfaces, derived; not a type is INVALID_ARGUMENT", (_GRAPH,)),
    Row("C7.11", "C7", "workspaces: idempotent create, reset to zero, list, delete", (_EDIT, _COMMITS)),
    Row("C7.13", "C7", "a refresh by path reads those paths only", (_GONE,)),
    Row("C7.19", "C7", "a trace is a tree from one root", (_GRAPH,)),
    Row("C8a", "C8", "diff tells renames by stable id; baselines are listed; cleanup protects HEAD and workspaces", (_COMMITS,)),
    Row("C8b", "C8", "context, text search, summary, export within its tokens, guide", (_REPORTS,)),
    Row("C8d", "C8", "a text search leaves out only what cannot match, and follows no link", (f"{_SCAN}::test_lines_are_those_that_match_one_by_one", f"{_SCAN}::test_what_a_pattern_requires_is_in_whatever_it_matches", f"{_SCAN}::test_a_link_on_the_way_is_not_followed_and_a_missing_file_is_passed_over")),
    Row("C8c", "C8", "every tool of the family is offered and asks for repo_path", (f"{_MAP}::test_every_tool_of_the_family_is_there_and_says_what_it_needs",)),
    Row("C7.1", "C7", "a folder that is not indexed yet has a status; all else asks for index_ensure_baseline, retryable", (f"{_ANSWERS}::test_a_git_tree_inside_another_is_a_repository_of_its_own", _OUTSIDE)),
    Row("C7.4b", "C7", "of several declarations the one with the code is shown, with calls and facts of all; namespaces are no types", (f"{_ANSWERS}::test_what_is_declared_several_times_is_shown_where_its_code_is",)),
    Row("C7.7b", "C7", "lines of files that have changed since are left out, or told to be doubtful", (f"{_ANSWERS}::test_lines_are_left_out_or_doubted_where_the_file_has_changed",)),
    Row("C7.10b", "C7", "an interface has no base; what it extends are interfaces", (f"{_ANSWERS}::test_an_interface_has_interfaces_and_no_base",)),
    Row("C7.11b", "C7", "without a commit there is no baseline to stand on; a tree without git has a HEAD", (f"{_ANSWERS}::test_where_nothing_is_committed_or_there_is_no_git_head_still_means_something",)),
    Row("C4b", "C4", "every bound that is set aside is told; a blank workspace is none; virtual files lie inside", (f"{_ANSWERS}::test_bounds_that_are_set_aside_are_told_and_blanks_are_none",)),
    Row("C8e", "C8", "a diff follows symbols into other files and under renamed types", (f"{_ANSWERS}::test_what_comes_into_another_file_or_under_another_name_is_no_new_symbol",)),
    Row("C8f", "C8", "an export has the tokens that it tells, as it is written", (f"{_ANSWERS}::test_an_export_has_the_tokens_it_tells_and_no_more_than_wanted",)),
    Row("C7.3e", "C7", "scores are below zero, however little a hit is worth", (f"{_INDEX}::test_scores_are_below_zero_however_little_a_hit_is_worth",)),
    Row("C.nested", "U2.2", "a git tree inside another is a repository of its own", (f"{_ANSWERS}::test_a_git_tree_inside_another_is_a_repository_of_its_own",)),
    Row("C8h", "C8", "reports are in the same order whatever layers files are in", (f"{_ANSWERS}::test_reports_of_a_workspace_are_those_of_a_commit_with_its_content",)),
    Row("C8g", "U2.18", "tools of the code map may be called by their dotted names", ("tests/unit/test_dotted_names.py::test_a_dot_is_the_first_underscore_of_a_tool_of_the_code_map_only", "tests/unit/test_dotted_names.py::test_a_dotted_name_calls_what_the_caller_sees_and_is_not_listed")),
    Row("C.git", "C7", "commits are read without touching the tree or running what its configuration names", (f"{_GIT}::test_a_commit_is_read_without_touching_the_tree", f"{_GIT}::test_nothing_that_the_configuration_names_is_run")),
    Row("C.plain", "C7", "a tree without git gets a commit made from its content", (_COMMITS,)),
    Row("C.guard", "U2.2", "repo_path and file paths are guarded as everywhere", (_OUTSIDE,)),
    Row("C.fold", "P", "batching, repetition and compaction do not change the map", (f"{_FOLD}::test_batching_repetition_and_compaction_do_not_change_the_map",)),
    Row("C.replay", "P", "baselines and overlays outlive edits and a replay", (f"{_MAP}::test_a_baseline_outlives_edits_and_a_replay",)),
    Row("C.live", "P", "live references follow edits as a fresh resolve would", (_LIVE,)),
    Row("C.rest", "P", "after a rest the resolver reads only what an edit needs, and gives what a fresh resolve gives", (f"{_MAP}::test_after_a_rest_edits_give_what_a_fresh_resolve_gives",)),
    Row("C.spread", "P", "a cold tree is resolved by forks: every file once, a dead fork is noticed, edges are the same", ("tests/unit/test_resolver_spread.py::test_every_file_is_worked_on_once", "tests/unit/test_resolver_spread.py::test_a_fork_that_dies_ends_the_process", "tests/unit/test_resolution.py::test_a_cold_build_may_be_shared_between_processes")),
    Row("C.touched", "C7", "a refresh counts every symbol that an edit touches, of the same length too", ("tests/unit/test_manifest.py::test_every_edit_of_a_symbol_counts",)),
    Row("C.cold", "P", "a whole repository is resolved and prepared in a process of its own", (f"{_MAP}::test_a_whole_repository_is_resolved_and_prepared_in_a_process_of_its_own",)),
    Row("C.other", "P", "what another worker stored is told and never resolved with", (f"{_MAP}::test_what_was_stored_by_another_is_told_and_never_resolved_with",)),
    Row("C.kill", "P", "a killed resolver costs nothing but time", (f"{_KILLS}::test_a_killed_resolver_costs_nothing_but_time",)),
)  # fmt: skip
