"""Parsed terms of inter-pod affinity: which pods they select, and over which domains.

A pod's terms follow from its spec and namespace, so pods of one signature and namespace share them. Keys to match or
mismatch are not read here: the API server has merged them into the label selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from .label_selector import EVERYTHING, Selector, SelectorError, joined, read_selector
from .pod import Affinity
from .pod_relations import PodAffinity, PodAffinityTerm

MOST_TERMS = 256
"""Terms of a pod that are read. A pod with more is not scheduled (see PodLimits), but may have been bound by hand.
Every other pod would have to be matched against each of its terms; those past the limit have no effect."""


class TermKind(Enum):
    """The kind of a term."""

    REQUIRED = "required affinity"
    REQUIRED_APART = "required anti-affinity"
    PREFERRED = "preferred affinity"
    PREFERRED_APART = "preferred anti-affinity"


@dataclass(frozen=True)
class AffinityTerm:
    """Pods that a term picks, and the node label that makes up the domains.

    Attributes:
        namespaces: namespaces in which it picks pods, besides those that `namespace_selector` picks.
    """

    namespaces: frozenset[str]
    selector: Selector
    namespace_selector: Selector
    topology_key: str

    def picks(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether it picks a pod with these labels in this namespace, which has labels of its own."""
        if not self.selector.picks(labels):
            return False
        return namespace in self.namespaces or self.namespace_selector.picks(namespace_labels)

    @property
    def everywhere(self) -> bool:
        """Whether it picks pods of all namespaces."""
        return self.namespace_selector == EVERYTHING


@dataclass(frozen=True)
class CarriedTerm:
    """A term as carried by pods that run: `weight` counts for preferences, 0 where the term is required."""

    kind: TermKind
    term: AffinityTerm
    weight: int = 0

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, self.term, self.weight))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class PodTerms:
    """All terms of a pod.

    Attributes:
        fault: why some of them cannot be read, in kube-scheduler's words, or "". A kind with such a term has none.
    """

    carried: tuple[CarriedTerm, ...] = ()
    fault: str = ""

    def of(self, kind: TermKind) -> tuple[CarriedTerm, ...]:
        """The terms of one kind."""
        return self._by_kind[kind]

    @cached_property
    def _by_kind(self) -> Mapping[TermKind, tuple[CarriedTerm, ...]]:
        return {kind: tuple(each for each in self.carried if each.kind is kind) for kind in TermKind}

    @cached_property
    def required(self) -> tuple[AffinityTerm, ...]:
        """Terms of required affinity."""
        return tuple(each.term for each in self.of(TermKind.REQUIRED))

    @cached_property
    def required_apart(self) -> tuple[AffinityTerm, ...]:
        """Terms of required anti-affinity."""
        return tuple(each.term for each in self.of(TermKind.REQUIRED_APART))

    @property
    def preferred(self) -> tuple[CarriedTerm, ...]:
        """Terms of preferred affinity and anti-affinity."""
        return self.of(TermKind.PREFERRED) + self.of(TermKind.PREFERRED_APART)


NO_TERMS = PodTerms()


def pod_terms(affinity: Affinity | None, namespace: str) -> PodTerms:
    """The terms of a pod with this affinity in this namespace."""
    if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
        return NO_TERMS
    near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    carried: list[CarriedTerm] = []
    faults: list[str] = []
    left = MOST_TERMS
    for kind, name, terms in (
        (TermKind.REQUIRED, "requiredAffinityTerms", _required(near)),
        (TermKind.REQUIRED_APART, "requiredAntiAffinityTerms", _required(apart)),
        (TermKind.PREFERRED, "preferredAffinityTerms", _preferred(near)),
        (TermKind.PREFERRED_APART, "preferredAntiAffinityTerms", _preferred(apart)),
    ):
        terms, left = terms[:left], max(0, left - len(terms))
        try:
            carried += [CarriedTerm(kind, _read(term, namespace), weight) for weight, term in terms]
        except SelectorError as error:
            faults.append(f"{name}: {error}")
    return PodTerms(tuple(carried), joined(faults) if faults else "")


def _required(affinity: PodAffinity) -> list[tuple[int, PodAffinityTerm]]:
    return [(0, term) for term in affinity.required_during_scheduling_ignored_during_execution]


def _preferred(affinity: PodAffinity) -> list[tuple[int, PodAffinityTerm]]:
    weighted = affinity.preferred_during_scheduling_ignored_during_execution
    return [(each.weight, each.pod_affinity_term) for each in weighted]


def _read(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        namespaces=frozenset({namespace} if own else term.namespaces),
        selector=read_selector(term.label_selector),
        namespace_selector=read_selector(term.namespace_selector),
        topology_key=term.topology_key,
    )
