"""What the Ruby grammar is asked."""

from __future__ import annotations

QUERY = """
[(identifier) (constant) (instance_variable) (class_variable)] @id
(call method: [(identifier) (constant)] arguments: (argument_list) @args.direct)
(call method: [(identifier) (constant)] @args.none)
(call receiver: (_) @object method: [(identifier) (constant)])
(call receiver: [(constant) (scope_resolution)] method: (identifier) @constant_method)
(call !receiver method: (identifier) @command)
(scope_resolution scope: (_) @object name: (constant))
(scope_resolution !scope name: (constant)) @absolute
(argument_list [(string) (simple_symbol) (chained_string)] @string)
(argument_list (heredoc_beginning) @string @heredoc)
(argument_list (pair key: (string) @string))
(argument_list (comment) @args.comment)
(heredoc_beginning) @heredoc.start
(heredoc_body) @heredoc.body

(method_parameters (identifier) @local)
(block_parameters (identifier) @local)
(lambda_parameters (identifier) @local)
(destructured_parameter (identifier) @local)
(optional_parameter name: (identifier) @local)
(keyword_parameter name: (identifier) @local)
(splat_parameter (identifier) @local)
(hash_splat_parameter (identifier) @local)
(block_parameter (identifier) @local)
(exception_variable (identifier) @local)
(for pattern: (identifier) @local)
(assignment left: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(destructured_left_assignment (identifier) @local)
(rest_assignment (identifier) @local)
(as_pattern name: (identifier) @local)
(array_pattern (identifier) @local)
(keyword_pattern value: (identifier) @local)
(keyword_pattern key: (hash_key_symbol) @id @local !value)
(assignment left: [(instance_variable) @write (class_variable) @write
  (call method: (identifier) @write)])
(operator_assignment left: [(instance_variable) @write (class_variable) @write
  (call method: (identifier) @write)])
(left_assignment_list [(instance_variable) @write (class_variable) @write
  (call method: (identifier) @write)])

(superclass [(constant) @base (scope_resolution name: (constant) @base)])
(exceptions [(constant) @type (scope_resolution name: (constant) @type)])
(class name: (scope_resolution) @skip.span)
(module name: (scope_resolution) @skip.span)
(undef (identifier) @skip)

[(method) (singleton_method)] @method
[(class) (module)] @class
(assignment left: [(constant) (scope_resolution)]) @constant
(assignment left: (left_assignment_list (constant))) @constant
(operator_assignment left: (constant)) @constant
(assignment left: [(identifier) (constant) (instance_variable) (class_variable) (call)]
  right: (_)) @assigned
(operator_assignment left: [(identifier) (instance_variable) (class_variable)] right: (call))
  @assigned
(left_assignment_list (identifier) @rebound)
[(block_parameters) (lambda_parameters)] @block_parameters
(rescue) @rescue
(comment) @comment
"""
