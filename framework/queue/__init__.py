"""The scheduling queue: which pods wait, what they wait for, and which one is tried next.

What belongs here: activeQ, backoffQ and unschedulablePods, backoff, which events help which pods, and events that pods
in flight missed. What does not: attempts, the clock, timers and tasks, and any knowledge of a particular plugin.

To follow a move, read three modules in this order; none knows an earlier one. `scheduling_queue` is the interface that
event handlers and the scheduler call. `moves` decides which entities move, and how soon. `places` runs PreEnqueue, and
executes the move by the table in `transitions`. `moves` handles groups, and pods that wait by themselves. A single pod
that no node could take waits in a batch, even alone, if its rejectors' answers hold for all equal pods. `batching`
handles the batch: an event wakes it (`Batching.reconsider`), and `pop` moves its first pod when its turn comes. Only a
first pod that backs off moves at the event, to backoffQ.

Beneath them: `sub_queues` (the order in which entities wait), `policy` (calls of plugins, and settings), `hints` (which
events help which entities), `in_flight` (the events that pods in flight missed) and `entity` (a pod or a group in the
queue). `contents` shows the queue to its readers.
"""
