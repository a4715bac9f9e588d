"""Coscheduling: the pods of a PodGroup start together or not at all.

What belongs here: the PodGroup API, membership, the extension points, and the rules of the group's phases and
conditions. What does not: reading and writing the API (`muster.operator.podgroups`).
"""
