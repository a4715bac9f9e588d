"""Kubernetes' own PodGroups in the form of `scheduling.x-k8s.io`, so that commands show both kinds alike.

What the API does not keep of them, how many pods have nodes, run or have ended, is counted from their members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from muster.framework.groups.annotations import AnnotatedMeta
from muster.framework.model.pod import Pod
from muster.operator.simulate.manifests import Objects
from muster.plugins.coscheduling.api import SCHEDULED, Condition, PodGroup, PodGroupSpec, PodGroupStatus
from muster.plugins.gangscheduling import api as native
from muster.plugins.gangscheduling.composite_api import COMPOSITE_POD_GROUPS, CompositePodGroup


def decided_with(cluster: Objects, group: str) -> set[str]:
    """The groups that are decided together with this one, itself among them: the parts of its outermost composite."""
    found = roots(cluster.watched.get(native.POD_GROUPS, ()), cluster.watched.get(COMPOSITE_POD_GROUPS, ()))
    own = found.get(group)
    return {group} if own is None else {key for key, root in found.items() if root == own}


def roots(groups: Iterable[native.PodGroup], composites: Iterable[CompositePodGroup]) -> dict[str, str | None]:
    """The outermost composite that each group is in, as far as they are known; None for a group that is in none."""
    return {key: found[-1] if found else None for key, found in above(groups, composites).items()}


def above(groups: Iterable[native.PodGroup], composites: Iterable[CompositePodGroup]) -> dict[str, list[str]]:
    """The composites that each group is in, as far as they are known, the innermost first."""
    parents = {each.key: each.spec.parent_composite_pod_group_name for each in composites}

    def of(each: native.PodGroup) -> list[str]:
        found: list[str] = []
        parent = each.spec.parent_composite_pod_group_name
        while parent is not None and len(found) <= len(parents):
            found.append(f"{each.metadata.namespace}/{parent}")
            parent = parents.get(found[-1])
        return found

    return {each.key: of(each) for each in groups}


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
    meta = msgspec.convert(msgspec.to_builtins(group.metadata), AnnotatedMeta)
    spec = PodGroupSpec(min_member=group.spec.min_count)
    return PodGroup(meta, spec, msgspec.Raw(msgspec.json.encode(status)))
