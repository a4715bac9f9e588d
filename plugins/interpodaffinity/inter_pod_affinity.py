"""InterPodAffinity: pods go near the pods they want and away from those they do not want, or that do not want them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.framework.config.args import InterPodAffinityArgs
from muster.framework.contract import (
    MAX_NODE_SCORE,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    FilterPlugin,
    Handle,
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
from muster.framework.contract.verdicts import Mask
from muster.framework.model.affinity_terms import Wish
from muster.framework.snapshot.domains import Domains
from muster.framework.snapshot.labels import ABSENT

from .hints import Hints
from .namespaces import NAMESPACES, Namespaces
from .outlook import Added, Outlook, Outlooks

NOT_NEAR = Status.unresolvable("node(s) didn't match pod affinity rules")
NOT_APART = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
NOT_WANTED = Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

_KEPT_APART: Added = ((Wish.REQUIRED_APART, 1),)


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
    args_model = InterPodAffinityArgs
    watches = (NAMESPACES,)

    _table = StatusTable([NOT_NEAR, NOT_APART, NOT_WANTED])

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._namespaces = Namespaces()
        self._outlooks = Outlooks(self._namespaces)
        weights = (Wish.REQUIRED, args.hard_pod_affinity_weight), (Wish.PREFERRED, 1), (Wish.PREFERRED_APART, -1)
        self._attracted: Added = tuple((wish, weight) for wish, weight in weights if weight)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods that require nothing and that nobody keeps away."""
        outlook = self._outlooks.of(pod)
        if outlook.fault:
            return Status.unresolvable(f"parsing pod: {outlook.fault}")
        if outlook.near or outlook.apart:
            return None
        kept_apart = any(domains.sums.any() for _, domains in _kept_apart(outlook, nodes.snapshot))
        return None if kept_apart else Status.skip()

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """The pod's own affinity speaks first, then its anti-affinity, then that of running pods."""
        outlook, snapshot = self._outlooks.of(pod), nodes.snapshot
        codes = np.zeros(len(nodes), np.int32)
        for _, domains in _kept_apart(outlook, snapshot):
            codes[(domains.sums > 0)[nodes.of(domains.ids)]] = self._table.number(NOT_WANTED)
        for sought in outlook.apart:
            domains = sought.domains(snapshot)
            codes[(domains.sums > 0)[nodes.of(domains.ids)]] = self._table.number(NOT_APART)
        if outlook.near:
            codes[~_near_enough(outlook, nodes)] = self._table.number(NOT_NEAR)
        return Verdicts(codes, self._table)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Adds up the weights by domain; skips where there are none."""
        outlook, snapshot = self._outlooks.of(pod), nodes.snapshot
        if outlook.fault:
            return Status.failure(f"failed to parse pod: {outlook.fault}")
        if self.args.ignore_preferred_terms_of_existing_pods and not outlook.preferred:
            return Status.skip()
        weights: dict[str, Scores] = {}
        for sought in outlook.preferred:
            sums = sought.weight * sought.domains(snapshot).sums
            weights[sought.topology_key] = weights.get(sought.topology_key, 0) + sums
        keys = snapshot.relations.topology_keys(*(wish for wish, _ in self._attracted))
        for key, domains in outlook.wanted_by(snapshot, keys, self._attracted):
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
            scores += sums[nodes.of(nodes.snapshot.labels.column(key).ids)]
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
        return Hints(self._namespaces).registrations()

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """A namespace got other labels."""
        self._namespaces.follow(old, new)


def _kept_apart(outlook: Outlook, snapshot: SnapshotReader) -> Sequence[tuple[str, Domains]]:
    keys = snapshot.relations.topology_keys(Wish.REQUIRED_APART)
    return tuple(outlook.wanted_by(snapshot, keys, _KEPT_APART)) if keys else ()


def _near_enough(outlook: Outlook, nodes: NodeView) -> Mask:
    """bool, shape (nodes,): nodes in a domain of each key that has a pod which matches every term.

    Where there is no such pod in any domain, a pod that matches its own terms may be the first.
    """
    found = np.ones(len(nodes), np.bool_)
    placed = np.ones(len(nodes), np.bool_)
    nobody = True
    for sought in outlook.near:
        domains = sought.domains(nodes.snapshot)
        ids = nodes.of(domains.ids)
        placed &= ids != ABSENT
        found &= (domains.sums > 0)[ids]
        nobody = nobody and not domains.sums.any()
    return placed if nobody and outlook.first_will_do else placed & found
