"""The scheduling and binding cycles: from a queued pod to a bound one, or back to the queue with a reason.

What belongs here: the search for a node, assuming, reserving, permitting, binding, and handling failures. What does
not: plugins' rules, and the wire (reached through the contract's ports).

Where to look: `scheduler` takes the next decision. `schedule_one` has a pod's path from the queue to its node or back;
`algorithm` finds the feasible nodes, `node_choice` selects one. `schedule_group` has a gang's path, `group_trial` the
trial of its members (in one topology domain after another by `domain_search`), `group_binding` what happens to those
that fit, `group_post_filter` the search for pods to evict; `schedule_tree` has the decision on a tree of groups.
`progress` has bindings in flight, metrics and log lines of attempts, `reports` what users read. `event_handlers` pass
on what informers report. `profiles` has the frameworks of all profiles and answers the queue's questions to plugins.
`engine` assembles everything.
"""
