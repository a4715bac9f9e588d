"""The pods and groups that wait for nodes, in the order in which the scheduler tries them.

The planner moves pods for one of them. A tree of groups is one entry. Pods of other schedulers, and pods that are
gated, held or nominated to a node, are left out: moving pods would not start them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from muster.framework.contract import GroupId, GroupView
from muster.framework.model.pod import Pod
from muster.operator.explain.group_views import decided_with, group_views
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.simulate.manifests import Objects


@dataclass(frozen=True, slots=True)
class WaitingTarget:
    """A pod or a group that waits.

    Attributes:
        name: its `namespace/name`; of a tree, that of its first group.
        groups: the groups that are decided together; empty for a pod without a group.
        pods: its pods without a node.
        missing: how many of them have to find a node at once, at least.
    """

    name: str
    groups: frozenset[GroupId]
    pods: tuple[Pod, ...]
    missing: int

    @property
    def group(self) -> GroupId | None:
        """The group, if it is one that is decided by itself."""
        return next(iter(self.groups)) if len(self.groups) == 1 else None

    def includes(self, name: str) -> bool:
        """Whether it has this `namespace/name`, or consists of groups of which one has."""
        return name == self.name or any(group.key == name for group in self.groups)


_Rank = tuple[bool, int, str, str]


def waiting_targets(kinds: GroupKinds, cluster: Objects, profiles: Collection[str]) -> list[WaitingTarget]:
    """All that wait for a node and are decided by one of these profiles, the first to be tried first."""
    kinds = kinds.among(cluster.watched)
    views = group_views(kinds, cluster.watched, cluster.pods)
    found = [*_groups(views, cluster, profiles)]
    for pod in cluster.pods:
        if _waits(pod, profiles) and kinds.named_by(pod) is None:
            rank = True, -(pod.spec.priority or 0), pod.metadata.creation_timestamp or "", pod.metadata.key
            found.append((rank, WaitingTarget(pod.metadata.key, frozenset(), (pod,), 1)))
    return [target for _, target in sorted(found, key=lambda each: each[0])]


def gangs(kinds: GroupKinds, cluster: Objects) -> frozenset[GroupId]:
    """The groups that need several members at once."""
    return frozenset(
        GroupId(kind.plugin, group.metadata.key)
        for kind in kinds
        for group in cluster.watched.get(kind.objects, ())
        if kind.needed(group) > 1
    )


def _groups(
    views: Sequence[GroupView], cluster: Objects, profiles: Collection[str]
) -> list[tuple[_Rank, WaitingTarget]]:
    by_id = {view.id: view for view in views}
    found: list[tuple[_Rank, WaitingTarget]] = []
    known: set[GroupId] = set()
    for view in views:
        if not view.place or view.id in known:
            continue
        together = frozenset(GroupId(view.id.plugin, key) for key in decided_with(view.kind, cluster.watched, view.key))
        known |= together
        parts = [by_id[each] for each in together if each in by_id]
        pods = tuple(pod for part in parts for pod in part.members if _waits(pod, profiles))
        if pods:
            missing = max(1, view.needed - view.placed) if len(together) == 1 else 1
            since = view.metadata.creation_timestamp or ""
            rank = not view.placed, -max(part.priority for part in parts), since, view.key
            found.append((rank, WaitingTarget(view.key, together, pods, missing)))
    return found


def _waits(pod: Pod, profiles: Collection[str]) -> bool:
    """Whether the scheduler looks for a node for the pod."""
    spec, status, meta = pod.spec, pod.status, pod.metadata
    ended = status.phase in ("Succeeded", "Failed") or meta.deletion_timestamp is not None
    open_ = not (spec.node_name or spec.scheduling_gates or status.nominated_node_name)
    return not ended and open_ and spec.scheduler_name in profiles
