"""PodGroups of scheduling.k8s.io as users see them, and how pods join one. See `GroupKind`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from muster.framework.contract import GroupKind, GroupStatus, JoiningPod
from muster.framework.groups import HEALING_POLICY, HOLD_ANNOTATIONS, TIMING_ANNOTATIONS
from muster.framework.model.pod import Pod

from .api import NAME, POD_GROUPS, GroupSpec, NativePodGroup, group_named
from .composite_api import COMPOSITE_POD_GROUPS, CompositePodGroup


class NativePodGroupKind(GroupKind[NativePodGroup]):
    """The kind. Its status has no numbers of members that have nodes, run or have ended; they are counted here."""

    plugin = NAME
    objects = POD_GROUPS
    composites = COMPOSITE_POD_GROUPS
    short_names = ("pg", "pgs")
    tag = "native"
    annotations = frozenset({HEALING_POLICY, *HOLD_ANNOTATIONS, *TIMING_ANNOTATIONS})

    def named_by(self, pod: JoiningPod) -> str | None:
        """The group that the pod's spec names."""
        return group_named(pod.metadata.namespace, pod.spec.scheduling_group)

    def needed(self, group: NativePodGroup) -> int:
        """The group's minCount."""
        return group.spec.min_count

    def spec_for(self, size: int, priority_class_name: str = "") -> Mapping[str, Any]:
        """A gang with this minCount, which must have the priority of its pods."""
        priority = {"priorityClassName": priority_class_name} if priority_class_name else {}
        return {"schedulingPolicy": {"gang": {"minCount": size}}, **priority}

    def status(self, group: NativePodGroup, members: Sequence[Pod]) -> GroupStatus:
        """The group's status; its phase is the one that kubectl shows."""
        pods = [pod for pod in members if pod.metadata.deletion_timestamp is None]
        phases = Counter(pod.status.phase for pod in pods)
        said = group.condition()
        return GroupStatus(
            phase=said.reason if said is not None else "Pending",
            scheduled=sum(1 for pod in pods if pod.spec.node_name and pod.status.phase != "Failed"),
            running=phases["Running"],
            succeeded=phases["Succeeded"],
            failed=phases["Failed"],
            placed=said.status if said is not None else "Unknown",
            reason=said.reason if said is not None else "",
            message=said.message if said is not None else "",
        )

    def parent(self, group: NativePodGroup | CompositePodGroup) -> str:
        """The parent that the spec names."""
        spec: GroupSpec = group.spec
        return spec.parent_composite_pod_group_name or ""

    def needed_parts(self, composite: CompositePodGroup) -> int:
        """The group's minGroupCount."""
        return composite.spec.min_group_count


NATIVE_POD_GROUP_KIND = NativePodGroupKind()
