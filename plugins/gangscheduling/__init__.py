"""GangScheduling: Kubernetes' own PodGroups (scheduling.k8s.io), whose pods name them in `spec.schedulingGroup`.

What belongs here: the API's objects as far as they are read, what is known of the groups, the extension points, and
the rules of the condition `PodGroupInitiallyScheduled`. What does not: reading and writing the API
(`muster.operator.podgroups`). The rules and texts are those of kube-scheduler's plugin of this name and of its pod
group cycle (`schedule_one_podgroup.go`).
"""
