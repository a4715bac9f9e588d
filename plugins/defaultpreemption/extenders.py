"""The candidates for preemption that extenders allow (upstream: `callExtenders`).

A decision does not wait for extenders: at the first attempt there is no answer yet, and the pod is decided again when
the answer has come. The cluster may have changed meanwhile, so an answer counts for nodes on which the pod would still
evict the same victims.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from muster.framework.contract import CycleState, PreemptionHandle, Status, Victims
from muster.framework.model.pod_info import PodInfo

from .candidates import Candidate
from .victims import single

ASKED = Status.unschedulable("preemption: extenders are being asked")
NOBODY_LEFT = Status.unschedulable("preemption: no candidate node for preemption")


def nodes_to_try(handle: PreemptionHandle, state: CycleState, node_names: Sequence[str]) -> Sequence[str]:
    """The nodes to try: those about which extenders were asked, or all if they were not asked."""
    asked = handle.nodes_asked_about(state)
    return node_names if asked is None else [name for name in node_names if name in asked]


def allowed_by_extenders(
    handle: PreemptionHandle, state: CycleState, pod: PodInfo, candidates: Sequence[Candidate]
) -> list[Candidate] | Status:
    """The candidates that the extenders allow, with the victims that they name; a status if there are none."""
    ours = {each.node_name: each for each in candidates}
    victims = {name: Victims([placed.pod for placed in each.victims], each.violations) for name, each in ours.items()}
    answer = handle.ask_extenders(state, pod, victims)
    if answer is victims:
        return list(candidates)
    if answer is None:
        return ASKED
    if isinstance(answer, Status):
        return Status(answer.code, (f"preemption: {answer.message}",))
    return [_candidate(ours[name], each) for name, each in answer.items()] or NOBODY_LEFT


def _candidate(ours: Candidate, answered: Victims) -> Candidate:
    nodes = {placed.pod.uid: placed.node_name for placed in ours.victims}
    lost = tuple(single(pod, nodes.get(pod.uid, ours.node_name), inf) for pod in answered.pods)
    return Candidate(ours.node_name, lost, answered.violations, ours.disruptions)
