"""Plugins that look at the node object alone: its name, cordon, taints and labels."""
