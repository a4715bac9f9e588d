"""Side-by-side benchmarks on a real API server: Muster, kube-scheduler, and the ceiling of any scheduler.

What belongs here: filling clusters, measuring processes from outside, checking what schedulers did, and reports. What
does not: parts of Muster itself, which is measured as users run it, as a process of its own.
"""
