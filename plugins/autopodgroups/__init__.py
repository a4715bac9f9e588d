"""AutoPodGroups: the PodGroups of workloads that have none, in namespaces that ask for it.

`plugin` describes how it works; `sizes` says how many pods of a workload start together, and `groups` which pods wait
for a group that does not exist yet.
"""
