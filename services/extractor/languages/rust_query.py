"""The query for Rust."""

from __future__ import annotations

QUERY = """
[(identifier) (field_identifier) (shorthand_field_identifier)] @id
(type_identifier) @id @type
[(lifetime (identifier) @skip) (label (identifier) @skip)]
(field_expression value: (_) @object field: (field_identifier))
(scoped_identifier path: (_) @object)
(scoped_type_identifier path: (_) @object)
[(scoped_identifier path: (identifier) @path) (scoped_type_identifier path: (identifier) @path)]
(scoped_identifier path: [(generic_type) (bracketed_type)]) @of_type
(call_expression
  function: [(identifier) (scoped_identifier) (field_expression)]
  arguments: (arguments) @args.direct)
(call_expression
  function: (generic_function function:
    [(identifier) @callee (scoped_identifier name: (_) @callee) (field_expression field: (_) @callee)])
  arguments: (arguments) @args)
(arguments [(string_literal) (raw_string_literal)] @string)
(arguments [(line_comment) (block_comment)] @args.comment)
(struct_expression name:
  [(type_identifier) @new
   (scoped_type_identifier name: (_) @new)
   (generic_type_with_turbofish type: [(type_identifier) @new (scoped_identifier name: (_) @new)])])
[(struct_expression) (struct_pattern)] @fields_of

(macro_invocation macro: [(identifier) (scoped_identifier)] (token_tree) @args.tokens) @macro_call
(macro_rule right: (_) @macro_body)
(token_tree (token_tree) @args.tokens)
(token_tree [(string_literal) (raw_string_literal)] @string)
(token_tree_pattern) @skip.span
(attribute [(identifier) @decorator (scoped_identifier name: (_) @decorator)])
(attribute arguments: (_) @args.tokens @attribute_tokens @skip.span)
(attribute_item) @decoration

(parameter pattern: (identifier) @binder)
(let_declaration pattern: (identifier) @binder)
(let_condition pattern: (identifier) @binder)
(for_expression pattern: (identifier) @binder)
(closure_parameters (identifier) @binder)
(match_pattern . (identifier) @binder)
(or_pattern (identifier) @binder)
(tuple_pattern (identifier) @binder)
(slice_pattern (identifier) @binder)
(reference_pattern (identifier) @binder)
(ref_pattern (identifier) @binder)
(mut_pattern (identifier) @binder)
(captured_pattern . (identifier) @binder)
(tuple_struct_pattern type: (_) (identifier) @binder)
(field_pattern pattern: (identifier) @binder)
(shorthand_field_identifier) @local
(type_parameter name: (_) @local)
(const_parameter name: (_) @local)
(field_declaration name: (_) @skip)
(type_binding name: (_) @skip)
(assignment_expression left: [(identifier) @write (field_expression field: (field_identifier) @write)])
(compound_assignment_expr
  left: [(identifier) @write (field_expression field: (field_identifier) @write)])

[(line_comment !inner) (block_comment !inner)] @comment
[(struct_item) (enum_item) (union_item) (trait_item)] @type_item
[(function_item) (function_signature_item)] @function
(impl_item) @impl
[(const_item) (static_item) (type_item) (associated_type)] @value
(macro_definition) @macro
(mod_item) @module
(let_declaration) @let
(let_condition) @opening
(match_arm) @opening
(for_expression) @for
(closure_expression) @closure
(closure_parameters (parameter) @closure_parameter)
(use_declaration) @import @skip.span
(extern_crate_declaration) @extern_crate @skip.span
"""
