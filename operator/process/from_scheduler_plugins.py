"""Translation of profiles for scheduler-plugins, where CapacityScheduling itself preempts and reserves.

In Muster, DefaultPreemption evicts for it and the snapshot counts for it, so the lists of these two points mean other
plugins. `assemble` translates each configuration with `translated`.
"""

from __future__ import annotations

from muster.framework.config.model import KubeSchedulerConfiguration, PluginReference, Plugins, PluginSet
from muster.plugins.catalog import PREEMPTION, QUOTAS


def translated(configuration: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """The configuration with DefaultPreemption where a profile lists CapacityScheduling at postFilter.

    At reserve, CapacityScheduling is left out.
    """
    profiles = [profile.model_copy(update={"plugins": _plugins(profile.plugins)}) for profile in configuration.profiles]
    return configuration.model_copy(update={"profiles": tuple(profiles)})


def _plugins(plugins: Plugins) -> Plugins:
    post_filter = _replaced(plugins.post_filter, [PluginReference(name=PREEMPTION)])
    return plugins.model_copy(update={"post_filter": post_filter, "reserve": _replaced(plugins.reserve, [])})


def _replaced(plugins: PluginSet, instead: list[PluginReference]) -> PluginSet:
    """The set with `instead` in place of CapacityScheduling, without plugins that are listed already."""
    if all(plugin.name != QUOTAS.plugin for plugin in plugins.enabled):
        return plugins
    names = {plugin.name for plugin in plugins.enabled}
    enabled: list[PluginReference] = []
    for plugin in plugins.enabled:
        if plugin.name == QUOTAS.plugin:
            enabled += [each for each in instead if each.name not in names]
        else:
            enabled.append(plugin)
    return plugins.model_copy(update={"enabled": tuple(enabled)})
