"""Plugins of the binding cycle."""
