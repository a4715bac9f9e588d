"""The cluster of `muster.testing`, under the name by which the tests of plugins have it."""

from muster.testing.cluster import Cluster, info, typed

__all__ = ["Cluster", "info", "typed"]
