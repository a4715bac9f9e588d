"""Scenarios of gangs, each written once: run in virtual time, and on a real API server too if it takes a `Backend`."""
