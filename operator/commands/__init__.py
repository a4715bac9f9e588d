"""The subcommands of `muster`, one module each, loaded when it is called.

What belongs here: options, their checks and what is printed. What does not: anything another program would call.
"""
