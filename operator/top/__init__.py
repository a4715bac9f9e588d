"""`muster top`: the queue and the groups as a program in a terminal.

What belongs here: the rows, the state between two keys, the lines of the screen, and the terminal. What does not:
following a cluster (`web`) and deciding (`explain`, `simulate`).

Rows, state and lines are computed by pure functions; only `session` and `terminal` do I/O. Nothing is written to the
cluster.
"""
