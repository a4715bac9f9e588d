"""Tests of Kubernetes' own PodGroups."""
