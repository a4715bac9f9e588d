"""A real Kubernetes control plane for tests and benchmarks: builds its programs, starts them, ends them."""
