"""For tests, of Muster and of plugins in packages of their own: builders, a cluster, virtual time, an engine to drive.

`make_pod` and `make_node` build objects. `Cluster` asks one plugin about nodes. `VirtualScheduler` is the whole engine
at work on an API in memory, in virtual time. Nothing here talks to anybody; a Kubernetes API in memory for programs
that do is `muster.sandbox`. See docs/writing-plugins.md.
"""

from .api import InMemoryApi, InMemoryBinder
from .builders import NodeDict, PodDict, make_node, make_pod, require
from .clock import VirtualClock
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
