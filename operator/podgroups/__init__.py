"""Groups of every plugin in the API: their statuses and Events, healing, and validation at admission.

What belongs here: everything that writes group objects, which the plugins' informers read, and admission, the only part
that uses kopf. What does not: the contents of a status, which the plugin's `GroupReporter` decides, and decisions about
groups, which do not depend on this package.
"""
