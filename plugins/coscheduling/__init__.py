"""Coscheduling: the pods of a PodGroup start together or not at all.

What belongs here: the PodGroup API, membership, the extension points, and the rules of the group's phases and
conditions. What does not: reading and writing the API (`muster.operator.podgroups`).

Where to look: `plugin` has the extension points on top of the base that both gang plugins extend (`GangPlugin`);
`prefilter` says whether members may be tried, `activation` when a rejected group is retried, `members_at_permit` who
waits with the placement `PodByPod`. `book` has all groups, `record` what is known of one. `min_resources` keeps
capacity for later members, `capacity` checks it before the first. `api` has the objects, `kind` shows them to tools;
`status`, `phases` and `reporting` are what users read; `topology` and `disruption` are annotations.
"""
