"""AutoPodGroups: the PodGroups of workloads that have none, in namespaces that ask for it.

`plugin` tells how it works; `sizes` knows how many pods of a workload start together, `groups` which pods wait for a
group that does not exist yet.
"""
