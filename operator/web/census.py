"""The census: pods and groups as the pages count them, taken anew whenever something has changed.

A pure function of what is known; every page that speaks of pods or groups starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.framework.model.pod import Pod
from muster.operator.explain.standing import Group, GroupId, standing
from muster.operator.podgroups.membership import group_of, is_native

from .cluster import Known


@dataclass(frozen=True, slots=True)
class Census:
    """Who is there.

    Attributes:
        groups: all groups.
        waiting: those that wait for their quorum, in the order in which they are tried.
        alone: pods without a node and without a group, those that are tried first before others.
        pods, placed: how many pods there are, and how many of them have nodes.
    """

    groups: Mapping[GroupId, Group]
    waiting: Sequence[Group]
    alone: Sequence[Pod]
    pods: int
    placed: int

    def group_of(self, pod: Pod) -> Group | None:
        """The pod's group, if there is such a group."""
        key = group_of(pod)
        return None if key is None else self.groups.get((is_native(pod), key))


def take(known: Known) -> Census:
    """Count everything."""
    alone: list[Pod] = []
    count = placed = 0
    for pod in known.pods:
        count += 1
        placed += bool(pod.spec.node_name)
        if not pod.spec.node_name and group_of(pod) is None:
            alone.append(pod)
    groups = standing(known.groups, known.native_groups, known.pods, known.composites)
    return Census(
        groups={each.id: each for each in groups},
        waiting=[each for each in groups if each.place],
        alone=sorted(alone, key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or "")),
        pods=count,
        placed=placed,
    )
