"""What the PHP grammar is asked."""

from __future__ import annotations

import re

_QUERY = """
(name) @id
(function_call_expression function: [(name) (qualified_name) (relative_name)]
    arguments: (arguments) @args.direct)
(function_call_expression function: (variable_name (name) @variable_callee)
    arguments: (arguments) @args.direct)
(member_call_expression name: (name) arguments: (arguments) @args.direct)
(nullsafe_member_call_expression name: (name) arguments: (arguments) @args.direct)
(scoped_call_expression name: (name) arguments: (arguments) @args.direct)
(object_creation_expression [(name) (qualified_name) (relative_name)] (arguments) @args.direct)
(object_creation_expression <new>)
(attribute <decorator>)
(attribute parameters: (arguments) @args.direct)
(arguments [(comment) (variadic_placeholder)] @args.comment)
(argument [(string) (encapsed_string) (heredoc) (nowdoc)] @string)
(argument name: (name) @skip)

(member_access_expression object: (_) @object name: (name))
(member_call_expression object: (_) @object name: (name))
(nullsafe_member_access_expression object: (_) @object name: (name))
(nullsafe_member_call_expression object: (_) @object name: (name))
(scoped_call_expression scope: (_) @object name: (name))
(scoped_call_expression scope: <type>)
(scoped_property_access_expression scope: (_) @object name: (variable_name (name) @static))
(scoped_property_access_expression scope: <type>)
(class_constant_access_expression . (_) @object . (name))
(class_constant_access_expression . <type> . (_))
(class_constant_access_expression (_) . (name) @constant_name)
[(qualified_name) (relative_name)] @qualified
(namespace_name) @skip.span

(named_type) @type.span
(binary_expression operator: "instanceof" right: <type>)
(base_clause <base>)
(class_interface_clause <base>)
(use_declaration <base>)
(use_list) @skip.span
(throw_expression (object_creation_expression <raise>))
(property_hook (name) @skip)
(foreach_statement (_) "as" (member_access_expression name: (name) @write))
[(goto_statement) (named_label_statement) (dynamic_variable_name)] @skip.span

(assignment_expression left: [(member_access_expression) (scoped_property_access_expression)
    (subscript_expression) (list_literal)]) @stored
(assignment_expression left: (variable_name)) @assigned
(foreach_statement) @foreach
(if_statement condition: (parenthesized_expression (binary_expression))) @checked
(augmented_assignment_expression) @stored
(update_expression) @updated

[(function_definition) (method_declaration)] @function
[(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)
    (anonymous_class)] @class
(property_declaration) @property
(const_declaration) @const
(enum_case) @case
(namespace_definition) @namespace
[(anonymous_function) (arrow_function)] @closure
(catch_clause) @catch
(namespace_use_declaration) @import @skip.span
[(require_expression) (require_once_expression) (include_expression) (include_once_expression)]
    @require
(comment) @comment
"""
# A class name, alone or behind its namespace.
QUERY = re.sub(
    r"<(\w+)>",
    r"[(name) @\1 (qualified_name (name) @\1 .) (relative_name (name) @\1 .)]",
    _QUERY,
)
