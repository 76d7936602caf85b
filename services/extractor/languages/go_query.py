"""The query for Go: patterns begin at rare nodes, because every begun match costs time."""

from __future__ import annotations

QUERY = """
[(identifier) (field_identifier)] @id
(type_identifier) @id @type
(selector_expression operand: (_) @object)
(qualified_type package: (_) @object)
(call_expression
  function: [(identifier) (selector_expression)] . arguments: (argument_list) @args.direct)
(argument_list [
  (interpreted_string_literal) @string (raw_string_literal) @string (comment) @args.comment])
(type_arguments) @type_arguments
[(parenthesized_expression) (type_assertion_expression)] @around_type

(func_literal) @closure
(short_var_declaration) @short
(range_clause left: (expression_list (identifier) @local)) @range
(receive_statement left: (expression_list (identifier) @local)) @receive
(type_switch_statement alias: (expression_list (identifier) @local)) @type_switch
(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(type_parameter_declaration name: (identifier) @local)
(assignment_statement
  left: (expression_list [(identifier) @write (selector_expression field: (_) @write)]))
(inc_statement [(identifier) @write (selector_expression field: (_) @write)])
(dec_statement [(identifier) @write (selector_expression field: (_) @write)])
(field_declaration name: (_) @skip)
(method_elem name: (_) @skip)

(composite_literal . (_) @literal.type)
(literal_value) @literal
(keyed_element . (literal_element (identifier) @literal.key))

[(function_declaration) (method_declaration)] @function
(type_declaration) @type_declaration
[(const_declaration) (var_declaration)] @values
(import_spec) @import
(comment) @comment
"""
