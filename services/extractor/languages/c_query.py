"""What the C and C++ grammars are asked."""

from __future__ import annotations

_COMMON = """
(type_identifier) @type
(field_expression argument: (_) @object)
(call_expression
  function: (parenthesized_expression (pointer_expression
    argument: [(identifier) @callee (field_expression field: (field_identifier) @callee)]))
  arguments: (argument_list) @args)
(argument_list [(string_literal) (concatenated_string)] @string)
(argument_list (comment) @args.comment)
(field_designator (field_identifier) @write)
(assignment_expression
  left: [(identifier) @write (field_expression field: (field_identifier) @write)])
(update_expression
  argument: [(identifier) @write (field_expression field: (field_identifier) @write)])

(function_declarator declarator: (identifier) @skip)
(declaration declarator: (identifier) @local)
(init_declarator declarator: (identifier) @local)
(parameter_declaration declarator: (identifier) @local)
(pointer_declarator declarator: (identifier) @local)
(array_declarator declarator: (identifier) @local)
(preproc_params (identifier) @local)
(attribute_specifier) @skip.span

(declaration) @declaration
(function_definition) @function
(struct_specifier body: (_)) @record
(preproc_include) @include
[(preproc_def) (preproc_function_def)] @macro
(comment) @comment
"""

C_QUERY = (
    """
[(identifier) (type_identifier) (field_identifier)] @id
(call_expression
  function: [(identifier) (field_expression)] arguments: (argument_list) @args.direct)
(parameter_list (identifier) @local)
"""
    + _COMMON
)

CPP_QUERY = (
    """
[(identifier) (type_identifier) (field_identifier) (namespace_identifier)] @id
(call_expression
  function: [(identifier) (field_expression) (qualified_identifier)]
  arguments: (argument_list) @args.direct)
(call_expression
  function: [
    (template_function name: (_) @callee)
    (qualified_identifier name: (template_function name: (_) @callee))
    (qualified_identifier name: (qualified_identifier name: (template_function name: (_) @callee)))
    (field_expression field: (template_method name: (_) @callee))]
  arguments: (argument_list) @args)
(new_expression type: [
  (type_identifier) @new
  (template_type name: (_) @new)
  (qualified_identifier name: [(type_identifier) @new (template_type name: (_) @new)])])
(new_expression arguments: (argument_list) @new.args)
(compound_statement (declaration
  type: [(type_identifier) @new
    (template_type name: (_) @new)
    (qualified_identifier name: [(type_identifier) @new (template_type name: (_) @new)])]
  declarator: (init_declarator value: [(argument_list) (initializer_list)] @new.args)))
(compound_literal_expression type: [
  (type_identifier) @new
  (template_type name: (_) @new)
  (qualified_identifier name: [(type_identifier) @new (template_type name: (_) @new)])]
  value: (initializer_list) @new.args)
(throw_statement (call_expression function: [
  (identifier) @raise (qualified_identifier name: (identifier) @raise)]))
(throw_statement (compound_literal_expression type: [
  (type_identifier) @raise (qualified_identifier name: (type_identifier) @raise)]))
(qualified_identifier scope: (_) @object)
(qualified_identifier name: (qualified_identifier)) @nested
(argument_list (raw_string_literal) @string)

(optional_parameter_declaration declarator: (identifier) @local)
(reference_declarator (identifier) @local)
(variadic_declarator (identifier) @local)
(for_range_loop declarator: (identifier) @local)
(for_range_loop) @ranged
(lambda_expression declarator: (_ parameters: (parameter_list (parameter_declaration) @handed)))
(structured_binding_declarator (identifier) @local)
(type_parameter_declaration (type_identifier) @local)
(optional_type_parameter_declaration name: (type_identifier) @local)
(variadic_type_parameter_declaration (type_identifier) @local)
(lambda_capture_specifier (identifier) @captured)
(field_initializer . (field_identifier) @write)
(attribute_declaration) @skip.span
(namespace_definition name: (_) @skip.span)

(class_specifier body: (_)) @record
(using_declaration) @using @skip.span
(namespace_alias_definition) @namespace_alias @skip.span
"""
    + _COMMON
)
