"""Plugins about container images."""
