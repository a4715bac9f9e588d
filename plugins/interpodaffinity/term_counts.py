"""Term counts: the affinity terms of a pod, and those of running pods about it, as questions to the tallies.

The plugin reads them whenever it is called about a pod; they are computed once for all pods of the same spec and
labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.framework.authoring import SignatureCache
from muster.framework.contract import PodInfo, SnapshotReader
from muster.framework.contract.columns import Domains, PodsMatching, TermsAbout
from muster.framework.model.affinity_terms import TermKind
from muster.framework.model.label_selector import LabelSet

from .namespaces import Namespaces

Added = tuple[tuple[TermKind, int], ...]
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Sought:
    """Pods to be near or apart from, by the domains of a key; `weight` is negative for preferred anti-affinity."""

    question: PodsMatching
    topology_key: str
    weight: int = 1

    def domains(self, snapshot: SnapshotReader) -> Domains:
        """The pods that the question is about, by domain."""
        return snapshot.relations.labels.tally(self.question).domains(snapshot, self.topology_key)


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """The counts for one pod.

    Attributes:
        near: for each term of required affinity, the pods that match all such terms, by its key.
        apart: for each term of required anti-affinity, the pods that match it.
        preferred: the same for each preferred term.
        first_will_do: whether the pod meets its own required affinity, so that the first of its kind gets a place.
        fault: why its terms cannot be read, in kube-scheduler's words, or "".
    """

    label_set: LabelSet
    namespace_labels: frozenset[tuple[str, str]]
    near: tuple[Sought, ...] = ()
    apart: tuple[Sought, ...] = ()
    preferred: tuple[Sought, ...] = ()
    first_will_do: bool = False
    fault: str = ""
    _about: dict[tuple[str, Added], TermsAbout] = field(default_factory=dict)

    def wanted_by(self, snapshot: SnapshotReader, keys: Iterable[str], added: Added) -> Iterable[tuple[str, Domains]]:
        """By topology key, the terms of running pods about this pod, summed by domain; `added` describes the sums."""
        for key in keys:
            question = self._about.get((key, added))
            if question is None:
                question = self._about[key, added] = TermsAbout(self.label_set, self.namespace_labels, key, added)
            yield key, snapshot.relations.terms.tally(question).domains(snapshot, key)


class TermCountsCache:
    """Computes term counts and keeps them."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._known: SignatureCache[tuple[int, TermCounts]] = SignatureCache(_REMEMBERED)

    def of(self, pod: PodInfo) -> TermCounts:
        """The pod's term counts, by the labels that namespaces have now."""
        epoch = self._namespaces.epoch
        known = self._known.get(pod.signature, pod.label_set)
        if known is None or known[0] != epoch:
            known = (epoch, self._work_out(pod))
            self._known.put(pod.signature, pod.label_set, known)
        return known[1]

    def _work_out(self, pod: PodInfo) -> TermCounts:
        terms, clause = pod.terms, self._namespaces.clause
        together = tuple(clause(term) for term in terms.required)
        all_of_them = PodsMatching(together, terminating=True)
        return TermCounts(
            label_set=pod.label_set,
            namespace_labels=frozenset(self._namespaces.labels(pod.namespace).items()),
            near=tuple(Sought(all_of_them, term.topology_key) for term in terms.required),
            apart=tuple(
                Sought(PodsMatching((clause(term),), terminating=True), term.topology_key)
                for term in terms.required_apart
            ),
            preferred=tuple(
                Sought(
                    PodsMatching((clause(each.term),), terminating=True),
                    each.term.topology_key,
                    each.weight if each.kind is TermKind.PREFERRED else -each.weight,
                )
                for each in terms.preferred
            ),
            first_will_do=all(each.picks(pod.label_set) for each in together),
            fault=terms.fault,
        )
