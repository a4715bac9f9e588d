"""CapacityScheduling: shares of the cluster between namespaces, by ElasticQuotas (scheduling.x-k8s.io).

What belongs here: the API's objects, the tree of quotas and what is used of each, and the rules that follow: who waits,
who goes first, and what may be evicted for whom. What does not: the search for victims (`plugins.defaultpreemption`),
which asks the rule.

Where to look: `plugin` has the extension points. `tree` has the quotas, `ledger` what is used of each, `nominated` what
nominated pods add to it. `borrowing` rejects a pod or gang that quotas do not let in, `turns` says whose turn it is,
`guaranteed` which running pods are borrowed, `claims` which of them a pod may evict. `shared` is what the plugins of
all profiles have in common; `standing`, `kind` and `statuses` are what users read.
"""
