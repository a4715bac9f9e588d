"""The scheduling queue: which pods wait, for what, and which is tried next.

What belongs here: activeQ, backoffQ and unschedulablePods, backoff, whom an event helps, and events missed in flight.
What does not: attempts themselves, the clock, timers and tasks, and any knowledge of a particular plugin.

`transitions` has places and moves as a table, `sub_queues` executes it. Above them, each knowing those before it alone:
`moves` (an entity moves, with what plugins say of its pods), `batching` (which of many equal pods is tried for all),
`queued_pods` (a pod changes, or is activated), `scheduling_queue` (the door). Beneath: `entity`, `heaps`,
`unschedulable_pods`, `in_flight` (what pods in flight have missed), `hints` (whom an event helps) and `policy` (what
plugins are asked). People read `pending_pods`.
"""
