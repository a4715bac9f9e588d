"""The workloads of kube-scheduler's own benchmark, scheduler_perf, played over the API: `bench.upstream` measures them.

Its configurations and templates are read at run time from the Go module of Kubernetes; nothing of them is kept here.
"""
