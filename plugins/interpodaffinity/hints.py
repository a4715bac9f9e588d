"""Hints of InterPodAffinity: which events may help a pod that it rejected.

Where terms select namespaces by label, hints use the current labels of namespaces, as the decision does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muster.framework.contract import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Hint,
    Node,
    PodInfo,
)
from muster.framework.model.affinity_terms import AffinityTerm

from .namespaces import Namespaces


class AffinityHints:
    """Judges events by the terms of the waiting pod."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    def registrations(self) -> Sequence[EventRegistration]:
        """kube-scheduler's table."""
        assigned, target, node = EventResource.ASSIGNED_POD, EventResource.TARGET_POD, EventResource.NODE
        pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        return [
            EventRegistration(ClusterEvent(assigned, pods), self._assigned_pod, by_class=True),
            EventRegistration(ClusterEvent(target, Action.UPDATE_POD_LABEL)),
            EventRegistration(ClusterEvent(node, Action.ADD | Action.UPDATE_NODE_LABEL), _node, by_signature=True),
        ]

    def _assigned_pod(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> Hint:
        terms = pod.terms
        if terms.fault:
            return Hint.QUEUE
        if new is not None and old is not None:
            came_near = not self._all_pick(terms.required, old) and self._all_pick(terms.required, new)
            went = self._any_picks(terms.required_apart, old) and not self._any_picks(terms.required_apart, new)
            return Hint.queue_if(came_near or went)
        if new is not None:
            return Hint.queue_if(self._all_pick(terms.required, new))
        if old is None:
            return Hint.SKIP
        was_apart = self._any_picks(terms.required_apart, old) or self._any_picks(old.terms.required_apart, pod)
        return Hint.queue_if(was_apart)

    def _all_pick(self, terms: Sequence[AffinityTerm], pod: PodInfo) -> bool:
        for term in terms:
            if not self._picks(term, pod):
                return False
        return bool(terms)

    def _any_picks(self, terms: Iterable[AffinityTerm], pod: PodInfo) -> bool:
        return any(self._picks(term, pod) for term in terms)

    def _picks(self, term: AffinityTerm, pod: PodInfo) -> bool:
        return term.picks(pod.namespace, pod.labels, self._namespaces.labels(pod.namespace))


def _node(pod: PodInfo, old: Node | None, new: Node) -> Hint:
    """A node came into a domain of the pod's affinity, or left one of its anti-affinity. A new node always may help
    anti-affinity: one without the key takes every such pod."""
    terms = pod.terms
    if terms.fault:
        return Hint.QUEUE
    if old is None:
        joined = any(term.topology_key in new.metadata.labels for term in terms.required)
        return Hint.queue_if(joined or bool(terms.required_apart))
    was, has = old.metadata.labels, new.metadata.labels
    near = (term.topology_key for term in terms.required)
    apart = (term.topology_key for term in terms.required_apart)
    joined = any(key in has and was.get(key) != has[key] for key in near)
    left = any(key in was and has.get(key) != was[key] for key in apart)
    return Hint.queue_if(joined or left)
