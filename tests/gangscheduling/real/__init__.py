"""Kubernetes' own PodGroups on a real API server with its gates on."""
