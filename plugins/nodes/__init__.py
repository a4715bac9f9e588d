"""Plugins that read only the node object: its name, cordon, taints and labels."""
