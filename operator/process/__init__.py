"""The running scheduler: the engine with its informers, writers, loop and pages, started and stopped as one.

What belongs here: the process's parts and their order of starting and ending. What does not: deciding (the framework),
the wire (`muster.operator.kube`) and the command line.
"""
