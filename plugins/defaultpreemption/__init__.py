"""Preemption: which pods to evict so that a pod which fits nowhere gets a node, and the evictions."""
