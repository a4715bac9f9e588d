"""Plugins of the queue: the order in which pods get their turn, and the gates that keep them from getting one."""
