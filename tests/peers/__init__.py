"""Situations of scheduler-plugins' integration tests, played against a running Muster on a real API server.

They are those of `test/integration` in the Go module sigs.k8s.io/scheduler-plugins v0.34.7, as data in our own words:
which nodes, quotas, groups and pods come in which order, and what has to hold in the end. There a scheduler inside the
test decides, here the process that people run, with the profile that the test there gives to its scheduler. Where
Muster decides otherwise on purpose, the situation says so, and docs/conformance.md says why.
"""
