"""`muster top`: the queue and the groups as a program in a terminal.

What belongs here: the rows, the state between two keys, the lines that are drawn, and the terminal itself. What does
not: following a cluster (`web`) and deciding (`explain`, `simulate`).

Rows, state and lines are pure functions; `session` and `terminal` alone wait and write. Nothing is written to the
cluster.
"""
