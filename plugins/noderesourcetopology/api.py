"""The NodeResourceTopology API, `noderesourcetopologies.topology.node.k8s.io/v1alpha2`, as far as decisions read it.

One object describes one node and has its name. An agent on the node writes it, as a rule the topology updater of Node
Feature Discovery: a zone for each NUMA node, with the amounts that are available in it, and how the kubelet's topology
manager is configured. `managed_as` and `zones_of` read them. Zones of other types, and numbers of zones beyond those
that a kubelet can have, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from muster.framework.contract import ObjectMeta, WatchedKind, Wire
from muster.framework.model.integers import Int64
from muster.framework.model.quantity import Quantity, QuantityError, nanos
from muster.framework.model.requests import amount

NAME = "NodeResourceTopologyMatch"
"""The plugin's name."""

GROUP = "topology.node.k8s.io"
PLURAL = "noderesourcetopologies"
KIND = "NodeResourceTopology"
MOST_ZONES = 64
"""Zones of a node: their numbers are below this."""
MOST_AMOUNT = 2**62 // MOST_ZONES
"""The most that a zone has of anything, so that sums over zones, and scores, are 64-bit integers."""

_NUMA = "Node"
_ZONE_PREFIX = "node-"
_POLICY, _SCOPE, _MOST = "topologyManagerPolicy", "topologyManagerScope", "topologyManagerMaxNUMANodes"
FINGERPRINT, FINGERPRINT_METHOD = "nodeTopologyPodsFingerprint", "nodeTopologyPodsFingerprintMethod"
EXCLUSIVE_ONLY = "with-exclusive-resources"
FINGERPRINT_ANNOTATION = "topology.node.k8s.io/fingerprint"
_USUAL_MOST, _LIMIT = 8, 1024
_FARTHEST = 2**16


class NamedAmount(Wire):
    """A number by name: the cost of another zone."""

    name: str = ""
    value: Int64 = 0


class NamedText(Wire):
    """An attribute."""

    name: str = ""
    value: str = ""


class ZoneResource(Wire):
    """The amounts of one resource in a zone: what pods may have of it, and what no pod has yet."""

    name: str = ""
    allocatable: Quantity = "0"
    available: Quantity = "0"


class TopologyZone(Wire):
    """A part of a node."""

    name: str = ""
    type: str = ""
    costs: tuple[NamedAmount, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class TopologyMeta(ObjectMeta):
    """Metadata with annotations: old agents keep the fingerprint there."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class NodeResourceTopology(Wire):
    """The zones of the node of this name, and how its kubelet aligns resources to them."""

    metadata: TopologyMeta
    topology_policies: tuple[str, ...] = ()
    zones: tuple[TopologyZone, ...] = ()
    attributes: tuple[NamedText, ...] = ()

    def attribute(self, name: str) -> str | None:
        """The value of the first attribute of this name."""
        return next((each.value for each in self.attributes if each.name == name), None)


TOPOLOGIES = WatchedKind(
    f"{PLURAL}.v1alpha2.{GROUP}",
    f"/apis/{GROUP}/v1alpha2/{PLURAL}",
    NodeResourceTopology,
    optional=True,
    kind=KIND,
)


class ZonePolicy(IntEnum):
    """The policy of a kubelet's topology manager; RELAXED stands for those that admit every pod."""

    RELAXED = 0
    RESTRICTED = 1
    SINGLE_NUMA_NODE = 2


class ZoneScope(IntEnum):
    """The unit that is aligned as a whole: a container or the pod."""

    CONTAINER = 0
    POD = 1


class Management(NamedTuple):
    """The configuration of a kubelet's topology manager: policy, scope and the most NUMA nodes that it allows."""

    policy: ZonePolicy = ZonePolicy.RELAXED
    scope: ZoneScope = ZoneScope.CONTAINER
    most_zones: int = _USUAL_MOST


class ZoneReport(NamedTuple):
    """A NUMA node as it was reported: amounts by resource, and the costs of zones by number."""

    number: int
    available: Mapping[str, int]
    allocatable: Mapping[str, int]
    costs: Mapping[int, int]


_POLICIES = {
    "none": ZonePolicy.RELAXED,
    "best-effort": ZonePolicy.RELAXED,
    "restricted": ZonePolicy.RESTRICTED,
    "single-numa-node": ZonePolicy.SINGLE_NUMA_NODE,
}
_SCOPES = {"container": ZoneScope.CONTAINER, "pod": ZoneScope.POD}
_DEPRECATED = {
    "SingleNUMANodePodLevel": (ZonePolicy.SINGLE_NUMA_NODE, ZoneScope.POD),
    "SingleNUMANodeContainerLevel": (ZonePolicy.SINGLE_NUMA_NODE, ZoneScope.CONTAINER),
    "BestEffortPodLevel": (ZonePolicy.RELAXED, ZoneScope.POD),
    "BestEffortContainerLevel": (ZonePolicy.RELAXED, ZoneScope.CONTAINER),
    "RestrictedPodLevel": (ZonePolicy.RESTRICTED, ZoneScope.POD),
    "RestrictedContainerLevel": (ZonePolicy.RESTRICTED, ZoneScope.CONTAINER),
}
READ = frozenset({_NUMA, _POLICY, _SCOPE, _MOST, FINGERPRINT, FINGERPRINT_METHOD, EXCLUSIVE_ONLY}).union(
    _POLICIES, _SCOPES, _DEPRECATED
)
"""The names and values that decisions read, other than numbers and fingerprints."""


def managed_as(topology: NodeResourceTopology) -> Management:
    """The configuration that the object reports: by its attributes, else by its deprecated policy."""
    policy, scope, most = Management()
    if topology.topology_policies:
        policy, scope = _DEPRECATED.get(topology.topology_policies[0], (policy, scope))
    for each in topology.attributes:
        if each.name == _POLICY:
            policy = _POLICIES.get(each.value, policy)
        elif each.name == _SCOPE:
            scope = _SCOPES.get(each.value, scope)
        elif each.name == _MOST and each.value.isascii() and each.value.isdecimal() and len(each.value) < 10:
            most = min(int(each.value), _LIMIT) if int(each.value) > 1 else most
    return Management(policy, scope, most)


def zones_of(topology: NodeResourceTopology) -> list[ZoneReport]:
    """The NUMA nodes by number; of two with the same number the last one."""
    found = {}
    for zone in topology.zones:
        number = zone_number(zone.name) if zone.type == _NUMA else None
        if number is not None:
            amounts = {each.name: (_amount(each.name, each.available), each) for each in zone.resources}
            found[number] = ZoneReport(
                number,
                {name: available for name, (available, _) in amounts.items()},
                {name: _amount(name, each.allocatable) for name, (_, each) in amounts.items()},
                dict(_costs(zone)),
            )
    return [found[number] for number in sorted(found)]


def _costs(zone: TopologyZone) -> Iterator[tuple[int, int]]:
    for cost in zone.costs:
        number = zone_number(cost.name)
        if number is not None:
            yield number, min(max(0, cost.value), _FARTHEST)


def zone_number(name: str) -> int | None:
    """The number in the name of a zone, if it is one that is read."""
    digits = name.removeprefix(_ZONE_PREFIX)
    if digits == name or not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        return None
    return int(digits) if int(digits) < MOST_ZONES else None


def _amount(resource: str, quantity: Quantity) -> int:
    """The amount as the scheduler counts it, at most `MOST_AMOUNT`; nothing for what is no quantity, or negative."""
    try:
        return min(max(0, amount(resource, nanos(quantity))), MOST_AMOUNT)
    except QuantityError:
        return 0
