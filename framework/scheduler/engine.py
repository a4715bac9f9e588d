"""The engine: all parts of the scheduler, assembled from a configuration, a set of plugins and ports to the outside.

The operator builds one and feeds it; tests and tools build one with ports of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..cache.cache import Cache
from ..cache.known_pods import KnownPods
from ..config import KubeSchedulerConfiguration, ResolvedProfile
from ..contract.group import ObjectFollower, PodFollower
from ..contract.handle import WatchedKind
from ..contract.plugin import Plugin
from ..contract.reservation import Start
from ..groups.book import GroupBook
from ..groups.plugin import GroupBookPlugin
from ..groups.record import EndedHandler
from ..queue.policy import BackoffPolicy, QueueSettings
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime import reservation_calls
from ..runtime.call_watch import CallWatch
from ..runtime.nominator import PodNominator
from ..runtime.standstill import Standstill
from ..runtime.waiting_pods import PodsAtPermit
from ..snapshot.snapshot import Snapshot
from .algorithm import Algorithm
from .consultations import Consultations
from .disruption import DisruptionUnits
from .domain_search import DomainSearch
from .engine_services import EngineServices
from .event_handlers import NodeEventHandler, ObjectEventHandler, PodEventHandler
from .evictions import EvictionRules
from .group_capacity import GroupCapacity
from .group_post_filter import GroupPostFilter
from .group_trial import GroupTrials
from .ports import Ports
from .profiles import Profiles
from .renewals import Renewals
from .reports import Reports
from .review import Review
from .schedule_group import GroupScheduler
from .schedule_one import PodScheduler
from .schedule_tree import TreeCycle
from .scheduler import Scheduler
from .tree_trial import TreeTrials

P = TypeVar("P", bound=Plugin)


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts of the scheduler.

    Attributes:
        cache: nodes and pods as known.
        queue: pods that wait.
        waiting_pods: pods that wait at Permit, and pods in PreBind.
        nominator: the nominations of pods.
        pod_handler: the handler of the pod informer.
        known: pods of the profiles' schedulers, as last seen.
        node_handler: the handler of the node informer.
        object_handlers: by kind that plugins watch, the handler of its informer.
        ended_handlers: by the plugin's name, the handler of ended members of groups, which only the process watches.
        algorithms: by schedulerName, how nodes are found and ranked; `framework` of each are the profile's plugins.
        scheduler: runs the cycles.
        shared: the state that plugins share among profiles, by key (see `Handle.shared`).
        units: running pods that need one another.
        rules: who may be evicted for whom, and from when on.
        call_watch: which call of a plugin is in progress; another thread may read it.
        standstill: callers use the handlers and `queue.flush`, or read the whole engine, only while no decision is in
            progress: in a task that `standstill` paces, or through its `apply`.
    """

    cache: Cache
    queue: SchedulingQueue
    waiting_pods: PodsAtPermit
    nominator: PodNominator
    pod_handler: PodEventHandler
    known: KnownPods
    node_handler: NodeEventHandler
    object_handlers: Mapping[WatchedKind, ObjectEventHandler]
    ended_handlers: Mapping[str, EndedHandler]
    algorithms: Mapping[str, Algorithm]
    scheduler: Scheduler
    shared: Mapping[str, object]
    units: DisruptionUnits
    rules: EvictionRules
    call_watch: CallWatch
    standstill: Standstill

    def books(self) -> dict[str, GroupBook[Any, Any]]:
        """The books of groups, by the plugin's name."""
        return {plugin.name: plugin.book for plugin in self.plugins(GroupBookPlugin)}

    def reserved_shares(self) -> Mapping[str, float]:
        """The share of all nodes' capacity that plugins reserve, 0 to 1, by resource."""
        return reservation_calls.reserved_shares([each.framework for each in self.algorithms.values()])

    def starts(self) -> Sequence[Start]:
        """When pods and groups without capacity will start, as forecasters predict; see `StartForecaster`."""
        return reservation_calls.starts([each.framework for each in self.algorithms.values()])

    def plugins(self, base: type[P]) -> list[P]:
        """The plugins of all profiles that derive from `base`."""
        return [plugin for each in self.algorithms.values() for plugin in each.framework.plugins.of(base)]


