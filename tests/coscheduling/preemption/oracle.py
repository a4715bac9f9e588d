"""The rules for every decision to evict for a gang, in plain arithmetic: cpu is all that these pods ask for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import ClassVar

from muster.framework.contract import (
    CycleState,
    DecisionFollower,
    GroupDecision,
    Placed,
    PodGroupInfo,
    PodInfo,
    PostBindPlugin,
)
from muster.plugins.coscheduling.api import group_key
from muster.plugins.defaultpreemption.group_search import GroupPreemption


class Judge(PostBindPlugin, DecisionFollower):
    """Checks each decision before a pod is evicted. What it knows of groups is set by the test.

    Attributes:
        min_members: by group, `namespace/name`; of those with a mode of their own nothing is expected here.
        judged: how many decisions to evict there were.
        faults: what was wrong with them; a plugin's exceptions are only logged.
    """

    name = "Judge"
    min_members: Mapping[str, int] = {}
    judged = 0
    faults: ClassVar[list[str]] = []

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """It extends a point, so that it is made."""

    def on_group_decision(self, decision: GroupDecision) -> None:
        match decision.state.get("DefaultPreemption"):
            case (_, GroupPreemption() as plan, PodGroupInfo() as group):
                type(self).judged += 1
                try:
                    self._judge(plan, group)
                except AssertionError as fault:
                    line = (
                        fault.__traceback__.tb_next.tb_lineno
                        if fault.__traceback__ and fault.__traceback__.tb_next
                        else 0
                    )
                    self.faults.append(f"{group.key}, line {line}: {fault}")

    def _judge(self, plan: GroupPreemption, group: PodGroupInfo) -> None:
        assert len(plan.placement) == group.missing
        gone = {placed.pod.uid for placed in plan.victims}
        assert len(gone) == len(plan.victims)
        for unit in self._units(plan.victims, gone):
            assert max(pod.priority for pod in unit) < group.priority
            assert not self._fits(plan, gone - {pod.uid for pod in unit}, group), [pod.key for pod in unit]
        assert self._fits(plan, gone, None)

    def _units(self, victims: Iterable[Placed], gone: set[str]) -> list[list[PodInfo]]:
        """Victims that go together; a group is evicted down to its quorum, or whole.

        Whose eviction was decided before does not stay, though the API has not been asked yet.
        """
        by_group: defaultdict[str, list[PodInfo]] = defaultdict(list)
        units = []
        leaving = self.handle.shared("DefaultPreemption.leaving", set[str])
        for pod, _ in victims:
            if (group := group_key(pod)) is not None and not pod.terminating:
                by_group[group].append(pod)
            else:
                units.append([pod])
        for group, evicted in by_group.items():
            running = [pod for pods in self.handle.snapshot.pods for pod in pods.values() if group_key(pod) == group]
            staying = [pod for pod in running if not pod.terminating and pod.uid not in gone | leaving]
            if len(staying) >= self.min_members[group]:
                units += [[pod] for pod in evicted]
            else:
                assert not staying, (group, [pod.key for pod in evicted], [pod.key for pod in staying])
                units.append(evicted)
        return units

    def _fits(self, plan: GroupPreemption, gone: set[str], ahead_of: PodGroupInfo | None) -> bool:
        """Whether the placement fits without these pods, beside those that are nominated to nodes."""
        snapshot = self.handle.snapshot
        own = set() if ahead_of is None else {pod.uid for pod in ahead_of.members}
        for name in {placed.node_name for placed in plan.placement}:
            row = snapshot.row_of(name)
            assert row is not None
            pods = [pod for pod in snapshot.pods[row].values() if pod.uid not in gone]
            pods += [placed.pod for placed in plan.placement if placed.node_name == name]
            if ahead_of is not None:
                pods += [
                    pod
                    for pod in self.handle.nominator.nominated_pods(name)
                    if pod.uid not in own and self.handle.nominator.priority_of(pod) >= ahead_of.priority
                ]
            if sum(_cpu(pod) for pod in pods) > snapshot.resources.allocatable[0, row]:
                return False
        return True


def _cpu(pod: PodInfo) -> int:
    return pod.signature.requests.get("cpu", 0)
