"""Plugins about resources: whether a pod's requests fit, and how full or balanced they leave a node.

All arithmetic is that of kube-scheduler's int64 and float64, truncation included.
"""
