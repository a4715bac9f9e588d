"""The whole of a decision, for users and for comparison: every node's rejection and every score.

`muster explain` and the simulator call it. It decides through the same `Algorithm` as the scheduling cycle, and changes
nothing. The caller asks extenders first, about all feasible nodes, as a scheduler does that scores all of them, and
passes their answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..contract.decision import Evictions
from ..contract.extender import EXTENDER, Extender
from ..contract.plugin import PreBindPlugin
from ..contract.status import Status
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..runtime.attempt_state import AttemptState
from ..runtime.consultation import Consultation
from ..runtime.framework import Framework
from .algorithm import Algorithm, Feasible
from .extenders import consult, interested, process_preemption
from .ports import first_of_equals


@dataclass(frozen=True, slots=True)
class Explanation:
    """The result that a pod's attempt would have right now.

    Attributes:
        feasible: names of all nodes that pass every filter, sorted, even if the scheduler would check only some nodes.
        rejected: the first rejection of each other node; empty if PreFilter rejected the pod.
        scores: feasible node to plugin to score, normalised and weighted.
        totals: feasible node to the sum.
        prefilter: PreFilter's rejection of the pod as a whole.
        message: the FailedScheduling text when no node is feasible, else "".
        chosen: the node that the pod would go to, or "".
        planned: what PreBind would write on the best node (of equals the first by name), as the plugins describe it.
        evictions: the pods that preemption would evict for the pod, and where, if that gives it capacity.
    """

    feasible: tuple[str, ...] = ()
    rejected: Mapping[str, Status] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    prefilter: Status | None = None
    message: str = ""
    chosen: str = ""
    planned: Mapping[str, Any] = field(default_factory=dict)
    evictions: Evictions | None = None

    def ranked(self) -> list[str]:
        """The nodes that were scored, the best first; of equals the chosen one, then by name."""
        return sorted(self.totals, key=lambda name: (-self.totals[name], name != self.chosen, name))


async def explain_with(extenders: Sequence[Extender], algorithm: Algorithm, pod: PodInfo) -> Explanation:
    """`explain`, after extenders have answered."""
    consultation = await heard(extenders, algorithm, pod)
    explanation = explain(algorithm, pod, consultation)
    while consultation is not None and consultation.preemption is not None and consultation.evictions is None:
        consultation.evictions = await process_preemption(extenders, pod, consultation.preemption)
        explanation = explain(algorithm, pod, consultation)
    return explanation


async def heard(extenders: Sequence[Extender], algorithm: Algorithm, pod: PodInfo) -> Consultation | None:
    """The extenders' answers about all nodes that fit the pod now; None if none is interested in it."""
    concerned = interested(extenders, pod)
    if not concerned:
        return None
    found = algorithm.find_to_the_end(AttemptState(), pod, nominated_first=False)
    rows = found.rows if found.filtered is None or found.status is not None else found.filtered.feasible
    nodes = frozenset(algorithm.snapshot.names_of(rows))
    consultation = Consultation(nominated_first=False, consulted_nodes=nodes)
    await consult(concerned, pod, consultation, SchedulerMetrics())
    return consultation


def explain(algorithm: Algorithm, pod: PodInfo, consultation: Consultation | None = None) -> Explanation:
    """Decide for `pod` and keep all results. Of equally good nodes, the first is chosen."""
    state, snapshot = AttemptState(), algorithm.snapshot
    state.consultation = consultation
    found = algorithm.find_to_the_end(state, pod, nominated_first=False)
    if found.status is not None:
        _, message = algorithm.post_filter(state, pod, found)
        evictions = state.get(Evictions.KEY)
        return Explanation(
            rejected=_rejections(algorithm, state, pod, found),
            prefilter=found.pre_filtered.status,
            message=message,
            evictions=evictions if isinstance(evictions, Evictions) else None,
        )
    rejected = _rejections(algorithm, state, pod, found)
    rows = found.rows if found.filtered is None or consultation is not None else found.filtered.feasible
    names = [snapshot.names[row] for row in rows.tolist()]
    nominated = algorithm.evaluate_nominated_node(state, pod)
    if nominated is not None and nominated[0] in rows:
        found.rows = nominated
    chosen = algorithm.select_host(state, pod, found, first_of_equals)
    if isinstance(chosen, Status):
        return Explanation(feasible=tuple(sorted(names)), rejected=rejected, message=chosen.message)
    scored = algorithm.prioritize_nodes(state, pod, rows)
    if isinstance(scored, Status):
        return Explanation(feasible=tuple(sorted(names)), rejected=rejected, message=scored.message)
    scores: dict[str, dict[str, int]] = {name: {} for name in names}
    for plugin, values in scored.by_plugin.items():
        for name, value in zip(names, values.tolist(), strict=True):
            scores[name][plugin] = value
    totals = dict(zip(names, scored.totals.tolist(), strict=True))
    return Explanation(
        feasible=tuple(sorted(names)),
        rejected=rejected,
        scores=scores,
        totals=totals,
        chosen=snapshot.names[chosen],
        planned=_planned(algorithm.framework, state, pod, min(totals, key=lambda name: (-totals[name], name))),
    )


def _planned(framework: Framework, state: AttemptState, pod: PodInfo, node_name: str) -> dict[str, Any]:
    """The writes that plugins would make before the Bind, as they describe them."""
    planned: dict[str, Any] = {}
    for plugin in framework.plugins.pre_bind:
        if type(plugin).planned is not PreBindPlugin.planned:
            planned.update(framework.reserving.planned(plugin, state, pod, node_name))
    return planned


def _rejections(algorithm: Algorithm, state: AttemptState, pod: PodInfo, found: Feasible) -> dict[str, Status]:
    if found.filtered is None:
        return {}
    diagnosis = algorithm.diagnose(state, pod, found.pre_filtered, found.filtered)
    passing = {algorithm.snapshot.names[row] for row in found.filtered.feasible.tolist()}
    rejected = {name: status for name, status in diagnosis.statuses() if status is not None and name not in passing}
    consultation = state.consultation
    if consultation is not None and consultation.error is None:
        for name in sorted(consultation.consulted_nodes - consultation.node_names):
            rejected[name] = consultation.statuses.get(name, Status.unschedulable()).by(EXTENDER)
    return rejected
