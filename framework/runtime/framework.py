"""The framework: runs one profile's plugins, point by point, and combines their answers.

The cycles call its parts, one for each extension point, which behave as kube-scheduler's frameworkImpl does. Every
call of a plugin goes through `PluginCalls`, so a plugin's fault becomes an ERROR status and nothing else. Deciding
(everything up to Score) changes nothing but caches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..config import ResolvedProfile
from ..contract.events import EventRegistration
from ..contract.handle import Clock, Handle
from ..contract.plugin import Plugin
from ..contract.status import Status
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..snapshot.snapshot import Snapshot
from .binding import BindingPlugins
from .call_watch import CallWatch
from .concerned import ConcernedPlugins
from .filtering import Filtering
from .followers import DecisionFollowers
from .group_calls import ProfileGroups
from .nominator import PodNominator
from .permitting import Permitting
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins, Registry
from .points import PRE_ENQUEUE
from .post_filtering import PostFiltering
from .pre_filtering import PreFiltering
from .reserving import Reserving
from .scoring import Scoring
from .waiting_pods import PodsAtPermit


@dataclass(frozen=True, slots=True)
class SharedParts:
    """The objects that the frameworks of all profiles share.

    Attributes:
        snapshot: the nodes.
        nominator: pods that are nominated to a node.
        waiting_pods: pods that wait at Permit, and pods in PreBind.
        clock: time, by which calls are measured, too.
        metrics: metrics.
        call_watch: which call of a plugin is in progress.
    """

    snapshot: Snapshot
    nominator: PodNominator
    waiting_pods: PodsAtPermit
    clock: Clock
    metrics: SchedulerMetrics
    call_watch: CallWatch


class Framework:
    """The plugins of one profile, with a part for each extension point after PreEnqueue.

    Attributes:
        name: its schedulerName.
        plugins: the plugins by extension point.
        percentage_of_nodes_to_score: None for all nodes; 0 for kube-scheduler's adaptive share; else a percentage.
        calls: calls its plugins.
        groups: calls its group plugins.
        registrations: by name of each plugin that may reject a pod, its events with guarded hints.
        followers: the plugins that are notified of decisions.
        pre_filtering, filtering, post_filtering, scoring, reserving, permitting, binding: run the extension points.
    """

    def __init__(
        self,
        resolved: ResolvedProfile,
        registry: Registry,
        handle: Callable[[Framework, type[Plugin]], Handle],
        shared: SharedParts,
    ) -> None:
        """`handle` makes what a plugin of a class gets, for this framework.

        Raises ConfigurationError when a plugin cannot be made.
        """
        self.name = resolved.scheduler_name
        self.plugins = plugins = ProfilePlugins(resolved, registry, partial(handle, self))
        self.percentage_of_nodes_to_score = resolved.percentage_of_nodes_to_score
        self.calls = calls = PluginCalls(self.name, shared.clock.now, shared.metrics, shared.call_watch)
        self.registrations = _with_guarded_hints(plugins, calls)
        self.groups = ProfileGroups(plugins.groups, calls, placed_by_score=bool(plugins.placement_generate))
        self.followers = DecisionFollowers(plugins, calls)
        concerned = ConcernedPlugins(plugins.plugins.values(), calls)
        self.pre_filtering = PreFiltering(plugins, calls, concerned)
        self.filtering = Filtering(plugins, calls, shared.snapshot, nominator=shared.nominator)
        self.post_filtering = PostFiltering(plugins, calls)
        self.scoring = Scoring(plugins, calls, shared.snapshot, concerned=concerned)
        self.reserving = Reserving(plugins, calls, concerned)
        self.permitting = Permitting(
            plugins, calls, concerned, shared.waiting_pods, clock=shared.clock, metrics=shared.metrics
        )
        self.binding = BindingPlugins(plugins, calls, concerned, shared.waiting_pods)

    def run_pre_enqueue_plugins(self, pod: PodInfo, first: str = "") -> Status | None:
        """None if the pod may enter the queue, else the first rejection. Plugin `first` is called before the others.

        The failure of a plugin gives an ERROR; the queue reports it and calls the plugin again.
        """
        plugins = self.plugins.pre_enqueue
        for plugin in sorted(plugins, key=lambda each: each.name != first) if first else plugins:
            status: Status | None = self.calls.call(PRE_ENQUEUE, plugin, pod, plugin.pre_enqueue, pod)
            if status is not None:
                return status
        return None


def _with_guarded_hints(plugins: ProfilePlugins, calls: PluginCalls) -> Mapping[str, Sequence[EventRegistration]]:
    return {
        name: tuple(
            each if each.hint is None else replace(each, hint=calls.hint(plugins.plugins[name], each.hint))
            for each in registered
        )
        for name, registered in plugins.registrations().items()
    }
