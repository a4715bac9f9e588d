"""Muster beside kube-scheduler on random clusters of the real API: the same pods, decided by both in equal worlds."""
