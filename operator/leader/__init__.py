"""Leader election: one of several replicas schedules, and a replica that lost its lease writes nothing.

What belongs here: the lease's rules, and the task that acquires, renews and releases it. What does not: what a leader
does. What a new leader knows, and what it reads back from where, is in docs/architecture.md, "The path of a new
leader".
"""
