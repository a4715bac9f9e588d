"""Wire objects of the Kubernetes API and the pure arithmetic on them.

What belongs here: typed structs that hold just the fields Muster reads, and functions of those structs alone.
What does not: anything that knows a cluster's state.
"""
