"""Clusters of zones with web pods in them, which tests of spreading look at."""

from typing import Any

from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}
ANYWAY: dict[str, Any] = {"whenUnsatisfiable": "ScheduleAnyway"}


def node(name: str, zone: str | None = None) -> NodeDict:
    return make_node(name).zone(zone) if zone else make_node(name)


def web(name: str = "incoming") -> PodDict:
    return make_pod(name).labels(WEB)


def zones(**counts: int) -> Cluster:
    """A node in each of these zones, with as many pods of WEB."""
    cluster = Cluster(*(node(f"n{zone}", zone) for zone in counts))
    for zone, count in counts.items():
        cluster.place(f"n{zone}", *(web(f"{zone}{number}") for number in range(count)))
    return cluster
