"""InterPodAffinity: places pods near the pods that they have affinity to, and away from pods with anti-affinity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from muster.framework.contract import (
    MAX_NODE_SCORE,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    FilterPlugin,
    Handle,
    Mask,
    NodeView,
    ObjectFollower,
    PodInfo,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Scores,
    SnapshotReader,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.arguments import InterPodAffinityArgs
from muster.framework.contract.columns import ABSENT, Domains
from muster.framework.model.affinity_terms import TermKind

from .hints import AffinityHints
from .namespaces import NAMESPACES, Namespaces
from .term_counts import Added, TermCounts, TermCountsCache

NOT_NEAR = Status.unresolvable("node(s) didn't match pod affinity rules")
NOT_APART = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
NOT_WANTED = Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

_NOT_WANTED, _NOT_APART, _NOT_NEAR = np.array([1, 2, 3], np.int32)
"""Their numbers. Of several that apply to a node, the greatest speaks."""

_KEPT_APART: Added = ((TermKind.REQUIRED_APART, 1),)


class InterPodAffinity(
    PreFilterPlugin[InterPodAffinityArgs],
    FilterPlugin[InterPodAffinityArgs],
    PreScorePlugin[InterPodAffinityArgs],
    ScorePlugin[InterPodAffinityArgs],
    EnqueueExtensions[InterPodAffinityArgs],
    ObjectFollower[InterPodAffinityArgs],
):
    """Filters by required terms of both sides, scores by preferred ones and by the affinity of running pods.

    The sums that it goes by follow every pod that is tried in a trial.
    """

    name = "InterPodAffinity"
    rejects_alike = True
    args_model = InterPodAffinityArgs
    watches = (NAMESPACES,)

    _table = StatusTable([NOT_WANTED, NOT_APART, NOT_NEAR])

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._namespaces = Namespaces()
        self._terms = TermCountsCache(self._namespaces)
        weights = (
            (TermKind.REQUIRED, args.hard_pod_affinity_weight),
            (TermKind.PREFERRED, 1),
            (TermKind.PREFERRED_APART, -1),
        )
        self._attracted: Added = tuple((kind, weight) for kind, weight in weights if weight)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods without required terms that no anti-affinity of a running pod matches."""
        terms = self._terms.of(pod)
        if terms.fault:
            return Status.unresolvable(f"parsing pod: {terms.fault}")
        if terms.near or terms.apart:
            return None
        kept_apart = any(domains.sums.any() for _, domains in _kept_apart(terms, nodes.snapshot))
        return None if kept_apart else Status.skip()

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """The pod's own affinity speaks first, then its anti-affinity, then that of running pods."""
        terms, snapshot = self._terms.of(pod), nodes.snapshot
        by_key: dict[str, npt.NDArray[np.int32]] = {}
        for key, domains in _kept_apart(terms, snapshot):
            _raise_to(by_key, key, (domains.sums > 0) * _NOT_WANTED)
        for sought in terms.apart:
            _raise_to(by_key, sought.topology_key, (sought.domains(snapshot).sums > 0) * _NOT_APART)
        for key, near_enough in _near_enough(terms, snapshot):
            _raise_to(by_key, key, ~near_enough * _NOT_NEAR)
        codes = np.zeros(len(nodes), np.int32)
        for index, (key, by_domain) in enumerate(by_key.items()):
            found = by_domain.take(nodes.of(snapshot.labels.column(key).ids))
            codes = found if index == 0 else np.maximum(codes, found)
        return Verdicts(codes, self._table)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Adds up the weights by domain; skips where there are none."""
        terms, snapshot = self._terms.of(pod), nodes.snapshot
        if terms.fault:
            return Status.failure(f"failed to parse pod: {terms.fault}")
        if self.args.ignore_preferred_terms_of_existing_pods and not terms.preferred:
            return Status.skip()
        weights: dict[str, Scores] = {}
        for sought in terms.preferred:
            sums = sought.weight * sought.domains(snapshot).sums
            weights[sought.topology_key] = weights.get(sought.topology_key, 0) + sums
        keys = snapshot.relations.topology_keys(*(kind for kind, _ in self._attracted))
        for key, domains in terms.wanted_by(snapshot, keys, self._attracted):
            weights[key] = weights.get(key, 0) + domains.sums
        weights = {key: sums for key, sums in weights.items() if sums.any()}
        if not weights:
            return Status.skip()
        state.write(self.name, weights)
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """The sum of the weights of a node's domains."""
        scores = np.zeros(len(nodes), np.int64)
        weights = state.get(self.name)
        for key, sums in weights.items() if isinstance(weights, dict) else ():
            scores += sums.take(nodes.of(nodes.snapshot.labels.column(key).ids))
        return scores

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """0 for the least, 100 for the most, 0 for all where they are equal."""
        least, most = int(scores.min()), int(scores.max())
        if most == least:
            return np.zeros(len(scores), np.int64)
        scaled: Scores = (MAX_NODE_SCORE * ((scores - least) / (most - least))).astype(np.int64)
        return scaled

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Pods that the pod's terms pick, or whose terms pick it, its own labels, and nodes with the keys."""
        return AffinityHints(self._namespaces).registrations()

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """A namespace got other labels."""
        self._namespaces.follow(old, new)


def _kept_apart(terms: TermCounts, snapshot: SnapshotReader) -> Sequence[tuple[str, Domains]]:
    keys = snapshot.relations.topology_keys(TermKind.REQUIRED_APART)
    return tuple(terms.wanted_by(snapshot, keys, _KEPT_APART)) if keys else ()


def _raise_to(by_key: dict[str, npt.NDArray[np.int32]], key: str, codes: npt.NDArray[np.int32]) -> None:
    """Let the domains of a key say what `codes` say where that goes before what they say."""
    before = by_key.get(key)
    by_key[key] = codes if before is None else np.maximum(before, codes)


def _near_enough(terms: TermCounts, snapshot: SnapshotReader) -> Iterator[tuple[str, Mask]]:
    """For each term, by its key: bool, shape (values,), the domains with a pod that matches all terms.

    Where there is no such pod in any domain of any key, a pod that matches its own terms may be the first, in each.
    """
    found = [(sought.topology_key, sought.domains(snapshot).sums > 0) for sought in terms.near]
    first = terms.first_will_do and not any(domains.any() for _, domains in found)
    for key, domains in found:
        if first:
            domains[:] = True
        domains[ABSENT] = False
        yield key, domains
