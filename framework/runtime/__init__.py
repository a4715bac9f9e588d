"""The runtime: runs a profile's plugins in order and adds up what they say.

What belongs here: profiles, the phases of a cycle, kept verdicts and scores, waiting pods. What does not: the queue,
the cache's changes and any I/O.
"""
