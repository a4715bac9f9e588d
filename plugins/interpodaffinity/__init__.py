"""Pods that have to be, or should be, near other pods or apart from them."""
