"""Search, its ladder and the languages of people."""

from __future__ import annotations

from tests.rows import Row

_TERMS = "tests/unit/test_terms.py"
_RANK = "tests/unit/test_ranking.py"
_CHARSET = "tests/unit/test_charset.py"
_HISTORY = "tests/unit/test_history.py"
_SPEAK = "tests/pipeline/test_languages.py"
_COMMITS = "tests/pipeline/test_history.py"

ROWS: tuple[Row, ...] = (
    Row("P.lang.scripts", "P", "a query finds what is written in its own script, with or without spaces between words", (f"{_SPEAK}::test_every_language_finds_its_file", f"{_TERMS}::test_scripts_without_spaces_give_character_pairs", f"{_TERMS}::test_one_character_finds_a_longer_word")),
    Row("P.lang.spelling", "P", "accents, widths, case and letter forms do not matter, the exact form is preferred", (f"{_TERMS}::test_another_spelling_shares_a_term", f"{_SPEAK}::test_the_other_spelling_is_found_after_the_exact_one")),
    Row("P.lang.emoji", "P", "emoji and marks do no harm", (f"{_TERMS}::test_emoji_and_marks_alone_are_no_terms", f"{_SPEAK}::test_odd_queries_are_answered")),
    Row("P.charset.read", "P", "text in legacy encodings and UTF-16 is read as it was written", (f"{_CHARSET}::test_text_of_a_known_encoding_is_read_as_it_was_written", f"{_CHARSET}::test_what_a_file_declares_is_believed", f"{_CHARSET}::test_names_lines_and_text_of_a_legacy_file_are_right")),
    Row("P.charset.utf8", "P", "UTF-8 is never taken for anything else", (f"{_CHARSET}::test_utf8_is_never_touched", f"{_CHARSET}::test_utf8_with_a_broken_byte_stays_utf8")),
    Row("P.search.bounded", "P", "empty, stop-word and very long queries cost little", (f"{_TERMS}::test_a_query_as_long_as_a_log_is_read_at_its_ends", f"{_RANK}::test_a_query_of_stop_words_finds_what_holds_them", f"{_SPEAK}::test_odd_queries_are_answered")),
    Row("P.search.emphasis", "P", "what a query says first, and what it names before a colon, counts most; a log is taken whole", (f"{_TERMS}::test_what_only_later_sentences_say_counts_half", f"{_TERMS}::test_stems_of_later_sentences_count_half", f"{_TERMS}::test_what_is_named_before_a_colon_counts_double", f"{_RANK}::test_the_first_sentence_of_a_query_counts_most", f"{_RANK}::test_what_a_query_names_before_a_colon_counts_double")),
    Row("P.history.learn", "P", "search learns from earlier commits, incrementally, and follows renames", (f"{_COMMITS}::test_commits_are_read_after_the_pass_and_followed", f"{_HISTORY}::test_history_follows_renames_chains_and_swaps", f"{_HISTORY}::test_only_what_is_new_is_read_and_everything_when_that_will_not_do")),
    Row("P.history.rank", "P", "history moves files that match and makes none match", (f"{_RANK}::test_history_moves_a_file_up_but_makes_none_match",)),
    Row("P.history.fold", "P", "history is right under replay, reset, rewriting and a reading cut short", (f"{_COMMITS}::test_a_replay_gives_the_same_history", f"{_COMMITS}::test_a_reset_clears_it_and_the_next_pass_brings_it_back", f"{_COMMITS}::test_rewritten_history_is_read_anew", f"{_HISTORY}::test_parts_are_kept_until_a_newer_edition_comes", f"{_HISTORY}::test_a_missing_part_and_terms_of_another_version_are_told", f"{_HISTORY}::test_history_of_an_older_generation_is_void_and_a_reset_clears_it")),
    Row("P.history.bounds", "P", "vast commits tell nothing, merges are left out, only hashes of words are kept", (f"{_HISTORY}::test_a_commit_that_touches_very_many_files_tells_nothing_but_its_renames", f"{_HISTORY}::test_commits_are_told_newest_first_with_renames_and_without_merges", f"{_HISTORY}::test_only_hashes_of_words_are_kept_and_no_stop_words")),
    Row("P.history.safe", "P", "reading history runs nothing that the repository configures", (f"{_HISTORY}::test_nothing_that_the_repository_configures_is_run",)),
    Row("P.history.off", "P", "without git, or without a git program, there is no history and the status says why", (f"{_COMMITS}::test_without_git_it_says_so", f"{_HISTORY}::test_history_that_is_switched_off_or_gone_is_taken_back")),
)  # fmt: skip
