"""The engine: all parts of the scheduler put together from a configuration, a set of plugins and the outside's ports.

The operator builds one and feeds it; tests and tools build one with ports of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..cache.cache import Cache
from ..config import KubeSchedulerConfiguration, ResolvedProfile
from ..contract.decision import DecisionFollower
from ..contract.group import ObjectFollower, PodFollower
from ..contract.handle import WatchedKind
from ..contract.plugin import Plugin
from ..contract.status import Status
from ..model.pod_info import PodInfo
from ..queue.backoff_queue import BackoffPolicy
from ..queue.rules import QueueRules, QueueSettings
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.profile import Profile
from ..runtime.timing import Timing
from ..runtime.waiting import WaitingPods
from ..snapshot.snapshot import Snapshot
from .binding import BindingCycle
from .foreign import ForeignChanges
from .gang import GangCycle
from .intake import NodeIntake, ObjectIntake, PodIntake
from .ports import Ports
from .profile_handle import ProfileHandle
from .scheduler import Lane, Scheduler
from .scheduling import SchedulingCycle
from .search import Search

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts.

    Attributes:
        cache: nodes and pods as known.
        queue: pods that wait.
        waiting: pods that Permit holds.
        pods: the pod informer's handler.
        nodes: the node informer's handler.
        objects: what plugins asked to be watched, with the handlers of those informers.
        searches: by schedulerName, how nodes are found and ranked.
        scheduler: runs the cycles.
        shared: what plugins share among the profiles, by key (see `Handle.shared`).
    """

    cache: Cache
    queue: SchedulingQueue
    waiting: WaitingPods
    pods: PodIntake
    nodes: NodeIntake
    objects: Mapping[WatchedKind, ObjectIntake]
    searches: Mapping[str, Search]
    scheduler: Scheduler
    shared: Mapping[str, object]


def build_engine(
    configuration: KubeSchedulerConfiguration,
    profiles: Sequence[ResolvedProfile],
    registry: Mapping[str, type[Plugin]],
    ports: Ports,
    *,
    assumed_ttl: float | None = None,
) -> Engine:
    """Put an engine together.

    `registry` maps the name of each plugin in `profiles` to its class; `assumed_ttl` is the cache's. Raises
    ConfigurationError when a plugin cannot be made.
    """
    now = ports.clock.now
    snapshot, waiting, foreign = Snapshot(), WaitingPods(), ForeignChanges()
    cache = Cache(snapshot, now, assumed_ttl)

    shared: dict[str, object] = {}

    def activate(pods: Mapping[str, PodInfo]) -> None:
        queue.activate(pods.values())

    built = {
        resolved.scheduler_name: Profile(
            resolved, registry, ProfileHandle(resolved.scheduler_name, snapshot, waiting, ports, activate, shared)
        )
        for resolved in profiles
    }

    def kept_out(pod: PodInfo, status: Status) -> None:
        scheduler.reports.failed(pod, status, None)

    queue = _build_queue(configuration, built, ports, kept_out)
    searches = {name: Search(profile, snapshot, Timing(ports.observer, now, name)) for name, profile in built.items()}
    plugins = [plugin for profile in built.values() for plugin in profile.plugins.values()]
    followers = [plugin for plugin in plugins if isinstance(plugin, PodFollower)]
    pods = PodIntake(cache, queue, waiting, foreign, tuple(built), followers)
    cycles = {
        name: SchedulingCycle(search, cache, waiting, ports.clock, ports.observer) for name, search in searches.items()
    }
    lanes = {}
    for name, search in searches.items():
        binding = BindingCycle(search, cache, waiting, foreign, ports.clock, ports.observer)
        group = built[name].group
        gang = GangCycle(cycles, snapshot, group) if group is not None else None
        lanes[name] = Lane(cycles[name], binding, gang, built[name].of(DecisionFollower))
    scheduler = Scheduler(cache, queue, pods, foreign, ports, lanes)
    return Engine(
        cache=cache,
        queue=queue,
        waiting=waiting,
        pods=pods,
        nodes=NodeIntake(cache, queue, foreign),
        objects={
            kind: ObjectIntake(queue, kind.resource, _watchers(plugins, kind))
            for kind in dict.fromkeys(kind for plugin in plugins for kind in plugin.watches)
        },
        searches=searches,
        scheduler=scheduler,
        shared=shared,
    )


def _watchers(plugins: Iterable[Plugin], kind: WatchedKind) -> list[ObjectFollower]:
    return [plugin for plugin in plugins if isinstance(plugin, ObjectFollower) and kind in plugin.watches]


def _build_queue(
    configuration: KubeSchedulerConfiguration,
    profiles: Mapping[str, Profile],
    ports: Ports,
    on_error: Callable[[PodInfo, Status], None],
) -> SchedulingQueue:
    def pre_enqueue(pod: PodInfo, first: str) -> Status | None:
        profile = profiles[pod.pod.spec.scheduler_name]
        status = profile.run_pre_enqueue(pod, first)
        for follower in profile.of(DecisionFollower):
            try:
                follower.on_pre_enqueue(pod, status)
            except Exception:  # a plugin's bug must not lose the pod
                log.exception("A plugin failed to follow a decision", extra={"pairs": {"plugin": follower.name}})
        return status

    def group_of(pod: PodInfo) -> str | None:
        plugin = profiles[pod.pod.spec.scheduler_name].group
        return None if plugin is None else plugin.group_of(pod)

    queue_sort = next(iter(profiles.values())).queue_sort
    rules = QueueRules(
        sort_key=queue_sort.sort_key,
        pre_enqueue=pre_enqueue,
        group_of=group_of,
        registrations={name: profile.registrations() for name, profile in profiles.items()},
        sort_plugin=queue_sort.name,
        on_error=on_error,
    )
    backoff = BackoffPolicy(
        initial_seconds=configuration.pod_initial_backoff_seconds, max_seconds=configuration.pod_max_backoff_seconds
    )
    return SchedulingQueue(
        rules, QueueSettings(backoff), clock=ports.clock, observer=ports.observer, on_ready=ports.wake
    )
