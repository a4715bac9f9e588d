"""The handle of plugins that try what happens if pods are removed or added: trials, Filters, extenders, disruptions.

The engine gives it to every `PreemptionPlugin`; all other plugins get a `ProfileHandle`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..contract.cycle_state import CycleState, Unfinished
from ..contract.eviction import EvictionRule
from ..contract.extender import Victims
from ..contract.group_preemption import DisruptionUnit
from ..contract.status import Status
from ..contract.verdicts import Diagnosis, Mask
from ..model.pod_info import PodInfo
from ..runtime.attempt_state import AttemptState
from ..runtime.consultation import Consultation, PreemptionQuestion
from ..runtime.framework import Framework
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView
from .disruption import DisruptionUnits
from .evictions import EvictionRules
from .profile_handle import ProfileHandle

_NOT_FOR_GROUPS = "extenders are not asked whom a member of a group may evict"


@dataclass(frozen=True, slots=True)
class PreemptionProfileHandle(ProfileHandle):
    """Implements `contract.handle.PreemptionHandle` for one profile."""

    units: DisruptionUnits
    rules: EvictionRules

    @contextmanager
    def trial(self) -> Iterator[PodTrial]:
        """Add pods to nodes and remove them within a `with` block; its end undoes everything."""
        with self.snapshot.trial():
            yield PodTrial(self.framework, self.snapshot)

    def run_filter_plugins_with_nominated_pods(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, without: Collection[str] = ()
    ) -> Diagnosis:
        """Run the profile's Filter plugins on `nodes` in the state of the surrounding trials. Raises Unfinished."""
        diagnosis = self.framework.filtering.run_with_nominated_pods(_skipping(state, without), pod, nodes)
        if state.long_work.left is not None:
            raise Unfinished("a Filter plugin has not come to an end")
        return diagnosis

    def work_out(self, state: CycleState, pod: PodInfo) -> None:
        """Do the long work that a Filter plugin has left."""
        self.framework.filtering.finish_long_work(AttemptState.of(state), pod)

    def filters_depend_on_cluster(self, state: CycleState) -> bool:
        """Whether a Filter plugin that applies to the pod reads pods beyond each node."""
        return self.framework.filtering.depends_on_cluster(AttemptState.of(state))

    def verdicts_are_kept(self, state: CycleState, *, without: Collection[str] = ()) -> bool:
        """Whether verdicts about the pod hold while a node, the pods on it and `filter_epoch` are the same."""
        return self.framework.filtering.verdicts_are_kept(_skipping(state, without))

    def filter_epoch(self, state: CycleState) -> Hashable:
        """A value that changes with everything on which Filter plugins depend besides the pod and each node."""
        own = AttemptState.of(state)
        return (*self.framework.filtering.kept(own),), self.framework.filtering.epoch(own)

    def accepting_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        """Which nodes are accepted, also without any pods on them, by all plugins whose verdicts may not be kept."""
        return self.framework.filtering.accepting_with_fewer_pods(AttemptState.of(state), pod, nodes)

    def disruption_unit(self, pod: PodInfo) -> DisruptionUnit | None:
        """Running pods that need this one, as plugins know them."""
        return self.units.of(pod)

    def disruption_epoch(self) -> Hashable:
        """A value that changes with all on which `disruption_unit` depends besides the pods that have nodes."""
        return self.units.epoch()

    def eviction_rule(self, members: Sequence[PodInfo], missing: int, priority: int, reason: str) -> EvictionRule:
        """Which pods may be evicted so that `missing` of these waiting pods are placed, and from when on."""
        return self.rules.of(members, missing, priority, reason=reason, profile=self.framework.name)

    def preempt(self, uid: str, plugin: str) -> bool:
        """Reject a pod that has a node but is not bound; whether that was possible."""
        return self.waiting_pods.preempt(uid, plugin)

    def nodes_asked_about(self, state: CycleState) -> Collection[str] | None:
        """The nodes whose evictions extenders were asked about in this attempt."""
        consultation = AttemptState.of(state).consultation
        question = None if consultation is None else consultation.preemption
        return None if question is None else question.victims.keys()

    def ask_extenders(
        self, state: CycleState, pod: PodInfo, victims: Mapping[str, Victims]
    ) -> Mapping[str, Victims] | Status | None:
        """The evictions that the extenders accept, by node; None while their answers are missing.

        An answer about a node counts only if the question named the same victims; otherwise extenders are asked again.
        """
        consultation = AttemptState.of(state).consultation
        if consultation is None or not any(
            extender.supports_preemption and extender.is_interested(pod) for extender in self.ports.extenders
        ):
            return victims
        if state.group:
            return Status.unschedulable(_NOT_FOR_GROUPS)
        question, answer = consultation.preemption, consultation.evictions
        if question is None:
            self._ask(consultation, victims)
            return consultation.evictions
        if answer is None or isinstance(answer, Status):
            return answer
        asked = {name: _uids(each) for name, each in question.victims.items()}
        left = {
            name: each for name, each in answer.items() if name in victims and _uids(victims[name]) == asked.get(name)
        }
        if left or not answer:
            return left
        consultation.evictions = None
        self._ask(consultation, victims)
        return None

    def _ask(self, consultation: Consultation, victims: Mapping[str, Victims]) -> None:
        pods = {name: self._pods_on(name) | {pod.uid: pod for pod in victims[name].pods} for name in victims}
        consultation.preemption = PreemptionQuestion(victims, pods)

    def _pods_on(self, node_name: str) -> dict[str, PodInfo]:
        row = self.snapshot.row_of(node_name)
        return {} if row is None else {pod.uid: pod for pod in self.snapshot.pods[row].values()}


def _uids(victims: Victims) -> set[str]:
    return {pod.uid for pod in victims.pods}


def _skipping(state: CycleState, without: Collection[str]) -> AttemptState:
    """The state for running all Filter plugins except these."""
    own = AttemptState.of(state)
    if not without:
        return own
    notes = own.clone()
    notes.skip_filter_plugins = own.skip_filter_plugins.union(without)
    return notes


@dataclass(frozen=True, slots=True)
class PodTrial:
    """Implements `contract.Trial`: changes of the snapshot under its undo log, passed to the PreFilterExtensions."""

    framework: Framework
    snapshot: Snapshot

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        """Count `added` on the node while `pod` is being decided."""
        self.snapshot.add_pod(added, node_name)
        return self.framework.filtering.add_pod(AttemptState.of(state), pod, added, node_name)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        """Remove `removed` from the node while `pod` is being decided."""
        self.snapshot.remove_pod(removed, node_name)
        return self.framework.filtering.remove_pod(AttemptState.of(state), pod, removed, node_name)
