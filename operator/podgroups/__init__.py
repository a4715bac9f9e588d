"""Groups on the API, whichever plugin's they are: their statuses and Events, healing, and validation at admission.

Belongs here: everything that reads or writes group objects for people, as part of the kopf operator. Does not belong
here: what a status should say, which the plugin's `GroupReporter` knows, and deciding about groups, which needs nothing
from here.
"""
