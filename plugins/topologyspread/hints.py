"""Hints of PodTopologySpread: which events may help a pod that its hard constraints reject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from muster.framework.contract import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Hint,
    Node,
    PodInfo,
)

from .constraint import Constraint
from .reading import PodConstraints

Labels = Mapping[str, str]


class SpreadHints:
    """Judges events by the constraints of the waiting pod, which `reading` gives."""

    def __init__(self, reading: Callable[[PodInfo], PodConstraints]) -> None:
        self._reading = reading

    def registrations(self) -> Sequence[EventRegistration]:
        """kube-scheduler's table."""
        assigned, target, node = EventResource.ASSIGNED_POD, EventResource.TARGET_POD, EventResource.NODE
        pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        itself = Action.UPDATE_POD_TOLERATION | Action.UPDATE_POD_LABEL
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return [
            EventRegistration(ClusterEvent(assigned, pods), self._assigned_pod, by_class=True),
            EventRegistration(ClusterEvent(target, itself), self._target_pod, by_class=True),
            EventRegistration(ClusterEvent(node, nodes), self._node, by_class=True),
        ]

    def _assigned_pod(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> Hint:
        if any(other is not None and other.namespace != pod.namespace for other in (old, new)):
            return Hint.SKIP
        reading = self._reading(pod)
        if reading.hard_fault:
            return Hint.QUEUE
        if old is not None and new is not None:
            return _relabelled(reading.hard, old.labels, new.labels)
        other = old or new
        counted = other is not None and any(each.rule.selector.picks(other.labels) for each in reading.hard)
        return Hint.queue_if(counted)

    def _target_pod(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> Hint:
        reading = self._reading(pod)
        if reading.hard_fault:
            return Hint.QUEUE
        tolerates_more = old.pod.spec.tolerations != new.pod.spec.tolerations
        if tolerates_more and any(each.rule.honors_taints for each in reading.hard):
            return Hint.QUEUE
        return _relabelled(reading.hard, old.labels, new.labels)

    def _node(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        reading = self._reading(pod)
        if reading.hard_fault:
            return Hint.QUEUE
        keys = [each.rule.topology_key for each in reading.hard]
        had, has = _in_domains(old, keys), _in_domains(new, keys)
        if old is None or new is None:
            return Hint.queue_if(had or has)
        if had != has:
            return Hint.QUEUE
        moved = any(old.metadata.labels.get(key) != new.metadata.labels.get(key) for key in keys)
        return Hint.queue_if(has and (moved or old.spec.taints != new.spec.taints))


def _relabelled(constraints: Sequence[Constraint], old: Labels, new: Labels) -> Hint:
    matters = old != new and any(each.rule.selector.picks(old) != each.rule.selector.picks(new) for each in constraints)
    return Hint.queue_if(matters)


def _in_domains(node: Node | None, keys: Sequence[str]) -> bool:
    return node is not None and all(key in node.metadata.labels for key in keys)
