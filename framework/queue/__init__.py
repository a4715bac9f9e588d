"""The scheduling queue: which pods wait, what they wait for, and which one is tried next.

What belongs here: activeQ, backoffQ and unschedulablePods, backoff, which events help which pods, and events that pods
in flight missed. What does not: attempts, the clock, timers and tasks, and any knowledge of a particular plugin.

To follow a move, read three modules from top to bottom; each knows only those that follow it. `scheduling_queue` is the
interface: a pod was added, popped, failed, an event occurred. `moves` finds the entities that move, and how soon.
`places` runs PreEnqueue and executes the move by the table in `transitions`. If a pod is tried for many equal ones,
`batching` stands between `moves` and `places`.

Beneath them: `sub_queues` (the order in which entities wait), `policy` (calls of plugins, and settings), `hints` (which
events help which entities, and which events pods in flight missed) and `entity` (a pod or a group in the queue).
`contents` shows the queue to its readers.
"""
