"""Gangs with the real `muster run` on a real API server."""
