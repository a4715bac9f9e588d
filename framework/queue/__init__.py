"""The scheduling queue: which pods wait, what they wait for, and which one is tried next.

What belongs here: activeQ, backoffQ and unschedulablePods, backoff, which events help which pods, and events that pods
in flight missed. What does not: attempts, the clock, timers and tasks, and any knowledge of a particular plugin.

`transitions` has places and moves as a table, and `sub_queues` executes it. Above it, each module knows only the
previous ones: `moves` (an entity moves after its plugins have been called), `batching` (one pod is tried for many equal
ones), `pod_moves` (a pod changes or is activated), `scheduling_queue` (the interface). Below them: `entity`, `heaps`,
`unschedulable_pods`, `in_flight` (events that pods in flight missed), `hints` (which events help which entities) and
`policy` (calls of plugins). `pending_pods` describes waiting pods to users.
"""
