"""The scheduling queue: which pods wait, for what, and which is tried next.

What belongs here: activeQ, backoffQ and unschedulablePods, backoff, whom an event helps, and events missed in flight.
What does not: attempts themselves, the clock, timers and tasks, and any knowledge of a particular plugin.

`scheduling_queue` is the door. Behind it pods join `waiting_entities`, change there and leave, `entity_moves` decides
where entities go, `batching` which of many equal pods is tried for all, and `places` holds what waits; `admission` asks
plugins about pods that enter, `hints` about events, and `in_flight` keeps what pods in flight have missed.
"""
