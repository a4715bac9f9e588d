"""Pods that evict others: nodes of one size, whose victims go when the test lets them."""

from muster.framework.contract import Plugin
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import PodDict, make_node, make_pod
from tests.evicting import Evicting
from tests.scheduler.stage import Stage


class EvictingStage(Evicting, Stage):
    """Nodes that take two cores each; with these plugins besides."""

    def __init__(self, *plugins: type[Plugin]) -> None:
        super().__init__(NodeResourcesFit, DefaultPreemption, *plugins)
        self.grace = None

    def fill(self, *nodes: str, each: int = 1) -> None:
        """Nodes come, each full of so many pods of low priority."""
        self.put_node(*(make_node(node, cpu="2") for node in nodes))
        for node in nodes:
            self.put_pod(*(victim(f"{node}-{number}", f"{2000 // each}m").node(node) for number in range(each)))


def victim(name: str, cpu: str) -> PodDict:
    """A pod that any other may evict."""
    return make_pod(name).requests(cpu=cpu)


def urgent(name: str, cpu: str = "2") -> PodDict:
    """A pod that may evict others."""
    return make_pod(name).requests(cpu=cpu).priority(100)
