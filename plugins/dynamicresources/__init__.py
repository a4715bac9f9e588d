"""Dynamic resource allocation: devices of resource.k8s.io/v1 that pods claim.

What belongs here: the inventory of devices and their allocations, the search for an allocation, the expressions that
select devices, and the plugin that connects them to the cycle.
"""
