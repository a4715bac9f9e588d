"""GangScheduling: Kubernetes' own PodGroups (scheduling.k8s.io), which pods name in `spec.schedulingGroup`.

What belongs here: the fields of the API's objects that Muster reads, the state of the groups, the extension points, and
the rules of the condition `PodGroupInitiallyScheduled`. What does not: reading and writing the API
(`muster.operator.podgroups`). The rules and texts are those of kube-scheduler's plugin of this name and of its pod
group cycle (`schedule_one_podgroup.go`).
"""
