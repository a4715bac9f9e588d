"""The catalog: every plugin, in this repository and in other packages, and the plugins that are on by default.

The operator resolves the configuration against it. Another package provides plugins by entry points of the group
`muster.plugins`; each has a plugin's name and refers to its class. Installed plugins are known by these names only; a
package is imported only if a profile enables one of its plugins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from muster.framework.config import ConfigurationError, PluginRef, Problem, ResolvedProfile
from muster.framework.contract import GroupKind, Plugin, QuotaKind, WatchedKind
from muster.framework.contract.plugin import extension_points
from muster.framework.runtime.plugin_set import in_a_line

from .autopodgroups.plugin import AutoPodGroups
from .binding.default_binder import DefaultBinder
from .capacityscheduling import definition as elastic_quotas
from .capacityscheduling.kind import ElasticQuotas
from .capacityscheduling.plugin import CapacityScheduling
from .coscheduling import definition as pod_groups
from .coscheduling.plugin import Coscheduling
from .defaultpreemption.budgets import POD_DISRUPTION_BUDGETS, DisruptionBudgets
from .defaultpreemption.plugin import DefaultPreemption
from .dynamicresources.plugin import DynamicResources
from .gangscheduling.placements import PodGroupPodsCount, TopologyPlacementGenerator
from .gangscheduling.plugin import GangScheduling
from .images.image_locality import ImageLocality
from .interpodaffinity.inter_pod_affinity import InterPodAffinity
from .limits.pod_limits import PodLimits
from .noderesourcetopology.plugin import NodeResourceTopologyMatch
from .nodes.node_affinity import NodeAffinityPlugin
from .nodes.node_declared_features import NodeDeclaredFeatures
from .nodes.node_name import NodeName
from .nodes.node_unschedulable import NodeUnschedulable
from .nodes.taint_toleration import TaintToleration
from .ports.node_ports import NodePorts
from .preemptiontiming.plugin import PreemptionTiming
from .queueing.priority_sort import PrioritySort
from .queueing.scheduling_gates import SchedulingGates
from .reservation.plugin import Reservation
from .resources.balanced_allocation import NodeResourcesBalancedAllocation
from .resources.fit import NodeResourcesFit
from .topologyspread.pod_topology_spread import PodTopologySpread
from .volumes.binding import VolumeBinding
from .volumes.limits import NodeVolumeLimits
from .volumes.restrictions import VolumeRestrictions
from .volumes.zone import VolumeZone

__all__ = [
    "ALWAYS",
    "COSCHEDULING",
    "DEFAULTS",
    "DEFAULT_SORT",
    "GROUP",
    "IN_TREE",
    "KNOWN_UNIMPLEMENTED",
    "POD_DISRUPTION_BUDGETS",
    "PREEMPTION",
    "QUOTAS",
    "DisruptionBudgets",
    "definitions",
    "discover",
    "extension_points",
    "group_kinds",
    "guarded",
    "known",
]

GROUP: Final = "muster.plugins"
_OURS: Final = "muster-scheduler"

_DEFAULT_PLUGINS: Final[tuple[tuple[type[Plugin], int], ...]] = (
    (SchedulingGates, 0),
    (PrioritySort, 0),
    (NodeName, 0),
    (NodeUnschedulable, 0),
    (TaintToleration, 3),
    (NodeAffinityPlugin, 2),
    (NodePorts, 0),
    (NodeResourcesFit, 1),
    (VolumeRestrictions, 0),
    (NodeVolumeLimits, 0),
    (VolumeBinding, 0),
    (VolumeZone, 0),
    (PodTopologySpread, 2),
    (InterPodAffinity, 2),
    (DynamicResources, 2),
    (DefaultPreemption, 0),
    (NodeResourcesBalancedAllocation, 1),
    (ImageLocality, 1),
    (DefaultBinder, 0),
    (NodeDeclaredFeatures, 0),
    (GangScheduling, 0),
    (TopologyPlacementGenerator, 0),
    (PodGroupPodsCount, 1),
)

_OTHER_PLUGINS: Final[tuple[type[Plugin], ...]] = (
    AutoPodGroups,
    CapacityScheduling,
    Coscheduling,
    NodeResourceTopologyMatch,
    PodLimits,
    PreemptionTiming,
    Reservation,
)

IN_TREE: Final[Mapping[str, type[Plugin]]] = MappingProxyType(
    {plugin.name: plugin for plugin, _ in _DEFAULT_PLUGINS} | {plugin.name: plugin for plugin in _OTHER_PLUGINS}
)
"""The plugins of this package by name."""

PREEMPTION: Final = DefaultPreemption.name
"""The plugin that evicts pods."""

COSCHEDULING: Final = Coscheduling.name
"""The plugin of PodGroups by label. Muster's default profile enables it (`operator.process.settings`)."""

QUOTAS: Final[QuotaKind[Any]] = ElasticQuotas()
"""The kind of quotas, which the plugin of its name enforces in every profile."""

_OF_MEMBERS: Final = ("preEnqueue", "reserve", "postBind")
"""The points at which `COSCHEDULING` follows the members of groups."""

DEFAULT_SORT: Final = PrioritySort.name
"""The queue sort of kube-scheduler's default profile. A profile has one, and `COSCHEDULING` is one, too."""

