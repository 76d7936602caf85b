"""What a reference means."""

from __future__ import annotations

from tests.rows import Row

_TRAPS = "tests/golden/test_resolution.py"
_UNIT = "tests/unit/test_resolution.py"
_ANY = "tests/property/test_resolution_increments.py"
_READER = f"{_TRAPS}::test_every_call_means_what_a_reader_says"
_IDS = f"{_TRAPS}::test_every_target_is_the_id_of_a_symbol"
_FRESH = f"{_ANY}::test_after_any_edits_the_edges_are_those_of_a_fresh_index"

ROWS: tuple[Row, ...] = (
    Row(
        "RES1",
        "U3",
        "a name resolves through scopes, imports, types and inheritance, in ten languages",
        (_READER,),
    ),
    Row(
        "RES2",
        "C2",
        "what is not resolved is unresolved or ambiguous with candidates, never a same-named stranger",
        (f"{_UNIT}::test_a_same_named_stranger_is_a_candidate_and_no_answer", _READER),
    ),
    Row(
        "RES2b",
        "C2",
        "what a block declares ends with it: the same name means another thing around it",
        (_READER,),
    ),
    Row(
        "RES2c",
        "C2",
        "a Rust crate is known by the name its Cargo.toml gives it, to its own programs and tests too",
        (_READER,),
    ),
    Row(
        "RES3",
        "C2",
        "what leads outside the repository says where",
        (f"{_UNIT}::test_what_is_outside_the_repository_is_said_to_be",),
    ),
    Row("RES4", "U2.17", "confidence is high only where the chain is certain", (_READER,)),
    Row(
        "RES5",
        "C9",
        "overrides and implementations, in Go from method sets",
        (f"{_UNIT}::test_types_relate_to_what_they_derive_from", _READER),
    ),
    Row(
        "RES6",
        "C1",
        "symbol ids carry parameters where the language overloads",
        (f"{_UNIT}::test_a_symbol_id_keeps_overloads_apart_where_the_language_has_them",),
    ),
    Row(
        "RES7",
        "C1",
        "a stable id survives a rename, twins are numbered",
        (f"{_UNIT}::test_a_stable_id_survives_a_rename_and_twins_are_numbered",),
    ),
    Row(
        "RES8",
        "U3.2",
        "after any edits, removals, moves and reverts the edges are those of a fresh index",
        (
            _FRESH,
            f"{_ANY}::test_a_real_package_keeps_gains_and_loses_edges_rightly",
            f"{_ANY}::test_the_order_of_files_does_not_matter",
        ),
    ),
    Row(
        "RES9",
        "U3.2",
        "an edit that others cannot see resolves its own file only",
        (
            f"{_UNIT}::test_an_edit_inside_a_body_resolves_its_own_file_only",
            f"{_UNIT}::test_a_name_nobody_asks_for_resolves_its_own_file_only",
        ),
    ),
    Row(
        "RES10",
        "U3.2",
        "callers in untouched files lose and gain edges",
        (
            f"{_UNIT}::test_callers_in_untouched_files_lose_and_gain_edges",
            f"{_UNIT}::test_a_file_that_appears_is_found_by_those_who_import_it",
        ),
    ),
    Row(
        "RES11",
        "U3.2",
        "a restarted process goes on from summaries alone",
        (
            f"{_ANY}::test_a_restarted_process_goes_on_from_summaries",
            f"{_UNIT}::test_a_summary_of_another_version_is_asked_for_again",
        ),
    ),
    Row(
        "RES12",
        "C5",
        "an overlay leaves its base as it is",
        (f"{_ANY}::test_an_overlay_leaves_its_base_as_it_is",),
    ),
    Row(
        "RES13",
        "U3.2",
        "a cold build may be shared between processes",
        (f"{_UNIT}::test_a_cold_build_may_be_shared_between_processes",),
    ),
    Row(
        "RES14",
        "U3",
        "overloads are told apart by the types of arguments; where those are not known all stay candidates",
        (_READER,),
    ),
    Row(
        "RES15",
        "U3",
        "type arguments, aliases, function types and checks of a member tell the types of TypeScript's values",
        (_READER, f"{_UNIT}::test_types_that_are_made_of_themselves_come_to_an_end"),
    ),
    Row(
        "RES16",
        "C1",
        "every target is the id of a symbol, fields that are only assigned included",
        (
            _IDS,
            f"{_UNIT}::test_a_field_that_is_only_assigned_is_a_symbol",
            f"{_UNIT}::test_what_no_symbol_stands_for_is_no_target",
        ),
    ),
    Row(
        "RES17",
        "C2",
        "a file that defeats the rules has unresolved edges of low confidence and a note, and costs the others nothing",
        (
            f"{_UNIT}::test_a_file_that_defeats_the_rules_costs_the_others_nothing",
            f"{_UNIT}::test_a_file_that_cannot_be_summarised_declares_nothing",
        ),
    ),
    Row(
        "RES18",
        "U3",
        "what stands in brackets is known: made, cast, cloned, awaited, or one of two; qualified names from any package",
        (_READER, f"{_UNIT}::test_expressions_in_brackets_are_taken_apart"),
    ),
    Row(
        "RES19",
        "C1",
        "overloads are chosen by argument types and defaults in C#, C++, Kotlin, Scala and Swift as in Java",
        (_READER, f"{_UNIT}::test_types_are_plain_whatever_a_language_writes_around_them"),
    ),
    Row(
        "WT1",
        "U2.1",
        "a worktree shares extracts, vectors and baselines with its repository",
        (
            "tests/pipeline/test_worktrees.py::test_a_worktree_is_indexed_without_reading_its_files_out_again",
            "tests/unit/test_gitrepo.py::test_worktrees_of_a_repository_without_a_remote_have_one_id",
        ),
    ),
)
