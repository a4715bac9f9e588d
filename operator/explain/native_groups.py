"""Kubernetes' own PodGroups in the form of `scheduling.x-k8s.io`, so that commands show both kinds alike.

What the API does not keep of them, how many pods have nodes, run or have ended, is counted from their members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from muster.framework.model.pod import Pod
from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.podgroups.membership import group_of, is_native
from muster.operator.simulate.manifests import Objects
from muster.plugins.coscheduling.api import SCHEDULED, Condition, PodGroup, PodGroupMeta, PodGroupSpec, PodGroupStatus
from muster.plugins.gangscheduling import api as native
from muster.plugins.gangscheduling.composite_api import COMPOSITE_POD_GROUPS


async def list_native(client: ApiClient, namespace: str | None, label_selector: str) -> list[PodGroup]:
    """The groups of a namespace, or of all; none where the API does not serve them. Raises ApiError."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    path = f"/apis/{native.API_VERSION}{scope}/{native.PLURAL}"
    try:
        groups = await list_all(client, Listed(path, native.PodGroup, label_selector=label_selector))
    except (Forbidden, NotFound):
        return []
    pods = await list_all(client, Listed(f"/api/v1{scope}/pods", Pod)) if groups else []
    members: dict[str | None, list[Pod]] = {}
    for pod in pods:
        if is_native(pod):
            members.setdefault(group_of(pod), []).append(pod)
    return [in_our_form(group, members.get(group.key, ())) for group in groups]


async def native_group(client: ApiClient, namespace: str, name: str) -> tuple[PodGroup, Sequence[Pod]]:
    """One group with its members. Raises ApiError, NotFound among others."""
    reply = await client.get(f"/apis/{native.API_VERSION}/namespaces/{namespace}/{native.PLURAL}/{name}")
    group = msgspec.json.decode(reply.body, type=native.PodGroup)
    pods = await list_all(client, Listed(f"/api/v1/namespaces/{namespace}/pods", Pod))
    members = [pod for pod in pods if is_native(pod) and group_of(pod) == group.key]
    return in_our_form(group, members), members


def decided_with(cluster: Objects, group: str) -> set[str]:
    """The groups that are decided together with this one, itself among them: the parts of its outermost composite."""
    composites = cluster.watched.get(COMPOSITE_POD_GROUPS, ())
    above = {each.key: each.spec.parent_composite_pod_group_name for each in composites}

    def root(each: native.PodGroup) -> str | None:
        found, parent = None, each.spec.parent_composite_pod_group_name
        for _ in range(len(above) + 1):
            if parent is None:
                break
            found = f"{each.metadata.namespace}/{parent}"
            parent = above.get(found)
        return found

    roots = {each.key: root(each) for each in cluster.watched.get(native.POD_GROUPS, ())}
    own = roots.get(group)
    return {group} if own is None else {key for key, found in roots.items() if found == own}


def in_our_form(group: native.PodGroup, members: Iterable[Pod]) -> PodGroup:
    """The group; its phase is what kubectl shows as its status."""
    pods = [pod for pod in members if pod.metadata.deletion_timestamp is None]
    phases = Counter(pod.status.phase for pod in pods)
    said = group.condition()
    told = () if said is None else (Condition(SCHEDULED, said.status, said.reason, said.message),)
    status = PodGroupStatus(
        phase=said.reason if said is not None else "Pending",
        scheduled=sum(1 for pod in pods if pod.spec.node_name and pod.status.phase != "Failed"),
        running=phases["Running"],
        succeeded=phases["Succeeded"],
        failed=phases["Failed"],
        conditions=told,
    )
    meta = msgspec.convert(msgspec.to_builtins(group.metadata), PodGroupMeta)
    spec = PodGroupSpec(min_member=group.spec.min_count)
    return PodGroup(meta, spec, msgspec.Raw(msgspec.json.encode(status)))
