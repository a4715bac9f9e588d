"""Leader election: of several replicas one schedules, and one that lost its lease writes nothing.

What belongs here: the lease's rules, and the task that acquires, renews and releases it. What does not: what a leader
does.
"""
