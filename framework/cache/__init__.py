"""The cluster as the scheduler sees it: nodes as rows of columns, with pods counted on them.

What belongs here: the state of each known pod, the changes that follow from it, and the recount. What does not:
queueing and decisions.
"""
