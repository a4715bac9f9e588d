"""Pods that want to be near other pods, or apart from them."""
