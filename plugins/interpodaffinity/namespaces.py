"""Namespaces by their labels, for affinity terms that select them so. The plugin feeds it."""

from __future__ import annotations

from collections.abc import Mapping

from muster.framework.contract import EventResource, WatchedKind
from muster.framework.contract.columns import Clause
from muster.framework.model.affinity_terms import AffinityTerm
from muster.framework.model.label_selector import NOTHING
from muster.framework.model.workloads import Namespace

NAMESPACES = WatchedKind(EventResource.NAMESPACE, "/api/v1/namespaces", Namespace)


class Namespaces:
    """Labels of all namespaces.

    Attributes:
        epoch: grows whenever labels changed.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._labels: dict[str, Mapping[str, str]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace, none for one that is not known."""
        return self._labels.get(name, {})

    def clause(self, term: AffinityTerm) -> Clause:
        """The pods that the term picks, with its namespaces by name."""
        if term.everywhere:
            return Clause(None, term.selector)
        if term.namespace_selector is NOTHING:
            return Clause(term.namespaces, term.selector)
        picked = {name for name, labels in self._labels.items() if term.namespace_selector.picks(labels)}
        return Clause(term.namespaces | picked, term.selector)

    def follow(self, old: object | None, new: object | None) -> None:
        """A namespace came (`old` is None), changed, or went (`new` is None)."""
        if isinstance(old, Namespace) and isinstance(new, Namespace) and old.metadata.labels == new.metadata.labels:
            return
        self.epoch += 1
        if isinstance(old, Namespace):
            self._labels.pop(old.metadata.name, None)
        if isinstance(new, Namespace):
            self._labels[new.metadata.name] = new.metadata.labels
