"""Profiles, the finder and big answers."""

from __future__ import annotations

from tests.rows import Row

_BOX = "tests/unit/test_toolbox.py"
_CATALOGUE = "tests/golden/test_tools_catalog.py"
_BIG = "tests/pipeline/test_big_answers.py"

ROWS: tuple[Row, ...] = (
    Row("AG1", "P", "the agent profile lists at most eight tools and costs at most 1,500 tokens", (f"{_CATALOGUE}::test_the_agent_profile_costs_a_model_little", f"{_BOX}::test_a_partial_profile_lists_its_tools_and_the_two_that_lead_on")),
    Row("AG2", "P", "the finder describes any tool the caller may use", (f"{_BOX}::test_the_finder_describes_what_fits_and_names_the_rest", f"{_BOX}::test_the_finder_knows_a_tool_by_its_name", f"{_BOX}::test_the_finder_does_not_listen_to_words_that_fit_every_tool")),
    Row("AG3", "P", "the call-through runs any tool with full validation and no wider rights", (f"{_BOX}::test_a_tool_that_is_not_listed_is_run_through_the_other", f"{_BOX}::test_the_call_through_validates_as_the_tool_itself_would", f"{_BOX}::test_the_call_through_reaches_nothing_that_the_caller_may_not_use", f"{_BOX}::test_a_tool_outside_the_profile_cannot_be_called_directly")),
    Row("AG4", "P", "the instructions fit into a kilobyte and say when to use the server instead of grep", ("tests/unit/test_mcp_server.py::test_the_instructions_fit_into_a_kilobyte_and_call_output_data",)),
    Row("AG5", "P", "every list is bounded and says how many entries were left off", (f"{_BIG}::test_an_outline_says_how_many_symbols_it_left_off", f"{_BIG}::test_drift_of_thousands_is_counted_in_full_and_listed_in_part", f"{_BIG}::test_a_page_of_long_entries_ends_early_and_the_next_goes_on_from_there", f"{_BIG}::test_a_recalled_text_is_complete_or_says_how_much_was_left_off", f"{_BIG}::test_a_pasted_log_is_not_told_back", f"{_BIG}::test_a_long_note_takes_no_room_from_the_other_hits", f"{_BIG}::test_a_walk_along_long_notes_ends_early_and_says_so", f"{_BIG}::test_a_beginning_is_as_long_as_its_json_may_be", f"{_BIG}::test_one_entry_is_always_shown_and_never_more_than_fit")),
)  # fmt: skip
