"""Disruption units: running pods that need one another, as the plugins of all profiles know them.

A victim may belong to another profile than the preemptor. Plugins that look for victims call it through their handles.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

from ..contract.group import Disruption, DisruptionPlugin
from ..contract.group_preemption import DisruptionUnit, Placed
from ..contract.plugin import Plugin
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed, all_of, hashable, int32, of_type
from ..runtime.plugin_calls import PluginCalls
from ..runtime.points import DISRUPTION, DISRUPTION_EPOCH
from ..runtime.subjects import ALL_GROUPS

_HIGHEST = 1 << 31
"""Higher than any pod's priority."""


P = TypeVar("P", bound=Plugin)


class PluginsOfProfiles(Protocol):
    """The plugins of all profiles; `Profiles` implements it."""

    def with_calls(self, base: type[P]) -> Sequence[tuple[P, PluginCalls]]:
        """The plugins that derive from `base`, each with its profile's calls."""
        ...


class DisruptionUnits:
    """Calls the plugins of all `profiles`. `node_of` returns a pod's node by its UID.

    Plugins of one name in several profiles know the same groups, so one of them is called.
    """

    def __init__(self, profiles: PluginsOfProfiles, node_of: Callable[[str], str | None]) -> None:
        self._profiles = profiles
        self._node_of = node_of

    @cached_property
    def _plugins(self) -> dict[str, tuple[DisruptionPlugin, PluginCalls]]:
        return {plugin.name: (plugin, calls) for plugin, calls in self._profiles.with_calls(DisruptionPlugin)}

    def of(self, pod: PodInfo) -> DisruptionUnit | None:
        """The pod's unit, by the first plugin that knows one.

        If a plugin fails, the group of the pod is unknown: the pod is then a unit that no preemptor may evict.
        """
        for plugin, calls in self._plugins.values():
            try:
                found = calls.ask(DISRUPTION, plugin, pod, plugin.disruption, pod, sound=_disruption)
            except Failed as failed:
                calls.log_failure(DISRUPTION, plugin, pod, failed.status)
                return DisruptionUnit(f"{plugin.name}/{pod.uid}", self._placed((pod,)), _HIGHEST, 0)
            if found is not None:
                key, placed = f"{plugin.name}/{found.group}", self._placed(found.pods)
                return DisruptionUnit(key, placed, found.priority, found.spare, found.composite)
        return None

    def epoch(self) -> Hashable:
        """A value that changes with all on which units depend besides the pods that have nodes.

        If a plugin fails, no value equals another.
        """
        found = []
        for plugin, calls in self._plugins.values():
            try:
                found.append(calls.ask(DISRUPTION_EPOCH, plugin, ALL_GROUPS, plugin.disruption_epoch, sound=hashable))
            except Failed as failed:
                calls.log_failure(DISRUPTION_EPOCH, plugin, ALL_GROUPS, failed.status)
                return object()
        return tuple(found)

    def _placed(self, pods: Sequence[PodInfo]) -> list[Placed]:
        return [Placed(pod, node) for pod in pods if (node := self._node_of(pod.uid) or pod.node_name)]


def _disruption(answer: Any) -> Disruption | None:
    if answer is None:
        return None
    found: Disruption = of_type(answer, Disruption)
    of_type(found.group, str)
    all_of(of_type(found.pods, Sequence), PodInfo)
    int32(found.priority)
    int32(found.spare)
    return found
