"""The subcommands of `muster`, one module each, imported when the command is called.

What belongs here: options, their checks, and output. What does not: anything that another program would call.
"""
