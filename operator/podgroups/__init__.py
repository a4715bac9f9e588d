"""Groups in the API, of whichever plugin: their statuses and Events, healing, and validation at admission.

What belongs here: everything that reads or writes group objects, as part of the kopf operator. What does not: the
contents of a status, which the plugin's `GroupReporter` decides, and deciding about groups, which does not depend on
this package.
"""
