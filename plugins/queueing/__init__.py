"""Plugins of the queue: the order of pods, and the gates that keep pods out."""
