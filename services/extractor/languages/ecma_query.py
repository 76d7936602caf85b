"""Queries for JavaScript, TypeScript and TSX."""

from __future__ import annotations

_COMMON = """
[(identifier) (property_identifier) (private_property_identifier)
 (shorthand_property_identifier) (shorthand_property_identifier_pattern)] @id
(member_expression object: (_) @object)
(new_expression constructor: [(identifier) @new (member_expression property: (_) @new)])
(new_expression constructor: [(identifier) (member_expression)] arguments: (arguments) @new.args)
(call_expression function: [(identifier) (member_expression)] arguments: (template_string) @args.one)
(arguments (string) @string)
(arguments (template_string) @string)
(arguments (comment) @args.comment)
(throw_statement [
  (new_expression constructor: [(identifier) @raise (member_expression property: (_) @raise)])
  (call_expression function: [(identifier) @raise (member_expression property: (_) @raise)])])
(decorator [
  (identifier) @decorator
  (member_expression property: (_) @decorator)
  (call_expression function: [(identifier) @decorator (member_expression property: (_) @decorator)])])
(decorator) @decoration
(comment) @comment

(pair key: (property_identifier) @skip)
(variable_declarator name: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(pair_pattern key: (property_identifier) @skip)
(pair_pattern value: (identifier) @local)
(array_pattern (identifier) @local)
(assignment_pattern left: (identifier) @local)
(rest_pattern (identifier) @local)
(arrow_function parameter: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(for_in_statement left: (identifier) @local) @loop
(return_statement (_)) @return
(arguments [(arrow_function) (function_expression)] @callback)
(if_statement) @if
(switch_case value: (_)) @case
[(arrow_function) (function_expression)] @function_value
(function_expression name: (identifier) @local)

(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_expression property: (_) @write))
(augmented_assignment_expression left: (identifier) @write)
(augmented_assignment_expression left: (member_expression property: (_) @write))
(update_expression argument: (identifier) @write)
(update_expression argument: (member_expression property: (_) @write))

[(function_declaration) (generator_function_declaration)] @function
(class_declaration) @class
(method_definition) @method
(pair value: [(arrow_function) (function_expression) (generator_function)]) @pair
[(lexical_declaration) (variable_declaration)] @declaration
(assignment_expression) @assignment
(export_statement) @export
(import_statement) @import @skip.span
(call_expression function: (import)) @dynamic_import
(call_expression function: (identifier) arguments: (arguments . (string) .)) @perhaps_require
"""

_JAVASCRIPT = """
(call_expression function: [(identifier) (member_expression)] arguments: (arguments) @args.direct)
(formal_parameters (identifier) @local)
"""

_TYPESCRIPT = """
(type_identifier) @id @type
(nested_type_identifier module: (_) @object)
(type_parameter name: (type_identifier) @local)
(call_expression function: [(identifier) (member_expression)] !type_arguments
                 arguments: (arguments) @args.direct)
(call_expression function: [(identifier) @callee (member_expression property: (_) @callee)]
                 type_arguments: (_) arguments: (arguments) @args)
(call_expression function: (await_expression [
    (identifier) @callee (member_expression property: (_) @callee)])
                 type_arguments: (_) arguments: (arguments) @args)
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(index_signature name: (identifier) @skip)
(type_predicate name: (identifier) @skip)
(required_parameter pattern: (identifier) type: (_)) @typed_parameter
([(required_parameter pattern: (object_pattern) type: (_))
  (optional_parameter pattern: (object_pattern) type: (_))] @taken_parameter)
(property_signature name: (property_identifier) @skip)
(method_signature name: (property_identifier) @skip)
(function_signature) @function
(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @type_alias
(enum_declaration) @enum
[(internal_module) (module)] @namespace
"""

_JSX = """
[(jsx_opening_element) (jsx_self_closing_element)] @element
(jsx_closing_element name: (_) @skip.span)
(jsx_attribute . (property_identifier) @skip)
(jsx_namespace_name (identifier) @skip)
"""

JAVASCRIPT_QUERY = _COMMON + _JAVASCRIPT + _JSX
TYPESCRIPT_QUERY = _COMMON + _TYPESCRIPT
TSX_QUERY = _COMMON + _TYPESCRIPT + _JSX
