"""An in-process Kubernetes API over HTTP, for trying, teaching, simulating and fast tests. Never for production.

What belongs here: a storage with resource versions and watches, the rules of the kinds a scheduler meets, the patch
formats, discovery, tables, and the HTTP edge that stock kubectl, kopf and the Python client talk to. What does not
belong here: controllers (only a kubelet and a namespace cleaner stand in for theirs), access control and persistence.

The core is pure and synchronous; `http` and `server` are the only modules that do I/O. One suite of behaviour tests
runs against this and against a real kube-apiserver, and both must pass it.
"""

from muster.operator.sandbox.errors import ApiError
from muster.operator.sandbox.server import Sandbox
from muster.operator.sandbox.store import Store

__all__ = ["ApiError", "Sandbox", "Store"]
