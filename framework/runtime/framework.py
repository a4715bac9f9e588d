"""The framework: runs one profile's plugins, point by point, and adds up what they say.

The cycles call its `run_…` methods, which are named and behave as those of kube-scheduler's frameworkImpl. Every call
of a plugin goes through `PluginCalls`: nothing that a plugin does wrong gets past here as anything but an ERROR status.
Deciding (everything up to Score) changes nothing but what is remembered to answer faster.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config import ResolvedProfile
from ..contract.decision import GroupDecision, PodDecision
from ..contract.events import EventRegistration
from ..contract.group import GroupPlugin
from ..contract.handle import Clock, Handle
from ..contract.plugin import Plugin, PreBindPlugin, ReservePlugin, Wait
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..snapshot.partitions import Partition
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from ..work import checkpoint
from . import points
from .answers import Failed, by_topic, error_in, not_cleared
from .attempt_state import AttemptState
from .concerned import ConcernedPlugins
from .filtering import Filtering
from .group_calls import ProfileGroups
from .nominator import PodNominator
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins, Registry
from .pre_filtering import PreFiltering
from .results import Filtered, PreFiltered, Scored
from .results_cache import ResultsCache
from .scoring import Scoring
from .waiting import HeldPod, HeldPods, PermitWait
from .watch import CallWatch, MembersSubject

ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


class Framework:
    """One profile at work.

    Attributes:
        name: the schedulerName it answers to.
        plugins: the plugins by extension point.
        percentage_of_nodes_to_score: None for all nodes; 0 for kube-scheduler's adaptive share; else per cent.
        calls: of its plugins.
        groups: what its plugins say of groups.
        registrations: events by name of each plugin that may reject a pod, with guarded hints.
    """

    def __init__(
        self,
        resolved: ResolvedProfile,
        registry: Registry,
        handle: Callable[[Framework, type[Plugin]], Handle],
        *,
        snapshot: Snapshot,
        nominator: PodNominator,
        waiting: HeldPods,
        clock: Clock,
        metrics: SchedulerMetrics,
        watch: CallWatch,
    ) -> None:
        """`handle` makes what a plugin of a class gets, for this framework.

        Raises ConfigurationError when a plugin cannot be made.
        """
        self.name = resolved.scheduler_name
        self.plugins = ProfilePlugins(resolved, registry, partial(handle, self))
        self.percentage_of_nodes_to_score = resolved.percentage_of_nodes_to_score
        self._waiting = waiting
        self._clock = clock
        self._metrics = metrics
        self.calls = self._calls = PluginCalls(self.name, clock.now, metrics, watch)
        self.registrations = self._registered()
        self.groups = ProfileGroups(self.plugins.groups, self._calls)
        self._concerned = ConcernedPlugins(self.plugins.plugins.values(), self._calls)
        cache = ResultsCache(self.plugins.filter, self.plugins.score, self.plugins.weights)
        self._pre_filtering = PreFiltering(self.plugins, self._calls, self._concerned)
        self._filtering = Filtering(self.plugins, self._calls, cache, snapshot, nominator)
        self._scoring = Scoring(self.plugins, self._calls, cache, snapshot, self._concerned)

    # The queue.

    def _registered(self) -> Mapping[str, Sequence[EventRegistration]]:
        return {
            name: tuple(
                each
                if each.hint is None
                else replace(each, hint=self._calls.hint(self.plugins.plugins[name], each.hint))
                for each in registered
            )
            for name, registered in self.plugins.registrations().items()
        }

    def run_pre_enqueue_plugins(self, pod: PodInfo, first: str = "") -> Status | None:
        """None when the pod may enter the queue, else the first rejection. Plugin `first` is asked before others.

        One that fails gives an ERROR; the queue tells and asks again.
        """
        plugins = self.plugins.pre_enqueue
        for plugin in sorted(plugins, key=lambda each: each.name != first) if len(plugins) > 1 else plugins:
            status: Status | None = self._calls.call(points.PRE_ENQUEUE, plugin, pod, False, plugin.pre_enqueue, pod)
            if status is not None:
                return status
        return None

    def tell_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Tell the plugins that follow decisions whether the pod was let in."""
        for plugin in self.plugins.pre_enqueue_followers:
            self._calls.tell(plugin, pod, plugin.on_pre_enqueue, pod, status)

    def tell_pod_decision(self, decision: PodDecision) -> None:
        """Tell them what the scheduling cycle of a pod came to."""
        for plugin in self.plugins.decision_followers:
            self._calls.tell(plugin, decision.pod, plugin.on_pod_decision, decision)

    def tell_pod_released(self, decision: PodDecision) -> None:
        """Tell them that a pod gave back the node that was reserved for it."""
        for plugin in self.plugins.decision_followers:
            self._calls.tell(plugin, decision.pod, plugin.on_pod_released, decision)

    def tell_group_decision(self, decision: GroupDecision) -> None:
        """Tell them what the trial of a group came to."""
        about = MembersSubject(decision.waiting)
        for plugin in self.plugins.decision_followers:
            self._calls.tell(plugin, about, plugin.on_group_decision, decision)

    # The scheduling cycle: which nodes can run the pod.

    def run_pre_filter_plugins(
        self, state: AttemptState, pod: PodInfo, nodes: NodeView, *, of_groups: bool = True
    ) -> PreFiltered:
        """Ask the plugins in order and join their answers. Without `of_groups` those that know groups are not asked."""
        return self._pre_filtering.run(state, pod, nodes, of_groups)

    def run_pre_filter_extension_add_pod(
        self, state: AttemptState, pod: PodInfo, added: PodInfo, node_name: str
    ) -> Status | None:
        """Tell PreFilter's plugins that `added` was put on the node in a trial for `pod`. The first ERROR, if any."""
        return self._filtering.add_pod(state, pod, added, node_name)

    def run_pre_filter_extension_remove_pod(
        self, state: AttemptState, pod: PodInfo, removed: PodInfo, node_name: str
    ) -> Status | None:
        """Tell PreFilter's plugins that `removed` was taken off the node in a trial for `pod`."""
        return self._filtering.remove_pod(state, pod, removed, node_name)

    def follows_trials(self, state: AttemptState) -> bool:
        """Whether a PreFilter plugin wants to be told of pods that are put on nodes, or taken off, in a trial."""
        return self._filtering.follows_trials(state)

    def filter_all(self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered) -> Filtered:
        """Which of the nodes that PreFilter left in pass every Filter plugin, nominated pods considered."""
        return self._filtering.run_on_all(state, pod, pre_filtered)

    def with_all_rejections(
        self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered, found: Filtered
    ) -> Filtered:
        """`found`, with nominated pods considered also in why nodes are rejected while others are feasible."""
        return self._filtering.with_all_rejections(state, pod, pre_filtered, found)

    def work_out(self, state: AttemptState, pod: PodInfo) -> None:
        """Do what a Filter plugin has left to do, so that it can be asked once more."""
        work = state.long_work
        while work.left is not None:
            (name, left), work.left = work.left, None
            checkpoint()
            self._calls.work_out(self.plugins.plugins[name], state, pod, left)

    def capacity(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> npt.NDArray[np.int64]:
        """int64, shape (nodes,): how many pods like this one each node could take, by the plugins that count room.

        Raises Failed when one of them fails.
        """
        return self._filtering.capacity(state, pod, nodes)

    def run_filter_plugins(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Diagnosis:
        """Ask the Filter plugins about `nodes` as things are now. Raises Failed when one of them fails."""
        return self._filtering.run(state, pod, nodes)

    def run_filter_plugins_with_nominated_pods(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Diagnosis:
        """Ask twice: with the nominated pods that `pod` has to yield to on their nodes, and then without them."""
        return self._filtering.run_with_nominated_pods(state, pod, nodes)

    def filters_depend_on_cluster(self, state: AttemptState) -> bool:
        """Whether a Filter plugin that has not skipped the pod looks beyond each node."""
        return self._filtering.depends_on_cluster(state)

    def filter_epoch(self, state: AttemptState) -> Hashable:
        """Changes with what the Filter plugins go by besides the pod, the node and the pods on it."""
        return self._filtering.epoch(state)

    def run_post_filter_plugins(
        self, state: AttemptState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[str | None, Status | None]:
        """`(nominated node or None, status)` of the first plugin that does not answer UNSCHEDULABLE, else all told."""
        since = self._calls.now()
        nominated, status = self._post_filter(state, pod, diagnosis)
        self._calls.point_ended(points.POST_FILTER, status, since)
        return nominated, status

    def _post_filter(self, state: AttemptState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        reasons: list[str] = []
        nominated: str | None = None
        rejector = ""
        rejectors = diagnosis.unschedulable_plugins if diagnosis.prefilter_message else ()
        kept_back = any(plugin.name in rejectors for plugin in self.plugins.groups)
        for plugin in self.plugins.post_filter:
            if kept_back and not isinstance(plugin, GroupPlugin):
                continue  # room for one member is of no use to a group that waits
            node_name, status = self._calls.help_pod(plugin, state, pod, diagnosis)
            if node_name is not None:
                nominated = node_name
            if status is None or status.code is not Code.UNSCHEDULABLE:
                return nominated, status
            reasons.extend(status.reasons)
            rejector = rejector or plugin.name
        return nominated, Status(Code.UNSCHEDULABLE, tuple(reasons), rejector)

    # The scheduling cycle: which node is best.

    def run_pre_score_plugins(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Let the plugins prepare scoring. None, or the ERROR of one."""
        return self._scoring.prepare(state, pod, nodes)

    def run_score_plugins(self, state: AttemptState, pod: PodInfo, feasible: Rows) -> Scored | Status:
        """How good each of the rows `feasible` is; an ERROR status when a plugin failed."""
        return self._scoring.run(state, pod, feasible)

    def run_placement_score_plugins(self, pods: Sequence[PodInfo], domains: Partition) -> npt.NDArray[np.int64]:
        """int64, shape (domains,): how good each domain would be with all of `pods` in it. Raises Failed."""
        return self._scoring.placements(pods, domains)

    # The scheduling cycle: the node is chosen.

    def run_reserve_plugins_reserve(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """Let the plugins book the pod on the node. The first that refuses ends it; Unreserve is the caller's."""
        since = self._calls.now()
        status: Status | None = None
        others = self._concerned.others(pod)
        for plugin in self.plugins.reserve:
            if plugin.name in others:
                continue
            status = self._calls.call(points.RESERVE, plugin, pod, state.sampled, plugin.reserve, state, pod, node_name)
            if status is not None:
                break
        self._calls.point_ended(points.RESERVE, status, since)
        return status

    def run_reserve_plugins_unreserve(self, state: AttemptState, pod: PodInfo, node_name: str) -> None:
        """Let the plugins strike the pod off again, in reverse order. One that fails keeps no other from it."""
        since = self._calls.now()
        others = self._concerned.others(pod)
        for plugin in reversed(self.plugins.reserve):
            if plugin.name not in others:
                self._calls.undo(points.UNRESERVE, plugin, pod, state.sampled, plugin.unreserve, state, pod, node_name)
        self._calls.point_ended(points.UNRESERVE, None, since)

    def run_permit_plugins(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """None when the pod may be bound, WAIT when it is held (`wait_on_permit` waits), else why it may not."""
        since = self._calls.now()
        holds: dict[str, PermitWait] = {}
        status: Status | None = None
        others = self._concerned.others(pod)
        for plugin in self.plugins.permit:
            if plugin.name in others:
                continue
            answer = self._calls.call(points.PERMIT, plugin, pod, state.sampled, plugin.permit, state, pod, node_name)
            if isinstance(answer, Wait):
                holds[plugin.name] = PermitWait(answer.seconds, ", ".join(answer.reasons))
            elif answer is not None:
                status = answer
                break
        if status is None and holds:
            self._waiting.add(HeldPod(pod, node_name, holds, self._clock))
            status = Status.wait(ASKED_TO_WAIT)
        self._calls.point_ended(points.PERMIT, status, since)
        return status

    def may_be_held(self, pod: PodInfo) -> bool:
        """Whether a Permit plugin has a say about the pod by itself; those that know groups hold members of these."""
        others = self._concerned.others(pod)
        return any(plugin.name not in others and not isinstance(plugin, GroupPlugin) for plugin in self.plugins.permit)

    # The binding cycle.

    def held_by(self, pod: PodInfo) -> Mapping[str, str]:
        """The plugins whose Permit holds the pod, each with what it says."""
        waiting = self._waiting.get(pod.uid)
        return {} if waiting is None else waiting.messages

    def stop_waiting(self, pod: PodInfo) -> None:
        """Permit holds the pod no more."""
        self._waiting.discard(pod.uid)

    async def wait_on_permit(self, pod: PodInfo) -> Status | None:
        """Wait until the plugins that hold the pod let it go (None) or one of them turns it away."""
        waiting = self._waiting.get(pod.uid)
        if waiting is None:
            return None
        since = self._clock.now()
        try:
            status = await waiting.wait()
        finally:
            self._waiting.discard(pod.uid)
        code = Code.SUCCESS if status is None else status.code
        self._metrics.permit_wait_duration.observe((code.wire_name,), self._clock.now() - since)
        return status if status is None or status.rejected else error_in("waiting on permit for pod", status)

    def run_pre_bind_pre_flights(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """None when a plugin has something to do before the pod is bound, SKIP when none has, or an ERROR."""
        todo: list[PreBindPlugin] = []
        others = self._concerned.others(pod)
        for plugin in self.plugins.pre_bind:
            if plugin.name in others:
                continue
            status: Status | None = self._calls.call(
                points.PRE_BIND_PRE_FLIGHT, plugin, pod, False, plugin.pre_bind_pre_flight, state, pod, node_name
            )
            if status is None:
                todo.append(plugin)
            elif status.code is not Code.SKIP:
                return not_cleared(status)
        state.pre_bind_plugins = frozenset(plugin.name for plugin in todo)
        return None if todo else Status.skip()

    def planned(self, plugin: PreBindPlugin, state: AttemptState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
        """What the plugin would write before the pod is bound to the node: reserved for the question, then given back.

        Nothing where it refuses to reserve; where it breaks, the ERROR by its name.
        """
        calls = self._calls
        status: Status | None = None
        planned: Mapping[str, Any] = {}
        if isinstance(plugin, ReservePlugin):
            status = calls.call(points.RESERVE, plugin, pod, False, plugin.reserve, state, pod, node_name)
        if status is None:
            try:
                planned = calls.ask(points.PLANNED, plugin, pod, by_topic, plugin.planned, state, pod, node_name)
            except Failed as failed:
                status = failed.status
        if isinstance(plugin, ReservePlugin):
            calls.undo(points.UNRESERVE, plugin, pod, False, plugin.unreserve, state, pod, node_name)
        return {plugin.name: status.message} if status is not None and status.code is Code.ERROR else planned

    async def run_pre_bind_plugins(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """Let the plugins that `run_pre_bind_pre_flights` found work for do it. The first failure ends it."""
        since = self._calls.now()
        status: Status | None = None
        if state.pre_bind_plugins:
            status = await self._waiting.unless_preempted(pod, self._pre_bind(state, pod, node_name))
        self._calls.point_ended(points.PRE_BIND, status, since)
        return status

    async def _pre_bind(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        for plugin in self.plugins.pre_bind:
            if plugin.name in state.pre_bind_plugins:
                status: Status | None = await self._calls.call_async(
                    points.PRE_BIND, plugin, pod, state.sampled, plugin.pre_bind, state, pod, node_name
                )
                if status is not None:
                    return status
        return None

    async def run_bind_plugins(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod by the first plugin that does not answer SKIP."""
        since = self._calls.now()
        status: Status | None = Status.failure("no Bind plugin took the pod")
        for plugin in self.plugins.bind:
            answer = await self._calls.call_async(
                points.BIND, plugin, pod, state.sampled, plugin.bind, state, pod, node_name
            )
            if answer is None or answer.code is not Code.SKIP:
                status = answer
                break
        self._calls.point_ended(points.BIND, status, since)
        return status

    def run_post_bind_plugins(self, state: AttemptState, pod: PodInfo, node_name: str) -> None:
        """Tell the plugins that the pod is bound: nothing that goes wrong here changes that."""
        since = self._calls.now()
        for plugin in self.plugins.post_bind:
            self._calls.undo(points.POST_BIND, plugin, pod, False, plugin.post_bind, state, pod, node_name)
        self._calls.point_ended(points.POST_BIND, None, since)


Frameworks = Mapping[str, Framework]
"""By schedulerName."""
