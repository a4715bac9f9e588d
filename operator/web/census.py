"""The census: pods and groups as the pages count them, taken anew whenever something has changed.

A pure function of what is known; every page that speaks of pods or groups starts from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster.framework.model.pod import Pod, PodCondition
from muster.operator.explain.group_trial import rank
from muster.operator.explain.native_groups import in_our_form
from muster.operator.podgroups.membership import group_of, is_native
from muster.plugins.coscheduling.api import SCHEDULED, Condition, PodGroup, PodGroupStatus

from .cluster import Known

GroupId = tuple[bool, str]
"""Whether a group is Kubernetes' own, and its `namespace/name`."""

_NOTHING_SAID = Condition(type=SCHEDULED, status="Unknown")


@dataclass(frozen=True, slots=True)
class Group:
    """A group with its members, by name.

    Attributes:
        native: whether it is Kubernetes' own; `group` is then that in our form.
        status: what the API says of it.
        place: its place among those that wait, from 1; 0 for one that has its quorum, or no member.
    """

    native: bool
    group: PodGroup
    status: PodGroupStatus
    members: Sequence[Pod]
    place: int = 0

    @property
    def id(self) -> GroupId:
        """What it is found by."""
        return self.native, self.group.key

    @property
    def placed(self) -> int:
        """How many of its members have nodes."""
        return sum(1 for pod in self.members if pod.spec.node_name)

    @property
    def said(self) -> Condition:
        """What its condition says."""
        return self.status.condition(SCHEDULED) or _NOTHING_SAID

    @property
    def priority(self) -> int:
        """That of its most important member."""
        return max((pod.spec.priority or 0 for pod in self.members), default=0)

    @property
    def since(self) -> str | None:
        """When it began to wait."""
        return self.status.schedule_start_time or self.group.metadata.creation_timestamp


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
    members: defaultdict[GroupId, list[Pod]] = defaultdict(list)
    alone: list[Pod] = []
    count = placed = 0
    for pod in known.pods:
        count += 1
        placed += bool(pod.spec.node_name)
        key = group_of(pod)
        if key is not None:
            members[is_native(pod), key].append(pod)
        elif not pod.spec.node_name:
            alone.append(pod)
    found = [_group(False, group, members[False, group.key]) for group in known.groups]
    found += [
        _group(True, in_our_form(each, members[True, each.key]), members[True, each.key])
        for each in known.native_groups
    ]
    ranked = [(order, each) for each in found if (order := rank(each.group, each.members)) is not None]
    ranked.sort(key=lambda pair: (pair[0], pair[1].native))
    waiting = [replace(each, place=place) for place, (_, each) in enumerate(ranked, start=1)]
    return Census(
        groups={each.id: each for each in (*found, *waiting)},
        waiting=waiting,
        alone=sorted(alone, key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or "")),
        pods=count,
        placed=placed,
    )


def said_of(pod: Pod) -> str:
    """What the pod's condition says of why it waits."""
    return next((each for each in pod.status.conditions if each.type == "PodScheduled"), PodCondition()).message


def _group(native: bool, group: PodGroup, members: Iterable[Pod]) -> Group:
    return Group(native, group, group.read_status(), sorted(members, key=lambda pod: pod.metadata.name))
