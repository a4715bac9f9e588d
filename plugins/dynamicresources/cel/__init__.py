"""The Common Expression Language as Kubernetes evaluates it over devices.

No library on PyPI suffices: cel-python and common-expression-language parse neither `.?` nor `[?]` nor `cel.bind`,
compare no int with a double and support no further value types; cel-expr-python refuses values that are not its own, so
it can take neither quantities and versions nor the maps that answer for unknown domains. Left out here is what device
selectors cannot use: protocol buffers, timestamps, durations, URLs, authorization.

The entry point is `compile_expression`. Regular expressions are RE2's, which take linear time whatever a claim's author
writes.
"""
