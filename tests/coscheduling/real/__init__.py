"""Tests of gangs that need a real API server: its admission, its order of events, and the state after a process died.

All other stories are in `tests.coscheduling.scenarios`.
"""
