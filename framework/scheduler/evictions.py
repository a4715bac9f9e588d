"""Eviction rules: which pods may be evicted, for which pods, and from what time on, according to the plugins.

Plugins that look for victims ask through their handles, and the queue asks before it retries pods that only evictions
could help. Plugins of one name in several profiles share what they know of rules, so one of them is called. Limits are
those of the preemptor's profile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any

from ..contract.eviction import NO_EVICTIONS, EvictionLimit, EvictionRule
from ..contract.group import EvictionLimitPlugin, EvictionRulePlugin
from ..contract.plugin import Plugin
from ..model.pod import UNSCHEDULABLE
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed, boolean, int32, of_type, text
from ..runtime.plugin_calls import PluginCalls
from ..runtime.points import EVICTION_LIMIT, EVICTION_RULE, MAY_CLAIM
from .disruption import PluginsOfProfiles

_LATEST = 253_402_300_799.0
"""The last second that a timestamp can name."""


class EvictionRules:
    """Calls the plugins of all `profiles`."""

    def __init__(self, profiles: PluginsOfProfiles) -> None:
        self._profiles = profiles

    @cached_property
    def _plugins(self) -> dict[str, tuple[EvictionRulePlugin, PluginCalls]]:
        return {plugin.name: (plugin, calls) for plugin, calls in self._profiles.with_calls(EvictionRulePlugin)}

    @cached_property
    def _limits(self) -> dict[str, list[tuple[EvictionLimitPlugin, PluginCalls]]]:
        found: dict[str, list[tuple[EvictionLimitPlugin, PluginCalls]]] = {}
        for plugin, calls in self._profiles.with_calls(EvictionLimitPlugin):
            found.setdefault(plugin.handle.profile_name, []).append((plugin, calls))
        return found

    def of(self, members: Sequence[PodInfo], missing: int, priority: int, *, reason: str, profile: str) -> EvictionRule:
        """The rule of the first plugin that has one for these pods, else that of priorities; with all limits.

        If a plugin fails, nothing may be evicted.
        """
        limits = []
        for plugin, calls in self._limits.get(profile, ()):
            method = plugin.eviction_limit
            try:
                limit = calls.ask(
                    EVICTION_LIMIT, plugin, members[0], method, members, missing, priority, reason, sound=_limit_or_none
                )
            except Failed as failed:
                calls.log_failure(EVICTION_LIMIT, plugin, members[0], failed.status)
                return NO_EVICTIONS
            if limit is not None:
                limits.append(replace(limit, protected_until=_asked_once(plugin, calls, limit)))
        rule = self._rule(members, missing, priority)
        if rule.limit is not None:
            limits.append(rule.limit)
        return replace(rule, limit=_strictest(limits)) if limits else rule

    def protected_until(self, pod: PodInfo) -> float:
        """When the limits of all profiles cease to protect a pod that is to be evicted for no preemptor.

        0.0 for a pod that none of them protects now. If a plugin fails, the pod is protected for good.
        """
        latest = 0.0
        for plugin, calls in (each for limits in self._limits.values() for each in limits):
            method = plugin.eviction_limit
            try:
                limit = calls.ask(
                    EVICTION_LIMIT, plugin, pod, method, (pod,), 1, 0, UNSCHEDULABLE, sound=_limit_or_none
                )
            except Failed as failed:
                calls.log_failure(EVICTION_LIMIT, plugin, pod, failed.status)
                return inf
            if limit is not None:
                latest = max(latest, _asked_once(plugin, calls, limit)(pod))
        return latest

    def _rule(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule:
        for plugin, calls in self._plugins.values():
            method = plugin.eviction_rule
            try:
                found = calls.ask(
                    EVICTION_RULE, plugin, members[0], method, members, missing, priority, sound=_rule_or_none
                )
            except Failed as failed:
                calls.log_failure(EVICTION_RULE, plugin, members[0], failed.status)
                return NO_EVICTIONS
            if found is not None and found.limit is not None:
                return replace(
                    found, limit=replace(found.limit, protected_until=_asked_once(plugin, calls, found.limit))
                )
            if found is not None:
                return found
        return EvictionRule(priority)

    def may_claim(self, pods: Collection[PodInfo], missing: int) -> bool:
        """Whether any plugin may permit evictions for these waiting pods that their priority does not."""
        for plugin, calls in self._plugins.values():
            waiting = [*pods]
            try:
                if calls.ask(MAY_CLAIM, plugin, waiting[0], plugin.may_claim, waiting, missing, sound=boolean):
                    return True
            except Failed as failed:
                calls.log_failure(MAY_CLAIM, plugin, waiting[0], failed.status)
        return False


def _asked_once(plugin: Plugin, calls: PluginCalls, limit: EvictionLimit) -> Callable[[PodInfo], float]:
    """The limit's question about a pod, asked once for each pod. A pod about which it fails is protected for good."""
    known: dict[str, float] = {}

    def protected_until(pod: PodInfo) -> float:
        found = known.get(pod.uid)
        if found is None:
            try:
                found = calls.ask(EVICTION_LIMIT, plugin, pod, limit.protected_until, pod, sound=_moment)
            except Failed as failed:
                calls.log_failure(EVICTION_LIMIT, plugin, pod, failed.status)
                found = inf
            known[pod.uid] = found
        return found

    return protected_until


def _strictest(limits: Sequence[EvictionLimit]) -> EvictionLimit:
    """One limit that holds if any of these does."""
    if len(limits) == 1:
        return limits[0]
    latest = max(limits, key=lambda limit: limit.not_before)
    return replace(latest, protected_until=lambda pod: max(limit.protected_until(pod) for limit in limits))


def _rule_or_none(answer: Any) -> EvictionRule | None:
    if answer is None:
        return None
    found: EvictionRule = of_type(answer, EvictionRule)
    int32(found.below)
    of_type(found.exempt, Collection)
    of_type(found.claimable, Set)
    boolean(found.reclaims)
    _limit_or_none(found.limit)
    return found


def _limit_or_none(answer: Any) -> EvictionLimit | None:
    if answer is None:
        return None
    found: EvictionLimit = of_type(answer, EvictionLimit)
    if _moment(found.not_before) == inf:
        raise ValueError("a preemptor that may never evict pods waits for no time")
    text(found.reason)
    return found


def _moment(answer: Any) -> float:
    found: float = of_type(answer, float)
    if not (0.0 <= found <= _LATEST or found == inf):
        raise ValueError(f"{found} is no moment in seconds since the epoch")
    return found
