"""Eviction rules: who may be evicted for whom, as the plugins of all profiles say it.

Plugins that look for victims ask through their handles, and the queue asks before it retries pods that only evictions
could help. Plugins of one name in several profiles share what they know, so one of them is called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from functools import cached_property
from typing import Any

from ..contract.eviction import EvictionRule
from ..contract.group import EvictionRulePlugin
from ..model.pod_info import PodInfo
from ..runtime.answers import Failed, int32, of_type
from ..runtime.plugin_calls import PluginCalls
from ..runtime.points import EVICTION_RULE, MAY_CLAIM
from .disruption import PluginsOfProfiles


class EvictionRules:
    """Calls the plugins of all `profiles`."""

    def __init__(self, profiles: PluginsOfProfiles) -> None:
        self._profiles = profiles

    @cached_property
    def _plugins(self) -> dict[str, tuple[EvictionRulePlugin, PluginCalls]]:
        return {plugin.name: (plugin, calls) for plugin, calls in self._profiles.with_calls(EvictionRulePlugin)}

    def of(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule:
        """The rule of the first plugin that has one for these pods, else that of priorities.

        If a plugin fails, nothing may be evicted.
        """
        for plugin, calls in self._plugins.values():
            method = plugin.eviction_rule
            try:
                found = calls.ask(
                    EVICTION_RULE, plugin, members[0], method, members, missing, priority, sound=_rule_or_none
                )
            except Failed as failed:
                calls.log_failure(EVICTION_RULE, plugin, members[0], failed.status)
                return EvictionRule(-(1 << 31))
            if found is not None:
                return found
        return EvictionRule(priority)

    def may_claim(self, pods: Collection[PodInfo], missing: int) -> bool:
        """Whether any plugin may permit evictions for these waiting pods that their priority does not."""
        for plugin, calls in self._plugins.values():
            waiting = [*pods]
            try:
                if calls.ask(MAY_CLAIM, plugin, waiting[0], plugin.may_claim, waiting, missing, sound=_bool):
                    return True
            except Failed as failed:
                calls.log_failure(MAY_CLAIM, plugin, waiting[0], failed.status)
        return False


def _rule_or_none(answer: Any) -> EvictionRule | None:
    if answer is None:
        return None
    found: EvictionRule = of_type(answer, EvictionRule)
    int32(found.below)
    of_type(found.exempt, Collection)
    of_type(found.claimable, Set)
    of_type(found.reclaims, bool)
    hash(found.epoch)
    return found


def _bool(answer: object) -> bool:
    found: bool = of_type(answer, bool)
    return found
