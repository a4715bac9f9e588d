"""The runtime: runs a profile's plugins in order and combines their answers.

What belongs here: the framework, the guard around calls of plugins, cached verdicts and scores, the nominator, and pods
that wait at Permit. What does not: the queue, changes of the cache, and I/O.
"""
