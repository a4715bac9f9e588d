"""The profiles: their frameworks, and the parts of the engine that call plugins of all profiles and are called by them.

`build_engine` creates them first, and then everything that decides.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from ..cache.cache import Cache
from ..config import ResolvedProfile
from ..contract.extender import EXTENDER
from ..contract.group import EvictionRulePlugin
from ..contract.handle import Handle
from ..contract.plugin import Plugin, PreemptionPlugin, QueuedPod
from ..contract.status import Status
from ..contract.tenants import TenantOrderPlugin
from ..model.pod_info import PodInfo
from ..queue.hints import Registrations
from ..queue.policy import QueueSettings
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.answers import Failed
from ..runtime.call_watch import CallWatch
from ..runtime.framework import Framework, SharedParts
from ..runtime.nominator import PodNominator
from ..runtime.plugin_calls import PluginCalls
from ..runtime.plugin_set import Registry
from ..runtime.points import QUEUE_SORT
from ..runtime.waiting_pods import PodsAtPermit
from .disruption import DisruptionUnits
from .evictions import EvictionRules
from .extenders import helpful_events
from .group_capacity import GroupCapacity
from .ports import Ports
from .preemption_handle import PreemptionProfileHandle
from .profile_handle import ProfileHandle
from .reports import Reports
from .tenant_turns import TenantTurns

P = TypeVar("P", bound=Plugin)


class Profiles:
    """The frameworks of all profiles, with what their plugins share. Implements `queue.policy.QueuePolicy`.

    Plugins call the queue, the nominator and the disruption units through their handles, and these three call plugins.
    So one constructor makes them all. The three keep a reference to the profiles, and call no plugin before the
    frameworks are complete.

    Attributes:
        frameworks: by schedulerName.
        queue: pods that wait.
        nominator: the nominations of pods.
        waiting_pods: pods that wait at Permit, and pods in PreBind.
        call_watch: which call of a plugin is in progress.
        shared: the state that plugins share among profiles, by key.
        units: running pods that need one another.
        rules: who may be evicted for whom, and from when on.
    """

    def __init__(
        self,
        resolved: Sequence[ResolvedProfile],
        registry: Registry,
        ports: Ports,
        cache: Cache,
        *,
        capacity: GroupCapacity,
        reports: Reports,
        settings: QueueSettings,
    ) -> None:
        """Raises ConfigurationError if a plugin cannot be created."""
        self._ports = ports
        self._snapshot = cache.snapshot
        self._capacity = capacity
        self._reports = reports
        self.queue = SchedulingQueue(
            self, settings, clock=ports.clock, metrics=ports.metrics, on_ready=ports.wake, tenants=TenantTurns(self)
        )
        self.nominator = PodNominator(self.preemption_priority)
        self.waiting_pods = PodsAtPermit(ports.standstill)
        self.call_watch = CallWatch(ports.measured.now, ports.metrics)
        self.shared: dict[str, object] = {}
        self.units = DisruptionUnits(self, cache.node_of)
        self.rules = EvictionRules(self)
        parts = SharedParts(
            self._snapshot, self.nominator, self.waiting_pods, ports.measured, ports.metrics, self.call_watch
        )
        self.frameworks: Mapping[str, Framework] = {
            each.scheduler_name: Framework(each, registry, self._handle, parts) for each in resolved
        }

    def _handle(self, framework: Framework, plugin: type[Plugin]) -> Handle:
        """The handle for plugins of a class in one profile."""
        cluster = framework, self._snapshot, self.waiting_pods, self.nominator
        common = *cluster, self._ports, self._reports, self.queue, self.shared
        return (
            PreemptionProfileHandle(*common, self.units, self.rules)
            if issubclass(plugin, PreemptionPlugin)
            else ProfileHandle(*common)
        )

    def with_calls(self, base: type[P]) -> list[tuple[P, PluginCalls]]:
        """The plugins of all profiles that derive from `base`, each with its profile's calls."""
        return [
            (each, framework.calls) for framework in self.frameworks.values() for each in framework.plugins.of(base)
        ]

    def preemption_priority(self, pod: PodInfo) -> int:
        """The priority of a pod among nominated pods: that of the group with which it is tried, else its own."""
        framework = self.frameworks.get(pod.pod.spec.scheduler_name)
        try:
            return pod.priority if framework is None else framework.groups.preemption_priority(pod)
        except Failed:  # the queue reports it
            return pod.priority

    # The queue's policy.

    @cached_property
    def _first(self) -> Framework:
        """All profiles have the same QueueSort plugin."""
        return next(iter(self.frameworks.values()))

    @cached_property
    def sort_plugin(self) -> str:
        """The name of the QueueSort plugin."""
        return self._first.plugins.queue_sort.name

    @cached_property
    def registrations(self) -> Registrations:
        """The events that may help pods, with the plugins that registered them.

        Extenders have a registration like a plugin's.
        """
        extenders = self._ports.extenders
        of_extenders = {EXTENDER: helpful_events(extenders)} if extenders else {}
        return {name: {**each.registrations, **of_extenders} for name, each in self.frameworks.items()}

    @cached_property
    def signature_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose rejections depend only on the pod's signature and the cluster."""
        return {
            name: each.plugins.signature_plugins(self.registrations[name]) for name, each in self.frameworks.items()
        }

    @cached_property
    def class_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose rejections depend only on the pod's equivalence class and the cluster."""
        return {name: each.plugins.class_plugins(self.registrations[name]) for name, each in self.frameworks.items()}

    @cached_property
    def divides_namespaces(self) -> bool:
        """Whether a plugin orders pods by tenants, or lets them evict pods by other rules than priority."""
        return bool(self.with_calls(TenantOrderPlugin) or self.with_calls(EvictionRulePlugin))

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The QueueSort plugin's key, with the priority of the pod's group."""
        info, calls, plugin = pod.info, self._first.calls, self._first.plugins.queue_sort
        try:
            pod.group_priority = self.frameworks[info.pod.spec.scheduler_name].groups.priority(info)
        except Failed as failed:
            return failed.status
        key: tuple[Hashable, ...] | Status = calls.call(QUEUE_SORT, plugin, info, plugin.sort_key, pod)
        return key

    def run_pre_enqueue(self, pod: PodInfo, first: str) -> Status | None:
        """The first rejection by a PreEnqueue plugin; None if the pod may enter.

        Also notifies followers, ungates or gates the pod's nomination, and reports or clears the gate.
        """
        framework = self.frameworks[pod.pod.spec.scheduler_name]
        status = framework.run_pre_enqueue_plugins(pod, first)
        framework.followers.notify_pre_enqueue(pod, status)
        if status is not None and status.rejected:
            self.nominator.gate(pod.uid)
            self._reports.follow_gate(pod, status.message)
            return status
        if status is None:
            self.nominator.ungate(pod.uid)
        self._reports.gates.end(pod.uid)
        return status

    def entity_group(self, pod: PodInfo) -> str | Status | None:
        """`<plugin>/<id>` of the group with which a pod is queued; None for a pod that is queued alone."""
        try:
            return self.frameworks[pod.pod.spec.scheduler_name].groups.of(pod)
        except Failed as failed:
            return failed.status

    def has_capacity(
        self, group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], *, may_evict: bool
    ) -> bool:
        """Whether the nodes have the capacity that the group lacks, or that a single pod needs."""
        framework, capacity = self.frameworks[next(iter(pods)).pod.spec.scheduler_name], self._capacity
        if not framework.plugins.capacity_names <= rejectors:
            return True
        if group is None:
            priority = max(pod.priority for pod in pods)
            return capacity.enough(framework, pods, 1) or (may_evict and self._may_be_freed_for(priority, pods, 1))
        plugin, own_id = framework.groups.named(group)
        try:
            missing = max(1, plugin.missing(own_id))
            if capacity.enough(framework, pods, missing):
                return True
            return may_evict and self._may_be_freed_for(plugin.preemption_priority(own_id, tuple(pods)), pods, missing)
        except Failed:  # the attempt reports it
            return True

    def _may_be_freed_for(self, priority: int, pods: Collection[PodInfo], missing: int) -> bool:
        """Whether evictions could free capacity for these pods, on account of their priority or by another rule."""
        return self._capacity.may_be_freed_for(priority) or self.rules.may_claim(pods, missing)

    def awaits_victims(self, pods: Iterable[PodInfo]) -> bool:
        """Whether pods are terminating on a node to which one of these pods is nominated."""
        snapshot, nominator = self._snapshot, self.nominator
        return bool(len(nominator)) and any(
            other.terminating and other.priority < nominator.priority_of(pod)
            for pod in pods
            if (row := snapshot.live_row_of(nominator.nominated_node(pod.uid))) is not None
            for other in snapshot.pods[row].values()
        )

    def is_nominated_elsewhere(self, pod: PodInfo, node_name: str) -> bool:
        """Whether the pod is nominated to another node, and other pods are nominated to this one."""
        own = self.nominator.nominated_node(pod.uid)
        return own not in ("", node_name) and bool(self.nominator.nominated_pods(node_name))

    def report_failure(self, pod: PodInfo, status: Status) -> None:
        """Report a pod that cannot enter the queue because a plugin failed."""
        self._reports.failed(pod, status, None)
