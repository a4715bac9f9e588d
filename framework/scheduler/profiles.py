"""The profiles: calls of the plugins of all profiles for the queue and the nominator, and checks of capacity.

The queue itself knows only pods and events.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import cached_property

from ..contract.extender import EXTENDER
from ..contract.plugin import QueuedPod
from ..contract.status import Status
from ..model.pod_info import PodInfo
from ..queue.hints import Registrations
from ..runtime.answers import Failed
from ..runtime.framework import Framework, Frameworks
from ..runtime.nominator import PodNominator
from ..runtime.plugin_set import EVERYTHING
from ..runtime.points import QUEUE_SORT
from ..snapshot.snapshot import Snapshot
from .group_capacity import GroupCapacity
from .reports import Reports


def preemption_priority(frameworks: Frameworks, pod: PodInfo) -> int:
    """The priority of a pod among nominated pods: that of the group with which it is tried, else its own."""
    framework = frameworks.get(pod.pod.spec.scheduler_name)
    try:
        return pod.priority if framework is None else framework.groups.preemption_priority(pod)
    except Failed:  # the queue reports it
        return pod.priority


class Profiles:
    """Implements `queue.policy.QueuePolicy` with the plugins of all profiles.

    The engine adds the frameworks before the first call. `extended` says whether there are extenders: any event may
    change which pods these reject.
    """

    def __init__(
        self,
        frameworks: Frameworks,
        snapshot: Snapshot,
        capacity: GroupCapacity,
        nominator: PodNominator,
        *,
        reports: Reports,
        extended: bool,
    ) -> None:
        self._frameworks = frameworks
        self._snapshot = snapshot
        self._capacity = capacity
        self._nominator = nominator
        self._reports = reports
        self._extended = extended

    @cached_property
    def _first(self) -> Framework:
        """All profiles have the same QueueSort plugin."""
        return next(iter(self._frameworks.values()))

    @cached_property
    def sort_plugin(self) -> str:
        """The name of the QueueSort plugin."""
        return self._first.plugins.queue_sort.name

    @cached_property
    def registrations(self) -> Registrations:
        """The events that may help pods, with the plugins that registered them."""
        of_extenders = {EXTENDER: EVERYTHING} if self._extended else {}
        return {name: {**each.registrations, **of_extenders} for name, each in self._frameworks.items()}

    @cached_property
    def signature_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose rejections depend only on the pod's signature and the cluster."""
        return {
            name: each.plugins.signature_plugins(self.registrations[name]) for name, each in self._frameworks.items()
        }

    @cached_property
    def class_plugins(self) -> Mapping[str, frozenset[str]]:
        """By profile, the plugins whose rejections depend only on the pod's equivalence class and the cluster."""
        return {name: each.plugins.class_plugins(self.registrations[name]) for name, each in self._frameworks.items()}

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The QueueSort plugin's key, with the priority of the pod's group."""
        info, calls, plugin = pod.info, self._first.calls, self._first.plugins.queue_sort
        try:
            pod.group_priority = self._of(info).groups.priority(info)
        except Failed as failed:
            return failed.status
        key: tuple[Hashable, ...] | Status = calls.call(QUEUE_SORT, plugin, info, plugin.sort_key, pod)
        return key

    def pre_enqueue(self, pod: PodInfo, first: str) -> Status | None:
        """The first rejection by a PreEnqueue plugin. Also notifies the nominator and plugins that follow decisions."""
        framework = self._of(pod)
        status = framework.run_pre_enqueue_plugins(pod, first)
        framework.followers.notify_pre_enqueue(pod, status)
        if status is None:
            self._nominator.let_in(pod.uid)
        elif status.rejected:
            self._nominator.gate(pod.uid)
        return status

    def group_of(self, pod: PodInfo) -> str | Status | None:
        """`<plugin>/<id>` of the group that a pod belongs to; None for a pod without one."""
        try:
            return self._of(pod).groups.of(pod)
        except Failed as failed:
            return failed.status

    def has_capacity(
        self, group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], *, may_evict: bool
    ) -> bool:
        """Whether the nodes have the capacity that the group lacks, or that a single pod needs."""
        framework, capacity = self._of(next(iter(pods))), self._capacity
        if not framework.plugins.capacity_names <= rejectors:
            return True
        if group is None:
            priority = max(pod.priority for pod in pods)
            return capacity.enough(framework, pods, 1) or (may_evict and capacity.may_be_made(priority))
        plugin, own_id = framework.groups.named(group)
        try:
            if capacity.enough(framework, pods, max(1, plugin.missing(own_id))):
                return True
            return may_evict and capacity.may_be_made(plugin.preemption_priority(own_id, tuple(pods)))
        except Failed:  # the attempt reports it
            return True

    def awaits_victims(self, pods: Iterable[PodInfo]) -> bool:
        """Whether pods are terminating on a node to which one of these pods is nominated."""
        snapshot, nominator = self._snapshot, self._nominator
        return bool(len(nominator)) and any(
            other.terminating and other.priority < nominator.priority_of(pod)
            for pod in pods
            if (row := snapshot.live_row_of(nominator.nominated_node(pod.uid))) is not None
            for other in snapshot.pods[row].values()
        )

    def is_nominated_elsewhere(self, pod: PodInfo, node_name: str) -> bool:
        """Whether the pod is nominated to another node, and other pods are nominated to this one."""
        own = self._nominator.nominated_node(pod.uid)
        return own not in ("", node_name) and bool(self._nominator.nominated_pods(node_name))

    def report_failure(self, pod: PodInfo, status: Status) -> None:
        """Report a pod that cannot enter the queue because a plugin failed."""
        self._reports.failed(pod, status, None)

    def _of(self, pod: PodInfo) -> Framework:
        return self._frameworks[pod.pod.spec.scheduler_name]
