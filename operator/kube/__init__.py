"""The wire to the Kubernetes API: credentials, client, informers, and the few writes a scheduler makes.

Belongs here: everything that knows HTTP, kubeconfig, watch streams or the JSON of a request body. Does not belong
here: what to schedule, when to retry a pod, kopf. Of the rest of Muster it imports `muster.framework.model` only.

Import the modules by name; this package file loads nothing, so that a command that needs only the current namespace
does not pay for an HTTP client.
"""
