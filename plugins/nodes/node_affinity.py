"""NodeAffinity: the node selector and node affinity of the pod, and affinity that the profile adds for all pods."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from muster.framework.authoring import PerSignature, normalize_to_highest
from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Handle,
    Hint,
    NodeView,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    Scores,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.arguments import NodeAffinityArgs
from muster.framework.contract.columns import admitted, worth
from muster.framework.model.node import Node
from muster.framework.model.node_selector import NodeRequirement, usable
from muster.framework.model.pod import NodeAffinity
from muster.framework.model.pod_info import PodInfo

from .affinity import NO_AFFINITY, affinity_of, has_affinity, preferences_of

UNMATCHED = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = Status.unresolvable("pod affinity terms conflict")


class NodeAffinityPlugin(
    PreFilterPlugin[NodeAffinityArgs],
    FilterPlugin[NodeAffinityArgs],
    PreScorePlugin[NodeAffinityArgs],
    ScorePlugin[NodeAffinityArgs],
    EnqueueExtensions[NodeAffinityArgs],
):
    """Filters by required terms, scores by the weights of the preferred terms that match."""

    name = "NodeAffinity"
    args_model = NodeAffinityArgs
    filter_depends_on = DependsOn.NODE
    score_depends_on = DependsOn.NODE

    _table = StatusTable([UNMATCHED, NOT_ENFORCED])

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        added = _added(args)
        required = added.required_during_scheduling_ignored_during_execution
        self._enforced = None if required is None else NodeRequirement({}, usable(required.node_selector_terms))
        self._enforced_preferences = preferences_of(added.preferred_during_scheduling_ignored_during_execution)
        self._affinities = PerSignature(affinity_of)

    def concerns(self, pod: PodInfo) -> bool:
        """Pods that say nothing of nodes go anywhere, unless the profile says otherwise.

        What they say is not read here: of a pod that says too much `PodLimits` is to turn it away first.
        """
        return has_affinity(pod) or self._enforced is not None or bool(self._enforced_preferences)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
        """The only nodes that can pass, when every term names nodes by `metadata.name`."""
        affinity = self._affinities.of(pod)
        if affinity.required is None and self._enforced is None:
            return Status.skip()
        if affinity.node_names is None:
            return None
        return PreFilterResult(affinity.node_names) if affinity.node_names else CONFLICT

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Check the affinity that the profile enforces first."""
        required = self._affinities.of(pod).required
        codes = np.zeros(len(nodes), np.int32)
        if required is not None:
            codes[~admitted(required, nodes)] = self._table.number(UNMATCHED)
        if self._enforced is not None:
            codes[~admitted(self._enforced, nodes)] = self._table.number(NOT_ENFORCED)
        return Verdicts(codes, self._table)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods without preferences."""
        affinity = self._affinities.of(pod)
        if affinity.fault:
            return Status.failure(affinity.fault)
        return None if affinity.preferences or self._enforced_preferences else Status.skip()

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """The weights of all preferred terms that pick the node, the profile's and the pod's."""
        return worth(self._enforced_preferences, nodes) + worth(self._affinities.of(pod).preferences, nodes)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """100 for the highest sum."""
        return normalize_to_highest(scores)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Nodes that come to be what the pod requires."""
        event = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return [EventRegistration(event, self._came_to_match, by_signature=True)]

    def _came_to_match(self, pod: PodInfo, old: object, new: object) -> Hint:
        required = self._affinities.of(pod).required or NodeRequirement({}, None)
        enforced = self._enforced or NodeRequirement({}, None)
        if not isinstance(new, Node) or not (enforced.admits(new) and required.admits(new)):
            return Hint.SKIP
        return Hint.SKIP if isinstance(old, Node) and required.admits(old) else Hint.QUEUE


def _added(args: NodeAffinityArgs) -> NodeAffinity:
    added = args.added_affinity
    return msgspec.convert(added, NodeAffinity) if added else NO_AFFINITY