def build_engine(
    configuration: KubeSchedulerConfiguration,
    resolved: Sequence[ResolvedProfile],
    registry: Mapping[str, type[Plugin]],
    ports: Ports,
    *,
    assumed_ttl: float | None = None,
) -> Engine:
    """Put an engine together.

    `registry` maps the name of each plugin in `resolved` to its class; `assumed_ttl` is the cache's.
    Raises ConfigurationError if a plugin cannot be created.
    """
    ports = ports.paced()
    known = KnownPods([each.scheduler_name for each in resolved])
    reports, snapshot = Reports(ports, known.get), Snapshot()
    cache, capacity = Cache(snapshot, ports.clock.now, assumed_ttl), GroupCapacity(snapshot)
    settings = QueueSettings(_backoff(configuration, ports.random))
    profiles = Profiles(resolved, registry, ports, cache, capacity=capacity, reports=reports, settings=settings)
    queue, nominator, frameworks = profiles.queue, profiles.nominator, profiles.frameworks
    extended = any(extender.is_filter or extender.is_prioritizer for extender in ports.extenders)
    algorithms = {
        name: Algorithm(framework, snapshot, nominator, extended=extended, pick=ports.pick)
        for name, framework in frameworks.items()
    }
    renewals = Renewals(reports, known.get, queue.contents.is_unschedulable, ports.clock)
    review = Review(algorithms, queue, nominator, reports, renewals=renewals, ports=ports)
    domains = DomainSearch(
        snapshot,
        capacity,
        cache.node_of,
        ports.choose,
        nominator=nominator,
        clock=ports.measured,
        metrics=ports.metrics,
    )
    services = EngineServices(algorithms, cache, queue, nominator, reports, ports, profiles.call_watch, known)
    return Engine(
        cache=cache,
        queue=queue,
        waiting_pods=profiles.waiting_pods,
        nominator=nominator,
        pod_handler=PodEventHandler(services, profiles.waiting_pods, review, profiles.with_calls(PodFollower)),
        known=known,
        node_handler=NodeEventHandler(cache, queue),
        object_handlers=_object_handlers(profiles),
        ended_handlers={plugin.name: plugin.book.follow_ended for plugin, _ in profiles.with_calls(GroupBookPlugin)},
        algorithms=algorithms,
        scheduler=_scheduler(services, review, capacity, domains),
        shared=profiles.shared,
        units=profiles.units,
        rules=profiles.rules,
        call_watch=profiles.call_watch,
        standstill=ports.standstill,
    )


def _backoff(configuration: KubeSchedulerConfiguration, random: Callable[[], float]) -> BackoffPolicy:
    initial, longest = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    return BackoffPolicy(initial, longest, jitter=random)


def _scheduler(services: EngineServices, review: Review, capacity: GroupCapacity, domains: DomainSearch) -> Scheduler:
    snapshot, consultations = (
        services.cache.snapshot,
        Consultations(services.algorithms, services.queue, services.ports),
    )
    pods = PodScheduler(services, consultations, review)
    trials = GroupTrials(pods.scheduling_cycle, services.algorithms, snapshot, capacity)
    post_filter = GroupPostFilter(services)
    trees = TreeCycle(TreeTrials(trials, domains, snapshot), trials, post_filter)
    groups = GroupScheduler(services, pods, trials, domains, trees=trees, post_filter=post_filter)
    return Scheduler(services, pods, groups, consultations, review=review)


def _object_handlers(profiles: Profiles) -> dict[WatchedKind, ObjectEventHandler]:
    """A handler for each kind that plugins watch, in the order of profiles and plugins."""
    plugins = [plugin for framework in profiles.frameworks.values() for plugin in framework.plugins.plugins.values()]
    followers = profiles.with_calls(ObjectFollower)
    return {
        kind: ObjectEventHandler(
            profiles.queue, kind, [(each, calls) for each, calls in followers if kind in each.watches]
        )
        for kind in dict.fromkeys(kind for plugin in plugins for kind in plugin.watches)
    }
