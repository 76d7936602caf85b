"""The query for Scala."""

from __future__ import annotations

QUERY = """
(identifier) @id
(type_identifier) @id @type
(field_expression value: (_) @object field: (identifier))
(infix_expression left: (_) @object operator: (identifier) @infix)
(stable_type_identifier . (_) @object (type_identifier))
(stable_identifier . (_) @object . (identifier))
(call_expression
  function: [(identifier) (field_expression)] arguments: (arguments) @args.direct)
(call_expression
  function: [(identifier) (field_expression)] arguments: [(block) (case_block)] @args.one)
(call_expression
  function: (generic_function function: [(identifier) @callee (field_expression field: (_) @callee)])
  arguments: (arguments) @args)
(instance_expression (arguments) @args.direct)
(instance_expression (generic_type type: (_) @new) (arguments) @new.args)
(instance_expression [
  (type_identifier) @new
  (generic_type type: (type_identifier) @new)
  (stable_type_identifier (type_identifier) @new)])
(arguments [(string) (interpolated_string_expression)] @string)
(arguments [(comment) (block_comment)] @args.comment)
(throw_expression [
  (instance_expression [
    (type_identifier) @raise
    (generic_type type: (type_identifier) @raise)
    (stable_type_identifier (type_identifier) @raise)])
  (call_expression function: [(identifier) @raise (field_expression field: (_) @raise)])])
(annotation name: [(type_identifier) @decorator (stable_type_identifier (type_identifier) @decorator)])
(annotation arguments: (arguments) @args.direct)
(interpolated_string_expression interpolator: (identifier) @skip)
(access_qualifier (identifier) @skip)
(self_type (identifier) @local)
(class_parameter name: (identifier) @skip)

(val_definition pattern: (identifier) @binder)
(var_definition pattern: (identifier) @binder)
(case_clause pattern: (identifier) @binder)
(tuple_pattern (identifier) @binder)
(case_class_pattern pattern: (identifier) @binder)
(typed_pattern pattern: (identifier) @binder)
(capture_pattern name: (identifier) @binder)
(enumerator . (identifier) @binder)
(lambda_expression parameters: (identifier) @binder)
(binding name: (identifier) @binder)
(parameter name: (identifier) @binder)
(type_parameters name: (identifier) @local)
(covariant_type_parameter name: (identifier) @local)
(contravariant_type_parameter name: (identifier) @local)
(assignment_expression left: [(identifier) @write (field_expression field: (_) @write)])
(infix_expression operator: (operator_identifier)) @operation

[(comment) (block_comment)] @comment
[(class_definition) (object_definition) (package_object) (trait_definition) (enum_definition)] @class
[(function_definition) (function_declaration)] @function
(type_definition) @type_alias
(class_parameters) @class_parameters
(enum_case_definitions) @case
(template_body [(val_definition) (var_definition) (val_declaration) (var_declaration)
                (given_definition)] @value)
(enum_body [(val_definition) (var_definition)] @value)
(compilation_unit [(val_definition) (var_definition) (given_definition)] @value)
[(val_definition) (var_definition)] @bound
(binding) @binding
(package_clause) @package
(package_identifier) @skip.span
(import_declaration) @import @skip.span
"""
