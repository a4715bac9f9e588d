"""`muster demo`: the scheduler at work on an embedded cluster, as a story in the terminal.

What belongs here: the story and its output. What does not: the cluster (`muster.sandbox`) and deciding.
"""
