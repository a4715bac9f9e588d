"""The queue, made of what the profiles' plugins say of pods and groups, and of what is known of room for them.

The engine asks for it. The queue itself knows pods and events alone; what it has to ask others is put together here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from ..config import KubeSchedulerConfiguration
from ..contract.extender import EXTENDER
from ..contract.plugin import QueuedPod
from ..contract.status import Status
from ..model.pod_info import PodInfo
from ..queue.backoff_queue import BackoffPolicy
from ..queue.rules import QueueRules, QueueSettings
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.answers import Failed
from ..runtime.framework import Framework
from ..runtime.nominator import PodNominator
from ..runtime.plugin_set import EVERYTHING
from ..runtime.points import QUEUE_SORT
from ..snapshot.snapshot import Snapshot
from .group_room import GroupRoom
from .profile_handle import Ports


def build_queue(
    configuration: KubeSchedulerConfiguration,
    frameworks: Mapping[str, Framework],
    snapshot: Snapshot,
    room: GroupRoom,
    nominator: PodNominator,
    ports: Ports,
    on_error: Callable[[PodInfo, Status], None],
) -> SchedulingQueue:
    """The queue of all profiles. `on_error` is told of pods that a plugin's failure keeps out of it."""

    def pre_enqueue(pod: PodInfo, first: str) -> Status | None:
        framework = frameworks[pod.pod.spec.scheduler_name]
        status = framework.run_pre_enqueue_plugins(pod, first)
        framework.tell_pre_enqueue(pod, status)
        return status

    def group_of(pod: PodInfo) -> str | Status | None:
        try:
            return frameworks[pod.pod.spec.scheduler_name].groups.of(pod)
        except Failed as failed:
            return failed.status

    first = next(iter(frameworks.values()))
    queue_sort, calls = first.plugins.queue_sort, first.calls

    def sort_key(queued: QueuedPod) -> tuple[Hashable, ...] | Status:
        pod = queued.info
        try:
            queued.group_priority = frameworks[pod.pod.spec.scheduler_name].groups.priority(pod)
        except Failed as failed:
            return failed.status
        key: tuple[Hashable, ...] | Status = calls.call(QUEUE_SORT, queue_sort, pod, False, queue_sort.sort_key, queued)
        return key

    def has_room(group: str | None, pods: Collection[PodInfo], rejectors: frozenset[str], may_evict: bool) -> bool:
        framework = frameworks[next(iter(pods)).pod.spec.scheduler_name]
        if not framework.plugins.capacity_names <= rejectors:
            return True
        if group is None:
            priority = max(pod.priority for pod in pods)
            return room.enough(framework, pods, 1) or (may_evict and room.may_be_made(priority))
        plugin, own_id = framework.groups.named(group)
        try:
            if room.enough(framework, pods, max(1, plugin.missing(own_id))):
                return True
            return may_evict and room.may_be_made(plugin.preemption_priority(own_id, tuple(pods)))
        except Failed:  # the attempt will tell
            return True

    def awaits_victims(pods: Iterable[PodInfo]) -> bool:
        return bool(len(nominator)) and any(
            other.terminating and other.priority < nominator.priority_of(pod)
            for pod in pods
            if (row := snapshot.live_row_of(nominator.nominated_node(pod.uid))) is not None
            for other in snapshot.pods[row].values()
        )

    def promised_to_others(pod: PodInfo, node_name: str) -> bool:
        own = nominator.nominated_node(pod.uid)
        return own not in ("", node_name) and bool(nominator.nominated_pods(node_name))

    registrations = {name: dict(framework.registrations()) for name, framework in frameworks.items()}
    if ports.extenders:
        for each in registrations.values():
            each[EXTENDER] = EVERYTHING
    rules = QueueRules(
        sort_key=sort_key,
        pre_enqueue=pre_enqueue,
        group_of=group_of,
        registrations=registrations,
        has_room=has_room,
        awaits_victims=awaits_victims,
        promised_to_others=promised_to_others,
        signature_plugins={
            name: framework.plugins.signature_plugins(registrations[name]) for name, framework in frameworks.items()
        },
        class_plugins={
            name: framework.plugins.class_plugins(registrations[name]) for name, framework in frameworks.items()
        },
        sort_plugin=queue_sort.name,
        on_error=on_error,
    )
    backoff = BackoffPolicy(
        initial_seconds=configuration.pod_initial_backoff_seconds,
        max_seconds=configuration.pod_max_backoff_seconds,
        jitter=ports.random,
    )
    return SchedulingQueue(
        rules, QueueSettings(backoff), clock=ports.clock, observer=ports.observer, on_ready=ports.wake
    )
