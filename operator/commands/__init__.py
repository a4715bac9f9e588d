"""The subcommands of `muster`, one module each, imported when the command is called.

What belongs here: options, their checks, and output. What does not: anything that another program would call.

Modules that are no subcommands: `common`, `files`, `output` and `effective_configuration` have options that several
subcommands share, `one_group` those of `hold` and `resume`, `moves` those of `defrag`; `completion_candidates` has what
shell completion offers, and `scaffold` the package that `muster plugin new` writes.
"""