ALWAYS: Final = (PodLimits.name, Reservation.name, CapacityScheduling.name)
"""Plugins that every profile runs, so that it may configure them without enabling them."""

DEFAULTS: Final = tuple((plugin.name, weight) for plugin, weight in _DEFAULT_PLUGINS)
"""Name and weight (0: none) of each plugin that is on by default, in kube-scheduler's multiPoint order.

GangScheduling and the plugins after it are among them because kube-scheduler enables them with the feature gates
GenericWorkload and TopologyAwareWorkloadScheduling; where no such group exists, they do nothing.
"""

KNOWN_UNIMPLEMENTED: Final = frozenset({"DeferredPodScheduling"})
"""Names of the plugins that kube-scheduler has in its tree and this package does not."""


def discover(enabled: Collection[str], found: Iterable[EntryPoint] | None = None) -> Mapping[str, type[Plugin]]:
    """The plugins of this tree, and the plugins in `enabled` that other packages provide, by name.

    Only packages that provide one of `enabled` are imported, so a package that is not used cannot fail. A name that no
    package provides is left to `resolve`.

    Args:
        enabled: the names that a profile enables.
        found: the entry points to choose from; by default those of all installed packages.

    Raises:
        ConfigurationError: plugins of `enabled` that cannot be loaded, are no plugins, or that two packages have.
    """
    brought: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP) if found is None else found:
        if point.name in enabled:
            brought.setdefault(point.name, []).append(point)
    plugins, faults = dict(IN_TREE), []
    for name, points in brought.items():
        owners = [_OURS] * (name in IN_TREE) + [_package(point) for point in points]
        try:
            if len(owners) > 1:
                raise _Unusable(f"two packages have one: {' and '.join(owners[:2])}")
            plugins[name] = _load(points[0])
        except _Unusable as error:
            faults.append(Problem("plugins", f'plugin "{name}" cannot be used: {error}'))
    if faults:
        raise ConfigurationError(faults)
    return MappingProxyType(plugins)


def known() -> dict[str, str]:
    """The names of all plugins that a profile may enable, with the package that brings each; nothing is imported."""
    brought = {point.name: _package(point) for point in entry_points(group=GROUP)}
    return brought | dict.fromkeys(IN_TREE, _OURS)


def group_kinds(registry: Mapping[str, type[Plugin]] | None = None) -> tuple[GroupKind[Any], ...]:
    """The kinds of groups that these plugins know, those of this tree first.

    Where objects are named without their API group, the first of two kinds of one name is meant.

    Args:
        registry: the plugins by name; by default all that are installed, less those that cannot be loaded.
    """
    plugins = dict(IN_TREE if registry is None else registry)
    if registry is None:
        for point in entry_points(group=GROUP):
            with suppress(_Unusable):
                plugins.setdefault(point.name, _load(point))
    first = (Coscheduling.name, GangScheduling.name)
    names = [*first, *sorted(plugins.keys() - first)]
    found = (getattr(plugins.get(name), "kind", None) for name in names)
    return tuple(kind for kind in found if isinstance(kind, GroupKind))


def definitions() -> list[dict[str, Any]]:
    """The `CustomResourceDefinition`s of the kinds that plugins of this tree bring, as plain data."""
    return [pod_groups.definition(), elastic_quotas.definition()]


def guarded(profile: ResolvedProfile) -> ResolvedProfile:
    """The profile with PodLimits in front, and Reservation and CapacityScheduling behind its filters.

    Of several plugins that reject a pod at PreFilter, the last one is the reason: quotas go before capacity. If
    Coscheduling runs at Permit, it also runs at `_OF_MEMBERS`, where it counts the members that have nodes. Profiles
    written for scheduler-plugins may omit these points, because its plugin reads the scheduler's snapshot instead.
    """
    points = {point: [each for each in refs if each.name not in ALWAYS] for point, refs in profile.points.items()}
    limits, reservation, quotas = (PluginRef(name, 0) for name in ALWAYS)
    points["preFilter"] = [limits, reservation, *points["preFilter"], quotas]
    points["filter"] = [*points["filter"], reservation, quotas]
    if any(each.name == COSCHEDULING for each in points["permit"]):
        for point in _OF_MEMBERS:
            if all(each.name != COSCHEDULING for each in points[point]):
                points[point].append(PluginRef(COSCHEDULING, 0))
    return replace(profile, points=MappingProxyType({point: tuple(refs) for point, refs in points.items()}))


class _Unusable(Exception):
    """The reason why a plugin of another package cannot be used."""


def _load(point: EntryPoint) -> type[Plugin]:
    where = f"{point.value} of {_package(point)}"
    try:
        plugin = point.load()
    except (Exception, SystemExit) as error:
        raise _Unusable(f"{where} cannot be imported: {in_a_line(error)}") from error
    if not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
        raise _Unusable(f"{where} is no plugin class")
    if (name := getattr(plugin, "name", None)) != point.name:
        raise _Unusable(f"{where} calls itself {name!r}")
    if plugin.args_model is not None and not (
        isinstance(plugin.args_model, type) and issubclass(plugin.args_model, BaseModel)
    ):
        raise _Unusable(f"the args_model of {where} is no pydantic model")
    if not (isinstance(plugin.watches, tuple) and all(isinstance(kind, WatchedKind) for kind in plugin.watches)):
        raise _Unusable(f"watches of {where} is no tuple of WatchedKind")
    return plugin


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
