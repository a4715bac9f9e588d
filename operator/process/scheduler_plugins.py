"""Profiles that were written for scheduler-plugins, where CapacityScheduling preempts and reserves by itself.

Here, DefaultPreemption evicts for it and the snapshot counts for it, so the lists of these two points mean other
plugins. `assemble` reads each configuration through `as_meant`.
"""

from __future__ import annotations

from muster.framework.config.model import KubeSchedulerConfiguration, PluginReference, Plugins, PluginSet
from muster.plugins.capacityscheduling.api import NAME


def as_meant(configuration: KubeSchedulerConfiguration, preemption: str) -> KubeSchedulerConfiguration:
    """The configuration with the plugin named `preemption` where a profile lists CapacityScheduling at postFilter.

    At reserve, CapacityScheduling is left out.
    """
    profiles = [
        profile.model_copy(update={"plugins": _plugins(profile.plugins, preemption)})
        for profile in configuration.profiles
    ]
    return configuration.model_copy(update={"profiles": tuple(profiles)})


def _plugins(plugins: Plugins, preemption: str) -> Plugins:
    post_filter = _replaced(plugins.post_filter, [PluginReference(name=preemption)])
    return plugins.model_copy(update={"post_filter": post_filter, "reserve": _replaced(plugins.reserve, [])})


def _replaced(plugins: PluginSet, instead: list[PluginReference]) -> PluginSet:
    """The set with others in place of CapacityScheduling, unless they are listed already."""
    if all(plugin.name != NAME for plugin in plugins.enabled):
        return plugins
    names = {plugin.name for plugin in plugins.enabled}
    enabled: list[PluginReference] = []
    for plugin in plugins.enabled:
        if plugin.name == NAME:
            enabled += [each for each in instead if each.name not in names]
        else:
            enabled.append(plugin)
    return plugins.model_copy(update={"enabled": tuple(enabled)})
