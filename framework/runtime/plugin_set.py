"""The plugins that one profile runs, instantiated and sorted by extension point.

`Framework` builds one for each profile of the configuration and runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from ..config import ConfigurationError, Problem, ResolvedProfile
from ..contract.decision import DecisionFollower
from ..contract.events import Action, ClusterEvent, EventRegistration, EventResource
from ..contract.group import GroupPlugin
from ..contract.handle import Handle
from ..contract.plugin import (
    BindPlugin,
    CapacityPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from ..contract.status import text_of
from .answers import all_of

_LONGEST_TEXT = 512


def in_a_line(error: BaseException) -> str:
    """`Type: text` of an exception in one line of bounded length, for messages to users."""
    name, words = type(error).__name__, " ".join(text_of(error).split())
    text = name if words == name else f"{name}: {words}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


@contextmanager
def built(profile: str, plugin: str, *, calling: str) -> Iterator[None]:
    """Around a call of a plugin at start. Raises ConfigurationError for all that it raises but KeyboardInterrupt."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = f'profile "{profile}": plugin "{plugin}" failed in {calling}: {in_a_line(error)}'
        raise ConfigurationError([Problem("profiles", text)]) from error


P = TypeVar("P", bound=Plugin)
Registry = Mapping[str, type[Plugin]]

_REJECTING = (
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ReservePlugin,
    PermitPlugin,
    GroupPlugin,
)
EVERYTHING = (EventRegistration(ClusterEvent(EventResource.WILDCARD, Action.ALL)),)
"""Registered for a plugin that names no events: every event."""


class ProfilePlugins:
    """Plugin instances by extension point, in the order they run.

    Attributes:
        name: the schedulerName it answers to.
        weights: the weight of each Score plugin by name.
        placement_weights: the weight of each PlacementScore plugin by name.
        members_weight: the weight of the share of members that a domain takes, by `PlacementScorePlugin`.
        groups: the plugins that know which pods are placed together, in the order in which they are asked.
        rejecting_by_signature: names of plugins whose rejections are the same for all pods of a signature.
        rejecting_by_class: names of plugins whose rejections are the same for all pods of an equivalence class.
        unprepared: names of PreFilter plugins that have nothing to prepare, ever.
        unprepared_scores: names of PreScore plugins that have nothing to prepare, ever.

    Raises ConfigurationError when a plugin cannot be made.
    """

    def __init__(
        self, resolved: ResolvedProfile, registry: Registry, handle_of: Callable[[type[Plugin]], Handle]
    ) -> None:
        self.name = resolved.scheduler_name
        self.plugins: dict[str, Plugin] = {}
        for name in dict.fromkeys(ref.name for refs in resolved.points.values() for ref in refs):
            with built(self.name, name, calling="__init__"):
                kind = registry[name]
                self.plugins[name] = kind(_args(kind, resolved.args.get(name)), handle_of(kind))
        self.weights = {ref.name: ref.weight for ref in resolved.points.get("score", ())}
        self.placement_weights = {ref.name: ref.weight for ref in resolved.points.get("placementScore", ())}

        def at(point: str, base: type[P]) -> tuple[P, ...]:
            return tuple(cast("P", self.plugins[ref.name]) for ref in resolved.points.get(point, ()))

        self.pre_enqueue = at("preEnqueue", PreEnqueuePlugin)
        self.queue_sort = at("queueSort", QueueSortPlugin)[0]
        self.pre_filter = at("preFilter", PreFilterPlugin)
        self.filter = at("filter", FilterPlugin)
        self.post_filter = at("postFilter", PostFilterPlugin)
        self.pre_score = at("preScore", PreScorePlugin)
        self.score = at("score", ScorePlugin)
        self.placement_generate = at("placementGenerate", PlacementGeneratePlugin)
        self.placement_score = at("placementScore", PlacementScorePlugin)
        self.members_weight = sum(
            self.placement_weights[plugin.name] for plugin in self.placement_score if plugin.counts_members
        )
        self.reserve = at("reserve", ReservePlugin)
        self.permit = at("permit", PermitPlugin)
        self.pre_bind = at("preBind", PreBindPlugin)
        self.bind = at("bind", BindPlugin)
        self.post_bind = at("postBind", PostBindPlugin)
        self.groups = self.of(GroupPlugin)
        self.pod_group_post_filter = at("podGroupPostFilter", PodGroupPostFilterPlugin)
        self.capacity = self.of(CapacityPlugin)
        self.capacity_names = frozenset(plugin.name for plugin in self.capacity)
        self.decision_followers = self.of(DecisionFollower)
        self.pre_enqueue_followers = tuple(
            plugin
            for plugin in self.decision_followers
            if type(plugin).on_pre_enqueue is not DecisionFollower.on_pre_enqueue
        )
        self.rejecting_by_signature = frozenset(
            plugin.name for plugin in self.of(FilterPlugin) if plugin.filter_depends_on.kept
        )
        self.rejecting_by_class = self.rejecting_by_signature | {
            plugin.name for plugin in self.of(FilterPlugin) if plugin.rejects_alike
        }
        self.unprepared = frozenset(
            plugin.name for plugin in self.pre_filter if type(plugin).pre_filter is PreFilterPlugin.pre_filter
        )
        self.unprepared_scores = frozenset(
            plugin.name for plugin in self.pre_score if type(plugin).pre_score is PreScorePlugin.pre_score
        )
        self.pre_filter_extensions: tuple[PreFilterExtensions, ...] = tuple(
            plugin for plugin in self.pre_filter if isinstance(plugin, PreFilterExtensions)
        )

    def of(self, base: type[P]) -> tuple[P, ...]:
        """The plugins that derive from `base`."""
        return tuple(plugin for plugin in self.plugins.values() if isinstance(plugin, base))

    def registrations(self) -> Mapping[str, Sequence[EventRegistration]]:
        """Events by name of each plugin that may reject a pod; one that does not register is concerned by all.

        Raises ConfigurationError for a plugin that answers with something else.
        """
        found: dict[str, Sequence[EventRegistration]] = {}
        for name, plugin in self.plugins.items():
            if isinstance(plugin, EnqueueExtensions):
                with built(self.name, name, calling="events_to_register"):
                    found[name] = all_of(plugin.events_to_register(), EventRegistration)
            elif isinstance(plugin, _REJECTING):
                found[name] = EVERYTHING
        return found

    def class_plugins(self, registrations: Mapping[str, Sequence[EventRegistration]]) -> frozenset[str]:
        """Plugins whose rejections and hints are the same for all pods of an equivalence class, so one pod suffices.

        `registrations` are those that `registrations()` answered.
        """
        return frozenset(
            name
            for name in self.rejecting_by_class
            if all(each.hint is None or each.by_signature or each.by_class for each in registrations[name])
        )

    def signature_plugins(self, registrations: Mapping[str, Sequence[EventRegistration]]) -> frozenset[str]:
        """Plugins whose rejections and hints are the same for all pods of a signature, so one pod suffices.

        `registrations` are those that `registrations()` answered.
        """
        return frozenset(
            name
            for name in self.rejecting_by_signature
            if all(each.hint is None or each.by_signature for each in registrations[name])
        )


def _args(plugin: type[Plugin], given: object) -> object:
    """The arguments as the plugin declares them: their defaults where the configuration has none."""
    return plugin.args_model() if given is None and plugin.args_model is not None else given
