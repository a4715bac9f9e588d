"""PodGroups on the API: their definition, their statuses and events, and their validation at admission.

Belongs here: everything that reads or writes PodGroups for people, as part of the kopf operator. Does not belong here:
what a status should say (`muster.plugins.coscheduling`), and deciding about groups, which needs nothing from here.
"""
