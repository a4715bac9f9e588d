"""The builders of `muster.testing`, under the name by which the tests of this repository have them."""

from muster.testing.builders import IMAGE, NodeDict, ObjectDict, PodDict, make_node, make_pod, require

__all__ = ["IMAGE", "NodeDict", "ObjectDict", "PodDict", "make_node", "make_pod", "require"]
