"""The running scheduler: the engine with its informers, writers, loop and pages, started and stopped as one.

What belongs here: the parts of the process, and the order in which they start and end. What does not: deciding (the
framework), the wire (`muster.operator.kube`) and the command line.
"""
