"""The workloads that would have to end: the fewest running groups and pods without which waiting pods would be placed.

`muster why GROUP` calls it, for clusters to which no node can be added. Arithmetic on the free capacity of nodes
selects candidates, and the engine decides with each of them removed, so the result is sufficient. No pod is evicted,
and priorities do not count: the result names the workloads to wait for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from muster.framework.contract import Code, Status
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS, amounts

from .rehearsal import Rehearsal, RehearsalResult

_ALONE_TRIED = 8
_MOST = 5
_SYSTEM_PRIORITY = 2_000_000_000

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RequiredEnding:
    """A group, or a pod without a group, that would have to end.

    Attributes:
        name: its `namespace/name`.
        group: whether it is a group.
        pods: the number of its running pods.
    """

    name: str
    group: bool
    pods: int

    def __str__(self) -> str:
        if not self.group:
            return f"pod {self.name}"
        return f"group {self.name} ({self.pods} {'pod' if self.pods == 1 else 'pods'})"


@dataclass(frozen=True, slots=True)
class _Running:
    """A running group or pod; `gain` is the number of members that fit its nodes after its end, by amounts alone."""

    ending: RequiredEnding
    pods: Sequence[Pod]
    priority: int
    gain: int

    @property
    def rank(self) -> tuple[int, int, str]:
        """The sort key: the smallest first, then the least important."""
        return len(self.pods), self.priority, self.ending.name


async def endings(
    rehearsal: Rehearsal, waiting: Sequence[PodInfo], tried: RehearsalResult, missing: int, *, own: Collection[str]
) -> Sequence[RequiredEnding]:
    """The fewest workloads that have to end so that `missing` waiting pods are placed; none if no such set is found.

    `tried` is the result of trying the pods one after another; `own` are their groups and the groups that are decided
    with them, which do not have to end. One workload is preferred to several, and among single workloads the one with
    the fewest pods. More than five are not named. DaemonSets and the cluster's own pods are not considered. The
    rehearsal is not changed.
    """
    blocked = next((pod for pod in waiting if pod.key == tried.blocked), None)
    if blocked is None:
        return ()
    lacking = max(missing - len(tried.placed), 1)
    found = list(_candidates(rehearsal, waiting, tried, blocked, own=own))
    pods = [pod.pod for pod in waiting]

    async def suffice(chosen: Sequence[_Running]) -> bool:
        gone = [*chain.from_iterable(each.pods for each in chosen)]
        return await rehearsal.placed_without(gone, pods) >= missing

    for each in sorted((each for each in found if each.gain >= lacking), key=lambda each: each.rank)[:_ALONE_TRIED]:
        if await suffice([each]):
            return (each.ending,)
    chosen: list[_Running] = []
    for each in sorted(found, key=lambda each: (-each.gain, each.rank))[:_MOST]:
        chosen.append(each)
        if len(chosen) > 1 and sum(each.gain for each in chosen) >= lacking and await suffice(chosen):
            for needless in chosen[:-1]:
                rest = [each for each in chosen if each is not needless]
                chosen = rest if len(rest) > 1 and await suffice(rest) else chosen
            return tuple(each.ending for each in chosen)
    return ()


def sentences(ending: Sequence[RequiredEnding]) -> Iterator[str]:
    """A sentence for users, if workloads have to end."""
    if ending:
        *others, last = map(str, ending)
        names = f"{', '.join(others)} and {last}" if others else last
        yield f"The group would fit if {names} ended."


def _candidates(
    rehearsal: Rehearsal, waiting: Sequence[PodInfo], tried: RehearsalResult, blocked: PodInfo, *, own: Collection[str]
) -> Iterator[_Running]:
    """The running pods whose end would free enough for a pod equal to `blocked` on a node that lacks only capacity."""
    free = _left(rehearsal, waiting, tried)
    requests = {**blocked.signature.requests, PODS: 1}
    units: defaultdict[tuple[str, bool], list[PodInfo]] = defaultdict(list)
    for info in map(PodInfo, rehearsal.running):
        group = rehearsal.groups.key_of(info.pod)
        if group not in own and not _runs_everywhere(info.pod) and info.priority < _SYSTEM_PRIORITY:
            units[group or info.key, bool(group)].append(info)
    for (name, is_group), pods in units.items():
        freed: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for info in pods:
            if info.node_name in free:
                freed[info.node_name].update({**info.signature.requests, PODS: 1})
        gain = sum(_times(requests, Counter(free[node]) + amount) for node, amount in freed.items())
        if gain > 0:
            ending = RequiredEnding(name, is_group, len(pods))
            yield _Running(ending, [info.pod for info in pods], max(info.priority for info in pods), gain)


def _left(rehearsal: Rehearsal, waiting: Iterable[PodInfo], tried: RehearsalResult) -> Mapping[str, Amounts]:
    """The capacity that placed pods leave on nodes that lack only capacity."""
    left = {
        node.metadata.name: Counter(amounts(node.status.allocatable))
        for node in rehearsal.nodes
        if _only_full(tried.reasons.get(node.metadata.name))
    }
    on_nodes = ((pod, tried.placed[pod.key]) for pod in waiting if pod.key in tried.placed)
    for pod, node in chain(((pod, pod.node_name) for pod in map(PodInfo, rehearsal.running)), on_nodes):
        if node in left:
            left[node].subtract({**pod.signature.requests, PODS: 1})
    return left


def _only_full(status: Status | None) -> bool:
    return status is not None and status.code is Code.UNSCHEDULABLE


def _times(requests: Amounts, free: Amounts) -> int:
    """The number of times that the request fits the capacity."""
    return min((free.get(name, 0) // amount for name, amount in requests.items() if amount), default=0)


def _runs_everywhere(pod: Pod) -> bool:
    """Whether the pod was created for its node, as a DaemonSet's pod is."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required is not None and any(term.match_fields for term in required.node_selector_terms)
