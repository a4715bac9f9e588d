"""What only a real API server shows of gangs: what it admits, refuses and orders, and what is left when a process dies.

All other stories are in `tests.coscheduling.scenarios`.
"""
