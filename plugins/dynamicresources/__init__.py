"""Dynamic resource allocation: devices that pods claim, of resource.k8s.io/v1.

What belongs here: the inventory of devices and what is allocated of them, the search for an allocation, the expressions
that select devices, and the plugin that ties them to the cycle.
"""
