"""The runtime: runs a profile's plugins in order and adds up what they say.

What belongs here: the framework, the guard of plugins' calls, remembered verdicts and scores, the nominator, pods that
Permit holds. What does not: the queue, the cache's changes and any I/O.
"""
