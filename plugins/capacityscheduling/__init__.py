"""CapacityScheduling: shares of the cluster between namespaces, by ElasticQuotas (scheduling.x-k8s.io).

What belongs here: the API's objects, the tree of quotas and what is used of each, and the rules that follow: who waits,
who goes first, and what may be evicted for whom. What does not: the search for victims (`plugins.defaultpreemption`),
which asks the rule.
"""
