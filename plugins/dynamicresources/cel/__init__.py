"""The Common Expression Language as Kubernetes evaluates it over devices.

No library on PyPI will do: cel-python and common-expression-language parse neither `.?` nor `[?]` nor `cel.bind`,
compare no int with a double and know no value of another type; cel-expr-python refuses values that are not its own, so
neither quantities and versions nor the maps that answer unknown domains can be given to it. What is left out here is
what device selectors cannot use: protocol buffers, timestamps, durations, URLs, authorization.

`compile_expression` is the way in. Regular expressions are RE2's, which take linear time whatever a claim's author
writes.
"""
