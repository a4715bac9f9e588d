"""How the Kubernetes API behaves, as one suite that the sandbox and a real kube-apiserver both have to pass."""
