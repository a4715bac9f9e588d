"""Side-by-side benchmarks on a real API server: Muster, kube-scheduler, and how fast anything could be.

What belongs here: filling clusters, measuring processes from outside, checking what schedulers did, and reports. What
does not: anything of Muster itself, which is measured as users run it, as a process of its own.
"""
