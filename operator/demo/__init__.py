"""`muster demo`: the scheduler at work on an embedded cluster, told as a story in the terminal.

What belongs here: the story and how it is told. What does not: the cluster (`muster.sandbox`) and deciding.
"""
