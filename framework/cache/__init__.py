"""The cluster as the scheduler sees it: nodes as rows of columns, pods counted on them.

What belongs here: the columns, the views plugins get of them, the state of each known pod, and the self-check. What
does not: queueing and decisions.
"""
