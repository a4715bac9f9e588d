"""One pod of a live cluster, explained: read with the caller's own rights, and nothing is written."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from muster.framework.cycle.explain import Explanation, explain
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.operator.process.settings import Assembly
from muster.operator.process.watches import NODES, PODS

from .picture import picture


@dataclass(frozen=True, slots=True)
class Explained:
    """A pod with its explanation.

    Attributes:
        pod: the pod, as the API has it.
        profile: the schedulerName whose profile decided.
        nodes: how many nodes the cluster has.
        explanation: the decision; for a pod that has a node, as if it were to be placed again.
    """

    pod: PodInfo
    profile: str
    nodes: int
    explanation: Explanation


async def explain_live(assembly: Assembly, connection: Connection, namespace: str, name: str) -> Explained:
    """Explain the pod as things are now.

    Raises ApiError when the cluster cannot be read or has no such pod.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        reply = await client.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
        pod = PodInfo(msgspec.json.decode(reply.body, type=Pod))
        nodes, pods = await asyncio.gather(list_all(client, NODES), list_all(client, PODS))
    engine = picture(assembly, nodes, (other for other in pods if other.metadata.uid != pod.uid))
    names = [profile.scheduler_name for profile in assembly.profiles]
    wanted = pod.pod.spec.scheduler_name
    profile = wanted if wanted in names else names[0]
    explanation = explain(engine.searches[profile], engine.cache.snapshot, pod)
    return Explained(pod, profile, len(nodes), explanation)
