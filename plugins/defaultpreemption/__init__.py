"""Preemption: whom to evict so that a pod which no node can run fits somewhere, and the evicting."""
