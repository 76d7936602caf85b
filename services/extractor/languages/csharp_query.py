"""Query for C#."""

from __future__ import annotations

QUERY = """
(identifier) @id
(member_access_expression expression: _ @object)
(conditional_access_expression condition: (_) @object)
(qualified_name qualifier: (_) @object)
(invocation_expression function: [(identifier) (member_access_expression name: (identifier))
                                  (conditional_access_expression (member_binding_expression name: (identifier)))]
                       arguments: (argument_list) @args.direct)
(invocation_expression function: [(generic_name (identifier) @callee)
                                  (member_access_expression name: (generic_name (identifier) @callee))]
                       arguments: (argument_list) @args)
(object_creation_expression
  type: [(identifier) @new (generic_name (identifier) @new) (qualified_name name: (identifier) @new)
         (qualified_name name: (generic_name (identifier) @new))]
  arguments: (argument_list) @new.args)
(object_creation_expression
  type: [(identifier) @new (generic_name (identifier) @new)] !arguments)
(argument (string_literal) @string)
(argument (verbatim_string_literal) @string)
(argument (raw_string_literal) @string)
(argument name: (identifier) @skip)
(throw_statement (object_creation_expression
  type: [(identifier) @raise (qualified_name name: (identifier) @raise)]))
(throw_expression (object_creation_expression
  type: [(identifier) @raise (qualified_name name: (identifier) @raise)]))
(attribute name: [(identifier) @decorator (qualified_name name: (identifier) @decorator)])
(attribute name: [(identifier) (qualified_name)] (attribute_argument_list) @args.direct)
(attribute_argument (string_literal) @string)
(attribute_argument name: (identifier) @skip)

(type_argument_list) @type.span
(type_parameter_constraint type: (_) @type.span)
(parameter type: (_) @type.span)
(variable_declaration type: (_) @type.span)
(property_declaration type: (_) @type.span)
(indexer_declaration type: (_) @type.span)
(event_declaration type: (_) @type.span)
(method_declaration returns: (_) @type.span)
(local_function_statement type: (_) @type.span)
(delegate_declaration type: (_) @type.span)
(operator_declaration type: (_) @type.span)
(conversion_operator_declaration type: (_) @type.span)
(cast_expression type: (_) @type.span)
(as_expression right: (_) @type.span)
(is_expression right: (_) @type.span)
(typeof_expression type: (_) @type.span)
(declaration_pattern type: (_) @type.span)
(recursive_pattern type: (_) @type.span)
(catch_declaration type: (_) @type.span)
(foreach_statement type: (_) @type.span)
(array_creation_expression type: (_) @type.span)
(declaration_expression type: (_) @type.span)
(default_expression type: (_) @type.span)

(parameter name: (identifier) @local)
(parameter_list name: (identifier) @local)
(implicit_parameter) @id @local
(variable_declarator name: (identifier) @local)
(tuple_pattern name: (identifier) @local)
(foreach_statement left: (identifier) @local) @each
(foreach_statement left: (tuple_pattern)) @each
(catch_declaration name: (identifier) @local) @tested
(declaration_pattern name: (identifier) @local) @tested
(declaration_expression name: (identifier) @local) @tested
(var_pattern name: (identifier) @local) @tested
(from_clause name: (identifier) @local) @from
[(lambda_expression) (anonymous_method_expression)] @lambda
(recursive_pattern name: (identifier) @local) @tested
(type_parameter name: (identifier) @local)
(type_parameter_constraints_clause . (identifier) @skip)
(labeled_statement . (identifier) @skip)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_access_expression name: (identifier) @write))
(postfix_unary_expression (identifier) @write)
(prefix_unary_expression ["++" "--"] (identifier) @write)

(comment) @comment
[(class_declaration) (interface_declaration) (enum_declaration) (struct_declaration)
 (record_declaration)] @type_declaration
[(method_declaration) (constructor_declaration) (destructor_declaration) (delegate_declaration)
 (operator_declaration) (conversion_operator_declaration) (local_function_statement)] @callable
[(property_declaration) (event_declaration) (indexer_declaration)] @property
[(field_declaration) (event_field_declaration)] @field
(enum_member_declaration) @enum_member
(local_declaration_statement) @variable
(using_statement (variable_declaration)) @using_variable
(assignment_expression) @assignment
(initializer_expression (assignment_expression left: (identifier)) @initialised)
(namespace_declaration) @namespace
(file_scoped_namespace_declaration) @file_namespace @skip.span
(using_directive) @import @skip.span
"""
