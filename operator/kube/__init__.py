"""The wire to the Kubernetes API: credentials, client, informers, and the few writes a scheduler makes.

What belongs here: everything that knows HTTP, kubeconfig, watch streams or the JSON of a request body. What does not:
what to schedule, when to retry a pod, and kopf.

Import the modules by name; this package file loads nothing, so that a command that needs only the current namespace
does not pay for an HTTP client.
"""
