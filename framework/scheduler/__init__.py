"""The scheduling and binding cycles: from a queued pod to a bound one, or back to the queue with a reason.

What belongs here: the search for a node, assuming, reserving, permitting, binding, and handling failures. What does
not: plugins' rules, and the wire (reached through the contract's ports).
"""
