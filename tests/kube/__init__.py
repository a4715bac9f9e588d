"""The wire to the Kubernetes API, tested against a server that misbehaves on demand."""
