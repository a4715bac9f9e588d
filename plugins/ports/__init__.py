"""Plugins about the ports of nodes."""
