"""The census: counts and lists of pods and groups for the pages, computed again after each change of the cluster.

A pure function of a `ClusterState`; every page about pods or groups starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.framework.contract import GroupId, GroupView
from muster.framework.model.pod import Pod
from muster.operator.explain.group_views import group_views
from muster.operator.podgroups.membership import GroupKinds

from .cluster import ClusterState


@dataclass(frozen=True, slots=True)
class Census:
    """The pods and groups of a cluster, as the pages count them.

    Attributes:
        kinds: the kinds of groups.
        groups: all groups.
        waiting: groups that lack their quorum, in the order in which they are tried.
        held: groups that lack their quorum and are held by operators, by name.
        single_pods: pods without a node and without a group, in the order in which they are tried.
        pods, placed: the number of pods, and of pods with nodes.
    """

    kinds: GroupKinds
    groups: Mapping[GroupId, GroupView]
    waiting: Sequence[GroupView]
    held: Sequence[GroupView]
    single_pods: Sequence[Pod]
    pods: int
    placed: int

    def group_of(self, pod: Pod) -> GroupView | None:
        """The pod's group; None for a pod without a group, or whose group does not exist."""
        group = self.kinds.named_by(pod)
        return None if group is None else self.groups.get(group)

    @property
    def settled(self) -> list[GroupView]:
        """Groups that are neither waiting nor held, the newest first."""
        groups = [group for group in self.groups.values() if not group.place and not _is_held_back(group)]
        return sorted(groups, key=lambda group: (group.metadata.creation_timestamp or "", group.key), reverse=True)


def take_census(state: ClusterState) -> Census:
    """Count the pods and groups of a state."""
    single: list[Pod] = []
    count = placed = 0
    for pod in state.pods:
        count += 1
        placed += bool(pod.spec.node_name)
        if not pod.spec.node_name and state.kinds.named_by(pod) is None:
            single.append(pod)
    groups = group_views(state.kinds, state.groups, state.pods)
    return Census(
        kinds=state.kinds,
        groups={each.id: each for each in groups},
        waiting=[each for each in groups if each.place],
        held=sorted((each for each in groups if _is_held_back(each)), key=lambda group: group.key),
        single_pods=sorted(single, key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or "")),
        pods=count,
        placed=placed,
    )


def _is_held_back(group: GroupView) -> bool:
    """Whether the group would wait for its quorum if it were not held."""
    return bool(group.held and group.members) and group.placed < group.needed
