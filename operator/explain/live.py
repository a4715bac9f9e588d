"""One pod of a live cluster, explained: read with the caller's own rights, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import Explanation, explain
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.membership import group_key
from muster.operator.process.settings import Assembly
from muster.operator.simulate.evictions import Evicted, evicted_for
from muster.operator.simulate.live import read_cluster
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.rehearsal import GATED, Rehearsal, as_new
from muster.plugins.coscheduling.api import POD_GROUPS

from .picture import picture


@dataclass(frozen=True, slots=True)
class Explained:
    """A pod with its explanation.

    Attributes:
        pod: the pod, as the API has it.
        profile: the schedulerName whose profile decided.
        nodes: how many nodes the cluster has.
        explanation: the decision on the pod alone; for one that has a node, as if it were to be placed again.
        gated: why the pod is not looked at at all: its scheduling gates; else "".
        group: why the pod goes nowhere although it alone could: what its PodGroup lacks; else "".
        evicted: whom the pod, or its PodGroup, would evict.
    """

    pod: PodInfo
    profile: str
    nodes: int
    explanation: Explanation
    gated: str
    group: str
    evicted: Sequence[Evicted]


async def explain_live(assembly: Assembly, connection: Connection, namespace: str, name: str) -> Explained:
    """Explain the pod as things are now.

    Raises ApiError when the cluster cannot be read or has no such pod.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        reply = await client.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
        pod = PodInfo(msgspec.json.decode(reply.body, type=Pod))
    return await explain_among(assembly, await read_cluster(connection, assembly.watched()), pod)


async def explain_among(assembly: Assembly, cluster: Objects, pod: PodInfo) -> Explained:
    """Explain the pod in a cluster that was read; nothing of it is changed."""
    names = [profile.scheduler_name for profile in assembly.profiles]
    wanted = pod.pod.spec.scheduler_name
    profile = wanted if wanted in names else names[0]
    waiting = PodInfo(as_new(pod.pod, profile))
    pods = [*(other for other in cluster.pods if other.metadata.uid != pod.uid), waiting.pod]
    cluster = replace(cluster, pods=pods)
    engine = picture(assembly, cluster.nodes, cluster.pods, {**cluster.watched, POD_GROUPS: cluster.groups})
    explanation = explain(engine.algorithms[profile], waiting)
    gated = GATED if pod.pod.spec.scheduling_gates else ""
    group, evicted = "", evicted_for(explanation.evictions, pod.key)
    makes_room = explanation.evictions is not None
    if group_key(pod) is not None and not pod.node_name and not gated and (explanation.chosen or makes_room):
        group, evicted = await _with_its_group(assembly, cluster, pod)
        if makes_room:  # not for this pod alone
            explanation = replace(explanation, message="", evictions=None)
    return Explained(pod, profile, len(cluster.nodes), explanation, gated, group, evicted)


async def _with_its_group(assembly: Assembly, cluster: Objects, pod: PodInfo) -> tuple[str, Sequence[Evicted]]:
    """What comes of it when all members of its group that wait are tried as a whole.

    Why the pod goes nowhere, "" when it gets a node; and who is evicted.
    """
    infos = [PodInfo(each) for each in cluster.pods]
    members = [each.pod for each in infos if group_key(each) == group_key(pod) and not each.node_name]
    async with Rehearsal(assembly, cluster, Objects(pods=members)) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
        evicted = rehearsal.evicted
    return next(placement.reason for placement in placements if placement.pod.uid == pod.uid), evicted
