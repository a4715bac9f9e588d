"""Calls of extenders: filter and prioritize for feasible nodes, preempt for victims, bind for a placed pod.

`Consultations` calls filter, prioritize and preempt between decisions, and the binding cycle calls bind. The rules are
those of kube-scheduler's findNodesThatPassExtenders, prioritizeNodes, callExtenders and extendersBinding. Nothing here
reads the snapshot, because a trial may be in progress when an answer arrives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..contract.events import (
    TARGET_POD_OTHER,
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Hint,
    pod_update_events,
)
from ..contract.extender import MAX_EXTENDER_PRIORITY, Extender, ExtenderError, MetaVictims, Victims
from ..contract.plugin import MAX_NODE_SCORE
from ..contract.status import Status
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..runtime.consultation import Consultation, PreemptionQuestion
from ..runtime.plugin_set import EVERYTHING
from .reports import DECISIONS

log = logging.getLogger(__name__)

_ANY: ClusterEvent[Any] = ClusterEvent(EventResource.WILDCARD, Action.ALL)
_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


def interested(extenders: Iterable[Extender], pod: PodInfo) -> list[Extender]:
    """The extenders that want to see the pod, in the order of asking."""
    return [extender for extender in extenders if extender.is_interested(pod)]


def helpful_events(extenders: Iterable[Extender]) -> Sequence[EventRegistration]:
    """The events after which extenders may give other answers: any.

    An extender that binds may write what it has chosen into the annotations of the pod that it is asked about. If there
    is one, an update that changes nothing else of a waiting pod does not count: each question would lead to the next.
    """
    if any(extender.is_binder for extender in extenders):
        return (EventRegistration(_ANY, _after_own_update, by_signature=True),)
    return EVERYTHING


def _after_own_update(pod: PodInfo, old: object, new: object) -> Hint:
    if not isinstance(old, PodInfo) or not isinstance(new, PodInfo) or new.uid != pod.uid:
        return Hint.QUEUE
    return Hint.SKIP if pod_update_events(old, new) == (TARGET_POD_OTHER,) else Hint.QUEUE


async def consult(
    extenders: Sequence[Extender], pod: PodInfo, consultation: Consultation, metrics: SchedulerMetrics
) -> None:
    """Ask about the nodes `consultation.consulted_nodes`, and write down the answers.

    Filters are asked one after another, each about what the one before has left, then all prioritizers at once.
    """
    concerned = interested(extenders, pod)
    left = sorted(consultation.consulted_nodes)
    statuses = dict(consultation.statuses)
    for extender in concerned:
        if not extender.is_filter or not left:
            continue
        try:
            result = await extender.filter(pod, left)
            unknown = set(result.node_names).difference(left)
            if unknown:
                raise ExtenderError(_unknown_node(extender, min(unknown)))
        except ExtenderError as error:
            if extender.ignorable:
                _skipped(extender, "filter", pod, error)
                continue
            consultation.error = Status.failure(str(error))
            return
        for name, reason in result.failed.items():
            statuses[name] = Status.unschedulable(reason)
        for name, reason in result.failed_and_unresolvable.items():
            statuses[name] = Status.unresolvable(reason)
        left = list(dict.fromkeys(result.node_names))
    consultation.refused |= statuses.keys() | (frozenset() if left else consultation.consulted_nodes)
    consultation.node_names = frozenset(left)
    consultation.statuses = statuses
    if len(left) > 1:
        prioritizers = [extender for extender in concerned if extender.is_prioritizer]
        scores = await asyncio.gather(*(_prioritize(extender, pod, left, metrics) for extender in prioritizers))
        consultation.scores = _by_extender(prioritizers, scores)


async def _prioritize(
    extender: Extender, pod: PodInfo, names: Sequence[str], metrics: SchedulerMetrics
) -> Mapping[str, int]:
    """The extender's scores, weighted; none if it fails."""
    metrics.goroutines.add(("prioritizing_extender",), 1)
    try:
        scores = await extender.prioritize(pod, names)
    except ExtenderError as error:
        _skipped(extender, "prioritize", pod, error)
        return {}
    finally:
        metrics.goroutines.add(("prioritizing_extender",), -1)
    return {name: score * extender.weight * _SCALE for name, score in scores.items()}


def _by_extender(extenders: Sequence[Extender], scores: Sequence[Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The scores by the extender's name; several entries of a configuration may have one, and their scores add up."""
    found: dict[str, dict[str, int]] = {}
    for extender, each in zip(extenders, scores, strict=True):
        if each:
            total = found.setdefault(extender.name, {})
            for node_name, score in each.items():
                total[node_name] = total.get(node_name, 0) + score
    return found


async def process_preemption(
    extenders: Sequence[Extender], pod: PodInfo, question: PreemptionQuestion
) -> Mapping[str, Victims] | Status:
    """The pods that may be evicted on each node, after every extender with a `preemptVerb`; a status if one failed."""
    victims = question.victims
    for extender in interested(extenders, pod):
        if not extender.supports_preemption:
            continue
        try:
            victims = _checked(extender, await extender.process_preemption(pod, victims), question)
        except ExtenderError as error:
            if extender.ignorable:
                _skipped(extender, "preempt", pod, error)
                continue
            return Status.failure(str(error))
        if not victims:
            break
    return victims


def _checked(
    extender: Extender, answer: Mapping[str, MetaVictims], question: PreemptionQuestion
) -> Mapping[str, Victims]:
    """The answer with pods for UIDs. Raises ExtenderError when it names an unknown pod, or no victim."""
    checked: dict[str, Victims] = {}
    for node_name, named in answer.items():
        pods = question.pods.get(node_name)
        if pods is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node_name}"')
        for uid in named.uids:
            if uid not in pods:
                raise ExtenderError(
                    f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name},"
                    " but the pod is not found on that node"
                )
        checked[node_name] = Victims(tuple(pods[uid] for uid in named.uids), named.violations)
    for node_name, victims in tuple(checked.items()):
        if not victims.pods:
            if not extender.ignorable:
                raise ExtenderError(f'expected at least one victim pod on node "{node_name}"')
            del checked[node_name]
    return checked


async def bind_by_extender(extenders: Sequence[Extender], pod: PodInfo, node_name: str) -> Status | None:
    """Have the first interested binder bind the pod: None when it did, SKIP when there is none, else why not."""
    for extender in interested(extenders, pod):
        if not extender.is_binder:
            continue
        try:
            await extender.bind(pod, node_name)
        except ExtenderError as error:
            if extender.ignorable:
                _skipped(extender, "bind", pod, error)
                continue
            return Status.failure(str(error))
        return None
    return Status.skip()


def _unknown_node(extender: Extender, node_name: str) -> str:
    return f'extender "{extender.name}" claims a filtered node "{node_name}" which is not found in the input node list'


def _skipped(extender: Extender, verb: str, pod: PodInfo, error: ExtenderError) -> None:
    pairs = {"extender": extender.name, "verb": verb, "pod": pod.key, "error": str(error)}
    log.log(DECISIONS, "Skipped an extender that failed", extra={"pairs": pairs})
