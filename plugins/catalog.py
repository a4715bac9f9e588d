"""The catalogue: every plugin there is, in this tree and in other packages, and which of them are on by default.

The operator resolves the configuration against it. Another package brings plugins by entry points of the group
`muster.plugins`, each of which names a plugin class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Final

from muster.framework.contract import Plugin
from muster.framework.runtime.profile import extension_points

from .binding.default_binder import DefaultBinder
from .coscheduling.plugin import Coscheduling
from .images.image_locality import ImageLocality
from .nodes.node_affinity import NodeAffinity
from .nodes.node_name import NodeName
from .nodes.node_unschedulable import NodeUnschedulable
from .nodes.taint_toleration import TaintToleration
from .ports.node_ports import NodePorts
from .queueing.priority_sort import PrioritySort
from .queueing.scheduling_gates import SchedulingGates
from .resources.balanced_allocation import NodeResourcesBalancedAllocation
from .resources.fit import NodeResourcesFit

__all__ = ["DEFAULTS", "GROUP", "IN_TREE", "KNOWN_UNIMPLEMENTED", "PluginConflict", "discover", "extension_points"]

GROUP: Final = "muster.plugins"

_DEFAULT_PLUGINS: Final[tuple[tuple[type[Plugin], int], ...]] = (
    (SchedulingGates, 0),
    (PrioritySort, 0),
    (NodeName, 0),
    (NodeUnschedulable, 0),
    (TaintToleration, 3),
    (NodeAffinity, 2),
    (NodePorts, 0),
    (NodeResourcesFit, 1),
    (NodeResourcesBalancedAllocation, 1),
    (ImageLocality, 1),
    (DefaultBinder, 0),
)

_OTHER_PLUGINS: Final[tuple[type[Plugin], ...]] = (Coscheduling,)

IN_TREE: Final[Mapping[str, type[Plugin]]] = MappingProxyType(
    {plugin.name: plugin for plugin, _ in _DEFAULT_PLUGINS} | {plugin.name: plugin for plugin in _OTHER_PLUGINS}
)
"""The plugins of this package by name."""

DEFAULTS: Final = tuple((plugin.name, weight) for plugin, weight in _DEFAULT_PLUGINS)
"""Name and weight (0: none) of each plugin that is on by default, in kube-scheduler's multiPoint order."""

KNOWN_UNIMPLEMENTED: Final = frozenset(
    {
        "DefaultPreemption",
        "DeferredPodScheduling",
        "DynamicResources",
        "GangScheduling",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
        "NodeVolumeLimits",
        "PodGroupPodsCount",
        "PodTopologySpread",
        "TopologyPlacementGenerator",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)
"""Names of the plugins that kube-scheduler has in its tree and this package does not."""


class PluginConflict(Exception):
    """An entry point that names no plugin, or a name that two packages give to a plugin of theirs."""


def discover(found: Iterable[EntryPoint] | None = None) -> Mapping[str, type[Plugin]]:
    """All plugins by name: those in this tree and those that entry points name.

    Args:
        found: the entry points to load; by default those of all installed packages.

    Raises:
        PluginConflict: two plugins have one name, or an entry point does not name a plugin class.
    """
    plugins = dict(IN_TREE)
    packages = dict.fromkeys(IN_TREE, "muster-scheduler")
    for point in entry_points(group=GROUP) if found is None else found:
        plugin = _load(point)
        package = _package(point)
        if plugin.name in plugins:
            raise PluginConflict(
                f'two packages have a plugin named "{plugin.name}": {packages[plugin.name]} and {package}'
            )
        plugins[plugin.name] = plugin
        packages[plugin.name] = package
    return MappingProxyType(plugins)


def _load(point: EntryPoint) -> type[Plugin]:
    plugin = point.load()
    if isinstance(plugin, type) and issubclass(plugin, Plugin) and isinstance(getattr(plugin, "name", None), str):
        return plugin
    raise PluginConflict(f'entry point "{point.name}" of {_package(point)} names no plugin class: {point.value}')


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
