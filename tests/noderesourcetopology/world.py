"""The engine with nodes whose agents report their zones when they are told to."""

from typing import Any

from muster.plugins.noderesourcetopology.api import TOPOLOGIES
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import PodDict, make_node
from tests.coscheduling.objects import GROUP_LABEL, make_group
from tests.evicting import Evicting
from tests.noderesourcetopology.objects import SINGLE, guaranteed, make_topology

PLUGIN = "NodeResourceTopologyMatch"


class NumaWorld(Evicting, VirtualScheduler):
    """A cluster of nodes with zones. `args` are the plugin's.

    Attributes:
        names: those of the nodes.
    """

    def __init__(self, *, nodes: int = 1, zones: int = 2, cpus: int = 32, **args: object) -> None:
        super().__init__(configuration=configuration_of(("Coscheduling", PLUGIN), args={PLUGIN: args}))
        self.names = [f"n{number}" for number in range(nodes)]
        self.add_nodes(*(make_node(name, cpu=str(zones * cpus), memory="64Gi") for name in self.names))

    def report(self, node: str = "n0", *free: str, taken: tuple[str, ...] = (), **more: Any) -> None:
        """The agent of a node reports so many free cpus in each zone, and the pods that the node has in the API.

        `taken` are the cpus of each zone that pods have.
        """
        known = [
            (pod["metadata"]["namespace"], pod["metadata"]["name"])
            for pod in self.api.pods.values()
            if pod["spec"].get("nodeName") == node
        ]
        zones = [{"cpu": cpu, "memory": "16Gi"} for cpu in free or ("4", "4")]
        more = {"pods": known, "policy": SINGLE, **more}
        topology = make_topology(node, *zones, taken=[{"cpu": cpu} for cpu in taken], **more)
        self.api.put(TOPOLOGIES.resource, topology)

    def come(self, *names: str, cpu: str = "4", priority: int = 0) -> list[str]:
        """Pods of the class Guaranteed come."""
        return self.add(*(pod(name, cpu=cpu).priority(priority) for name in names))

    def gang(self, name: str, count: int, *, cpu: str = "4", memory: str = "1Gi", priority: int = 0) -> list[str]:
        """A gang of so many pods comes, which start together."""
        self.api.put("podgroups", make_group(name, count))
        members = (pod(f"{name}-{number}", cpu=cpu, memory=memory).priority(priority) for number in range(count))
        return self.add(*(member.labels({GROUP_LABEL: name}) for member in members))

    def nodes_of(self, *keys: str) -> list[str]:
        """The node of each pod; "" for one that waits."""
        return [self.node_of(key) for key in keys]

    def message(self, key: str) -> str:
        """The message of the condition last written to the pod."""
        return self.conditions[key][1]


def pod(name: str, *, cpu: str = "4", memory: str = "1Gi") -> PodDict:
    """A pod of the class Guaranteed with one container."""
    return guaranteed(name, {"cpu": cpu, "memory": memory})
