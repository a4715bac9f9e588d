"""The subcommands of `muster`, one module each, imported when the command is called.

What belongs here: options, their checks, and output. What does not: anything that another program would call.

Seven modules are no subcommands: `common`, `files`, `output`, `one_group` and `effective_configuration` have options
that several subcommands share, `candidates` has what shell completion offers, and `scaffold` the package that
`muster plugin new` writes.
"""
