"""The tests of Muster and what they stand on: object builders and a real Kubernetes control plane."""
