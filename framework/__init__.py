"""The engine: object model, snapshot cache, queue, plugin contract, runtime, cycles and configuration.

What belongs here: everything that decides. What does not: I/O, threads, clocks and randomness of its own, and any
knowledge of a particular plugin. The operator drives it; plugins are written against `muster.framework.contract`.
"""
