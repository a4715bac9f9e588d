"""Kubernetes' own end-to-end tests, with Muster as the only scheduler of a cluster, and with kube-scheduler."""
