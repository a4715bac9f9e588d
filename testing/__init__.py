"""Tools for tests, of Muster and of plugins in other packages: builders, a cluster, virtual time, and an engine.

`make_pod` and `make_node` build objects. `Cluster` asks one plugin about nodes. `VirtualScheduler` is the whole engine
on an API in memory, in virtual time. Nothing here does I/O; `muster.sandbox` is a Kubernetes API in memory for programs
that use HTTP. See docs/writing-plugins.md.
"""

from muster.framework.embedded.clock import VirtualClock

from .api import InMemoryApi, InMemoryBinder
from .builders import NodeDict, PodDict, make_node, make_pod, require
from .cluster import Cluster
from .engine import VirtualScheduler, configuration_of, engine_of

__all__ = [
    "Cluster",
    "InMemoryApi",
    "InMemoryBinder",
    "NodeDict",
    "PodDict",
    "VirtualClock",
    "VirtualScheduler",
    "configuration_of",
    "engine_of",
    "make_node",
    "make_pod",
    "require",
]
