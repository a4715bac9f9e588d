"""Equivalence classes: pods that plugins which look at labels cannot tell apart, though they may have different names.

The queue asks, so that one pod that no node can take speaks for all of its class. The word is kube-scheduler's.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from .label_set import LabelSet
from .pod_info import PodInfo, PodSignature

_Common = tuple[PodSignature, LabelSet, tuple[tuple[str, str, str], ...]]


class EquivalenceClass:
    """Pods with the same signature, namespace, labels and controllers. Identity is equality."""

    __slots__ = ("__weakref__",)


_classes: WeakValueDictionary[_Common, EquivalenceClass] = WeakValueDictionary()


def equivalence_class_of(pod: PodInfo) -> EquivalenceClass:
    """The one class of all pods that are like this one."""
    owners = pod.pod.metadata.owner_references
    controllers = tuple((owner.api_version, owner.kind, owner.name) for owner in owners if owner.controller)
    common = (pod.signature, pod.label_set, controllers)
    known = _classes.get(common)
    if known is None:
        known = _classes[common] = EquivalenceClass()
    return known
