"""Plugins that are no part of Muster."""
