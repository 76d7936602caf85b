"""The query for Kotlin."""

from __future__ import annotations

QUERY = """
[(simple_identifier) (interpolated_identifier)] @id
(type_identifier) @id @type
(navigation_expression . (_) @object (navigation_suffix (simple_identifier)))
(directly_assignable_expression . (_) @object (navigation_suffix))
(callable_reference . (type_identifier) @object (simple_identifier))
(user_type (type_identifier) . (type_identifier)) @qualified_type
(call_expression [(simple_identifier) (navigation_expression)]
  . (call_suffix . (value_arguments) @args.direct))
(call_expression [(simple_identifier) (navigation_expression)]
  . (call_suffix . (annotated_lambda) @args.one))
(call_expression [(simple_identifier) @callee (navigation_expression (navigation_suffix (_) @callee))]
  . (call_suffix (type_arguments) . (value_arguments) @args))
(constructor_invocation (user_type (type_identifier) .) . (value_arguments) @args.direct)
(value_argument (simple_identifier) @skip . "=")
(value_argument (string_literal) @string)
(value_arguments [(line_comment) (multiline_comment)] @args.comment)
(annotation [(user_type (type_identifier) @decorator .)
             (constructor_invocation (user_type (type_identifier) @decorator .))])
(infix_expression . (_) . (simple_identifier) @infix)
(jump_expression "throw" (call_expression
  . [(simple_identifier) @raise (navigation_expression (navigation_suffix (_) @raise))]))

(variable_declaration . (simple_identifier) @local)
(parameter . (simple_identifier) @local)
(catch_block . (simple_identifier) @local)
(type_parameter (type_identifier) @local)
(assignment (directly_assignable_expression . (simple_identifier) @write .))
(directly_assignable_expression (navigation_suffix (simple_identifier) @write) .)
(postfix_expression (simple_identifier) @write ["++" "--"])
(postfix_expression (navigation_expression (navigation_suffix (_) @write)) ["++" "--"])

[(line_comment) (multiline_comment)] @comment
[(class_declaration) (object_declaration) (companion_object)] @class
[(function_declaration) (secondary_constructor)] @function
(property_declaration) @property
(statements (property_declaration) @property.local)
(class_parameter) @class_parameter
(enum_entry) @entry
(type_alias) @alias
(object_literal) @object_literal
(parameter) @parameter
(package_header) @package @skip.span
(import_header) @import
(import_header [(identifier) (import_alias)] @skip.span)
"""
