"""Short ways to simulate: objects in the API's JSON shape in, placements out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from muster.framework.config import PluginRef
from muster.framework.contract import GroupId, Plugin
from muster.framework.model.node import Node
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.process.settings import Assembly, assemble, muster_configuration
from muster.operator.simulate.additions import Shortfall
from muster.operator.simulate.manifests import Objects, read
from muster.operator.simulate.rehearsal import Placement, Rehearsal
from muster.operator.simulate.shortfall import shortfall
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS
from tests.builders import PodDict, make_pod

KINDS = GroupKinds(group_kinds())
GANG_ID = GroupId("Coscheduling", "default/gang")

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


@cache
def muster() -> Assembly:
    """What `muster run` is without a configuration file."""
    return assemble(muster_configuration())


def muster_with(plugin: type[Plugin]) -> Assembly:
    """Muster without a configuration file, but with another package's Permit plugin."""
    plain = muster()
    [profile] = plain.profiles
    points = {**profile.points, "permit": (*profile.points["permit"], PluginRef(plugin.name, 0))}
    return replace(plain, profiles=(replace(profile, points=points),), registry={**plain.registry, plugin.name: plugin})


def objects(*found: Mapping[str, Any]) -> Objects:
    """These objects, as if read from a file."""
    return read(json.dumps({"kind": "List", "items": found}), "test", [POD_GROUPS], kinds=KINDS)


def pod_group(name: str, min_member: int, **spec: object) -> dict[str, Any]:
    """A PodGroup."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": min_member, **spec},
    }


def member(name: str, group: str) -> PodDict:
    """A pod of a group."""
    return make_pod(name).labels({GROUP_LABEL: group})


async def simulate(
    cluster: Objects, wanted: Objects, assembly: Assembly | None = None
) -> tuple[dict[str, Placement], Shortfall | None]:
    """The placements by the pods' names, and what is missing."""
    async with Rehearsal(assembly or muster(), cluster, wanted) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
        missing = await shortfall(rehearsal, placements)
    return {placement.pod.name: placement for placement in placements}, missing


async def place(cluster: Objects, wanted: Objects, assembly: Assembly | None = None) -> dict[str, str]:
    """The nodes of the pods by their names; empty for a pod that has none."""
    async with Rehearsal(assembly or muster(), cluster, wanted) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
    return {placement.pod.name: placement.node for placement in placements}


def with_nodes(cluster: Objects, nodes: Iterable[Node]) -> Objects:
    """The cluster with more nodes."""
    return Objects([*cluster.nodes, *nodes], cluster.pods, cluster.watched)


def with_bound(cluster: Objects, pods: Sequence[PodDict], nodes: Mapping[str, str]) -> Objects:
    """The cluster with those of `pods` that have one of `nodes`, by name, bound to it."""
    bound = [PodDict(pod, spec=dict(pod["spec"])).node(nodes[pod.name]) for pod in pods if nodes.get(pod.name)]
    return Objects(cluster.nodes, [*cluster.pods, *objects(*bound).pods], cluster.watched)
