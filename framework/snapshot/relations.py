"""Relations between pods: tallies over the labels of the running pods, and over their terms.

The snapshot updates them; PodTopologySpread and InterPodAffinity read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..model.affinity_terms import CarriedTerm, TermKind
from ..model.label_selector import LabelSet, Selector
from ..model.pod_info import PodInfo
from .tallies import ANY, Tallies

VERY_MANY: Hashable = "very many labels"
"""The key of pods that have more labels than this. A selector that goes by labels may pick them, too."""
_MOST_LABELS = 1000


@dataclass(frozen=True)
class Clause:
    """Pods with labels that the selector picks, in some namespaces; None stands for all of them."""

    namespaces: frozenset[str] | None
    selector: Selector

    def picks(self, label_set: LabelSet) -> bool:
        """Whether it picks pods with these labels."""
        within = self.namespaces is None or label_set.namespace in self.namespaces
        return within and self.selector.picks(label_set.labels)


@dataclass(frozen=True)
class PodsMatching:
    """Asks how many pods match every clause; pods that are being deleted only where `terminating`."""

    clauses: tuple[Clause, ...]
    terminating: bool

    @cached_property
    def keys(self) -> Collection[Hashable]:
        """Labels of which each pod that matches has one, unless it has very many."""
        anchors = [clause.selector.anchors for clause in self.clauses]
        fewest = min((each for each in anchors if each is not None), key=len, default=None)
        return (ANY,) if fewest is None else (*fewest, VERY_MANY)

    def weigh(self, trait: LabelSet) -> int:
        """1 for a match."""
        counted = self.terminating or not trait.terminating
        return int(counted and all(clause.picks(trait) for clause in self.clauses))

    @cached_property
    def _hash(self) -> int:
        return hash((self.clauses, self.terminating))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class TermsAbout:
    """Asks for the terms, with one topology key, that are about a pod with these labels, and sums what each adds.

    Attributes:
        label_set: the pod's namespace and labels.
        namespace_labels: the labels of its namespace.
        added: what each term of a kind adds for each unit of its weight, 0 for nothing; required terms have weight 1.
    """

    label_set: LabelSet
    namespace_labels: frozenset[tuple[str, str]]
    topology_key: str
    added: tuple[tuple[TermKind, int], ...]

    @property
    def keys(self) -> Iterable[Hashable]:
        """The pod's labels."""
        return _keys_of_labels(self.label_set)

    def weigh(self, trait: CarriedTerm) -> int:
        """The weight that a pod with the term adds."""
        factor = self._factors.get(trait.kind, 0)
        term = trait.term
        if not factor or term.topology_key != self.topology_key:
            return 0
        picked = term.picks(self.label_set.namespace, self.label_set.labels, self._namespace_labels)
        weight = trait.weight if trait.kind in (TermKind.PREFERRED, TermKind.PREFERRED_APART) else 1
        return factor * weight if picked else 0

    @cached_property
    def _factors(self) -> Mapping[TermKind, int]:
        return dict(self.added)

    @cached_property
    def _namespace_labels(self) -> Mapping[str, str]:
        return dict(self.namespace_labels)

    @cached_property
    def _hash(self) -> int:
        return hash((self.label_set, self.namespace_labels, self.topology_key, self.added))

    def __hash__(self) -> int:
        return self._hash


class PodRelations:
    """All tallies over pods.

    Attributes:
        labels: how pods are labelled.
        terms: which terms they carry.
    """

    __slots__ = ("_keys", "labels", "terms")

    def __init__(self, capacity: int) -> None:
        self.labels: Tallies[LabelSet] = Tallies(capacity, keys_of=_keys_of_labels)
        self.terms: Tallies[CarriedTerm] = Tallies(capacity, keys_of=_keys_of_term)
        self._keys: Mapping[TermKind, Counter[str]] = {kind: Counter() for kind in TermKind}

    def add(self, info: PodInfo, row: int) -> None:
        """The pod is now on `row`."""
        self.labels.add(info.label_set, row)
        for carried in info.terms.carried:
            self.terms.add(carried, row)
            self._keys[carried.kind][carried.term.topology_key] += 1

    def remove(self, info: PodInfo, row: int) -> None:
        """The pod is no longer on `row`."""
        self.labels.remove(info.label_set, row)
        for carried in info.terms.carried:
            self.terms.remove(carried, row)
            keys, key = self._keys[carried.kind], carried.term.topology_key
            keys[key] -= 1
            if not keys[key]:
                del keys[key]

    def relabel(self, before: PodInfo, after: PodInfo, row: int) -> None:
        """The pod on `row` has the labels and deletion mark of `after` now."""
        if before.label_set is not after.label_set:
            self.labels.remove(before.label_set, row)
            self.labels.add(after.label_set, row)

    def topology_keys(self, *kinds: TermKind) -> Collection[str]:
        """The topology keys of all terms of these kinds that running pods carry."""
        if len(kinds) == 1:
            return self._keys[kinds[0]].keys()
        return dict.fromkeys(key for kind in kinds for key in self._keys[kind])

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        self.labels.grow(capacity)
        self.terms.grow(capacity)


def _keys_of_labels(label_set: LabelSet) -> Iterable[Hashable]:
    """The keys by which pods with these labels are found. Very many labels share one key, which saves time."""
    few = len(label_set.labels) <= _MOST_LABELS
    return (*label_set.labels.items(), ANY) if few else (VERY_MANY, ANY)


def _keys_of_term(carried: CarriedTerm) -> Iterable[Hashable]:
    anchors = carried.term.selector.anchors
    return (ANY,) if anchors is None else (*anchors, VERY_MANY)
