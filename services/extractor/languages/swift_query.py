"""The query for Swift."""

from __future__ import annotations

QUERY = """
(simple_identifier) @id
(type_identifier) @id @type
(navigation_expression
  target: (_) @object suffix: (navigation_suffix suffix: (simple_identifier)))
(user_type (type_identifier) . (type_identifier)) @qualified_type
(call_expression [(simple_identifier) (navigation_expression)]
  . (call_suffix . (value_arguments) @args.direct))
(call_expression (prefix_expression target: (simple_identifier))
  . (call_suffix . (value_arguments) @args.direct))
(call_expression [(simple_identifier) (navigation_expression)]
  . (call_suffix . (lambda_literal) @args.one))
(constructor_expression
  constructed_type: (user_type (type_identifier) @callee (type_arguments))
  (constructor_suffix (value_arguments) @args))
(value_argument_label (simple_identifier) @skip)
(value_argument value:
  [(line_string_literal) (multi_line_string_literal) (raw_string_literal)] @string)
(value_arguments [(comment) (multiline_comment)] @args.comment)
(attribute (user_type (type_identifier) @decorator .))
(attribute (simple_identifier) @skip)
(control_transfer_statement (throw_keyword) . [
  (call_expression
    . [(simple_identifier) @raise (navigation_expression suffix: (navigation_suffix suffix: (_) @raise))])
  (navigation_expression suffix: (navigation_suffix suffix: (_) @raise))])

(pattern bound_identifier: (simple_identifier) @local)
(pattern (pattern . (simple_identifier) @binder))
(if_statement bound_identifier: (simple_identifier) @local)
(guard_statement bound_identifier: (simple_identifier) @local)
(while_statement bound_identifier: (simple_identifier) @local)
(lambda_parameter name: (simple_identifier) @local)
(parameter name: (simple_identifier) @local)
(parameter external_name: (simple_identifier) @skip)
(type_parameter . (type_identifier) @local)
(enum_type_parameters (simple_identifier) @skip)
(tuple_type_item name: (simple_identifier) @skip)
(inheritance_constraint constrained_type: (identifier) @skip.span)
(directive (simple_identifier) @skip)
(availability_condition (identifier) @skip.span)
(assignment target: (directly_assignable_expression [
  (simple_identifier) @write
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @write))]))

[(comment) (multiline_comment)] @comment
[(class_declaration) (protocol_declaration)] @class
[(function_declaration) (protocol_function_declaration) (init_declaration) (deinit_declaration)
 (subscript_declaration)] @function
[(property_declaration) (protocol_property_declaration)] @property
(statements (property_declaration) @property.local)
(enum_entry) @entry
[(typealias_declaration) (associatedtype_declaration)] @alias
(lambda_parameter) @lambda_parameter
[(if_statement) (guard_statement) (while_statement)] @condition
(import_declaration) @import @skip.span
"""
