"""Label sets: the namespace and labels of pods, one object for all pods that have the same.

`PodInfo` asks for them. Replicas share their labels, so whatever is worked out per label set is worked out once for
thousands of pods.
"""

from __future__ import annotations

from weakref import WeakValueDictionary


class LabelSet:
    """What selectors and affinity terms look at in a pod. Identity is equality.

    Attributes:
        namespace: the pods' namespace.
        labels: their labels. Not to be written to.
        terminating: whether the pods are being deleted: spreading does not count them, affinity does.
    """

    __slots__ = ("__weakref__", "labels", "namespace", "terminating")

    def __init__(self, namespace: str, labels: dict[str, str], terminating: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.terminating = terminating

    def __repr__(self) -> str:
        return f"LabelSet({self.namespace}, {dict(self.labels)}{', terminating' if self.terminating else ''})"


_sets: WeakValueDictionary[tuple[str, bool, frozenset[tuple[str, str]]], LabelSet] = WeakValueDictionary()


def label_set_of(namespace: str, labels: dict[str, str], *, terminating: bool = False) -> LabelSet:
    """The one LabelSet of all pods that have these labels in this namespace."""
    key = (namespace, terminating, frozenset(labels.items()))
    known = _sets.get(key)
    if known is None:
        known = _sets[key] = LabelSet(namespace, labels, terminating)
    return known
