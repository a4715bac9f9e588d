"""Groups in the API, of whichever plugin: their statuses and Events, healing, and validation at admission.

What belongs here: everything that writes group objects; they are read by the plugin's informer. Only admission is
kopf's. What does not: the contents of a status, which the plugin's `GroupReporter` decides, and decisions about groups,
which do not depend on this package.
"""
