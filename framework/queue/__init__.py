"""The scheduling queue: which pods wait, for what, and which is tried next.

What belongs here: the parts of the queue, backoff, the choice of who an event helps, and events missed in flight. What
does not: attempts themselves, the clock, timers and tasks, and any knowledge of a particular plugin.
"""
