"""An in-process Kubernetes API over HTTP, for trying, teaching, simulating and fast tests. Never for production.

What belongs here: a storage with resource versions and watches, the rules of the kinds that a scheduler uses, the patch
formats, discovery, tables, custom resources, stand-ins for the parts of a cluster that act on objects, and the HTTP
edge for stock kubectl, kopf and the Python client. What does not: scheduling, access control and persistence. Of Muster
it imports only the reading of quantities.

The core is pure and synchronous; `http`, `responses`, `streaming` and `server` are the only modules that do I/O. One
suite of behaviour tests runs against this and against a real kube-apiserver, and both must pass it.
"""

from muster.sandbox.contents import DumpError, NodeShape
from muster.sandbox.errors import StatusError
from muster.sandbox.server import HOST, Sandbox
from muster.sandbox.store import ObjectStore

__all__ = ["HOST", "DumpError", "NodeShape", "ObjectStore", "Sandbox", "StatusError"]
