"""GangScheduling: Kubernetes' own PodGroups (scheduling.k8s.io), which pods name in `spec.schedulingGroup`.

What belongs here: the fields of the API's objects that Muster reads, the state of the groups, the extension points, and
the rules of the condition `PodGroupInitiallyScheduled`. What does not: reading and writing the API
(`muster.operator.podgroups`). The rules and texts are those of kube-scheduler's plugin of this name and of its pod
group cycle (`schedule_one_podgroup.go`).

Where to look: `plugin` has the extension points, on top of `base`, which rejects groups, and of the base that both gang
plugins extend (`GangPlugin`). `book` has all groups and says whether one may be tried, `record` what is known of one,
`trees` how groups are parts of others; `validation` says whether pods may form a group. `api` and `composite_api` have
the objects, `kind` shows them to tools; `messages` and `reporting` are what users read.
"""
