"""Endpoints, configuration, tables and the other facts."""

from __future__ import annotations

from tests.rows import Row

_GOLDEN = "tests/golden/test_facts.py"
_REVIEWED = f"{_GOLDEN}::test_the_facts_of_a_program_are_as_reviewed"
_EVERY = f"{_GOLDEN}::test_every_kind_of_fact_is_read_in_every_language"
_UNIT = "tests/unit/test_surfaces.py"
_ANY = "tests/property/test_facts.py"

ROWS: tuple[Row, ...] = (
    Row("C9.kinds", "C9", "all eight kinds of fact are read in C#, Python, JS/TS, Java, Go, Ruby and PHP", (_EVERY, _REVIEWED)),
    Row("C9.route", "C9", "prefix of class, group, blueprint or include and own path are one path with a leading slash", (_REVIEWED,)),
    Row("C9.twice", "C9", "a router mounted twice has its endpoints under both prefixes", (f"{_UNIT}::test_a_router_mounted_twice_has_every_path_twice", f"{_UNIT}::test_a_router_that_mounts_itself_ends")),
    Row("C9.passed", "C9", "what a function adds to a router handed to it is under that router's prefix", (f"{_UNIT}::test_go_groups_handed_to_another_package_keep_their_prefix",)),
    Row("C9.constant", "C9", "constants of this and other files are filled in", (f"{_UNIT}::test_a_constant_is_followed_through_the_module_that_passes_it_on", f"{_UNIT}::test_constants_that_stand_for_each_other_end_as_unknown")),
    Row("C9.unknown", "C9", "a path of which nothing is known is skipped; an unknown part is {?} and the confidence low", (f"{_UNIT}::test_a_prefix_that_no_file_tells_is_said_to_be_unknown", f"{_ANY}::test_any_facts_compose_to_whole_paths_however_the_files_come")),
    Row("C9.handler", "C9", "a route belongs to its handler, wherever that is; an inline one to the function around it", (f"{_UNIT}::test_a_route_is_a_fact_of_what_handles_it_wherever_that_is", _REVIEWED)),
    Row("C9.tables", "C9", "one row per table with its entity, what names it, and the worst confidence", (f"{_UNIT}::test_a_table_has_one_row_with_its_entity_its_users_and_the_worst_confidence",)),
    Row("C9.sql", "C9", "table names of SQL texts are medium, without keywords, catalogue tables and common table expressions", (f"{_UNIT}::test_sql_texts_name_their_tables_and_prose_names_none",)),
    Row("C9.tests", "C9", "what only tests declare is no surface of the program", (f"{_UNIT}::test_what_only_tests_declare_is_no_surface_but_stays_with_its_symbol",)),
    Row("C9.lazy", "C9", "composing decodes only the files a constant, router or handler leads to", (f"{_UNIT}::test_a_package_s_file_without_facts_is_asked_for_only_where_a_constant_leads",)),
    Row("C9.texts", "C9", "Prisma schemas, Symfony's YAML and Razor pages declare tables, routes, services and pages as code does", (_REVIEWED, f"{_UNIT}::test_a_model_s_table_is_that_of_a_schema_of_the_program", f"{_UNIT}::test_yaml_of_other_programs_declares_nothing")),
    Row("C9.lists", "C9", "lists of routes (Tornado, Angular, Vue, Nest's RouterModule) are joined through modules and lazily loaded files", (_REVIEWED, f"{_UNIT}::test_modules_that_load_each_other_end")),
    Row("C9.kept", "C9", "surfaces are handed on to the next state unless a file with a part in them changed; a file's own facts are read of it", ("tests/pipeline/test_map_views.py::test_surfaces_are_handed_on_unless_a_file_with_a_part_in_them_changed", f"{_ANY}::test_what_a_file_says_for_itself_needs_no_other_file")),
    Row("C9.broken", "C9", "no code, however broken, keeps a file's facts or anybody's surfaces from being read", (f"{_ANY}::test_broken_framework_code_never_raises", f"{_ANY}::test_any_expression_has_a_value")),
)  # fmt: skip
