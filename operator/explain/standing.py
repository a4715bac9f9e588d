"""Groups of both kinds as people are shown them: with their members and their places among those that wait.

A pure function of what the API shows. Tables and watches of `muster groups`, what `muster why` says of the place, and
the pages of `muster web` begin with it, so that they agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster.framework.model.pod import POD_SCHEDULED, Pod, PodCondition
from muster.framework.scheduler.permit_reports import REASON as HELD
from muster.operator.podgroups.membership import group_of, is_native
from muster.plugins.coscheduling.api import SCHEDULED, Condition, PodGroup, PodGroupStatus
from muster.plugins.gangscheduling.api import PodGroup as NativeGroup
from muster.plugins.gangscheduling.composite_api import CompositePodGroup

from .native_groups import in_our_form, roots

GroupId = tuple[bool, str]
"""Whether a group is Kubernetes' own, and its `namespace/name`."""

_NOTHING_SAID = Condition(type=SCHEDULED, status="Unknown", reason="", message="")


@dataclass(frozen=True, slots=True)
class Group:
    """A group with its members, by name.

    Attributes:
        native: whether it is Kubernetes' own; `group` is then that in our form.
        status: what the API says of it.
        parent: the name of the CompositePodGroup that it is a part of; "" for none.
        place: its place among those that wait, from 1, which the parts of a tree share; 0 for one that has its quorum,
            or no member.
    """

    native: bool
    group: PodGroup
    status: PodGroupStatus
    members: Sequence[Pod]
    parent: str = ""
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


def standing(
    groups: Iterable[PodGroup],
    native: Iterable[NativeGroup],
    pods: Iterable[Pod],
    composites: Iterable[CompositePodGroup] = (),
) -> list[Group]:
    """All groups: those that wait for their quorum in the order in which they are tried, then the others.

    A group that is bound in part goes first, then the priority of its most important member counts, then its age. A
    tree of groups is tried as one, with the best of its parts; without its `composites` only groups that have one
    parent are known as one tree.
    """
    members: defaultdict[GroupId, list[Pod]] = defaultdict(list)
    for pod in pods:
        key = group_of(pod)
        if key is not None:
            members[is_native(pod), key].append(pod)
    native = [*native]
    found = [with_members(group, members[False, group.key]) for group in groups]
    found += [native_with_members(each, members[True, each.key]) for each in native]
    return _in_order(found, roots(native, composites))


def with_members(group: PodGroup, members: Iterable[Pod]) -> Group:
    """A group, without a place."""
    return Group(False, group, group.read_status(), _by_name(members))


def native_with_members(group: NativeGroup, members: Iterable[Pod]) -> Group:
    """One of Kubernetes' own."""
    named = _by_name(members)
    shown = in_our_form(group, named)
    return Group(True, shown, shown.read_status(), named, group.spec.parent_composite_pod_group_name or "")


def said_of(pod: Pod) -> str:
    """What the pod's condition says of why it waits."""
    return _scheduled(pod).message


def held_of(pod: Pod) -> str:
    """What its condition says of a pod that Permit holds; "" for any other."""
    condition = _scheduled(pod)
    return condition.message if condition.reason == HELD and not pod.spec.node_name else ""


def _scheduled(pod: Pod) -> PodCondition:
    return pod.status.condition(POD_SCHEDULED) or PodCondition()


def _by_name(members: Iterable[Pod]) -> list[Pod]:
    return sorted(members, key=lambda pod: pod.metadata.name)


def _in_order(found: Iterable[Group], tree_of: Mapping[str, str | None]) -> list[Group]:
    waiting: defaultdict[tuple[bool, str], list[tuple[_Rank, Group]]] = defaultdict(list)
    others: list[Group] = []
    for group in found:
        rank = _rank(group)
        if rank is None:
            others.append(group)
            continue
        tree = tree_of.get(group.group.key) if group.native else None
        waiting[tree is not None, tree or f"{group.native}/{group.group.key}"].append((rank, group))
    placed: list[Group] = []
    for together in sorted((sorted(each, key=_first) for each in waiting.values()), key=lambda each: each[0][0]):
        place = len(placed) + 1
        placed += [replace(group, place=place) for _, group in together]
    return [*placed, *others]


_Rank = tuple[bool, int, str, str, bool]
"""What groups that wait are ordered by."""


def _rank(group: Group) -> _Rank | None:
    """None for one that has its quorum, or no member."""
    bound = group.placed
    if not group.members or bound >= group.group.spec.min_member:
        return None
    return not bound, -group.priority, group.group.metadata.creation_timestamp or "", group.group.key, group.native


def _first(pair: tuple[_Rank, Group]) -> _Rank:
    return pair[0]
