"""Merging: which plugins run at an extension point, in which order, with which weights.

`resolve` calls it for each profile. The rules are kube-scheduler's: a profile's multiPoint set is merged into the
default plugins, the result is distributed to the points that each plugin extends, and the configuration of a point
precedes that.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from muster.framework.config.model import PluginReference, Plugins, PluginSet
from muster.framework.config.points import POINTS, WEIGHTED_POINTS
from muster.framework.config.problems import Problem, nearest

Extends: TypeAlias = Mapping[str, frozenset[str]]
"""Plugin name -> the extension points it extends. A plugin that is not in it does not exist."""

ALL = "*"


@dataclass(frozen=True, slots=True)
class PluginRef:
    """A plugin at a point. `weight` multiplies its scores; it is 0 only at points that do not score."""

    name: str
    weight: int


def merge_plugins(defaults: Sequence[tuple[str, int]], plugins: Plugins) -> Plugins:
    """`plugins` with the default plugins merged into its multiPoint set.

    Defaults stay in their order, without those that are disabled; an entry of the same name takes the place of its
    default, and all other entries follow.
    """
    custom = plugins.multi_point
    disabled = {plugin.name for plugin in custom.disabled}
    last_entry = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled, used = [], set()
    for name, weight in () if ALL in disabled else defaults:
        if name in disabled:
            continue
        if name in last_entry:
            used.add(last_entry[name])
            enabled.append(custom.enabled[last_entry[name]])
        else:
            enabled.append(PluginReference(name=name, weight=weight))
    enabled.extend(plugin for index, plugin in enumerate(custom.enabled) if index not in used)
    return plugins.model_copy(update={"multi_point": PluginSet(enabled=tuple(enabled), disabled=custom.disabled)})


def without(plugins: Plugins, names: frozenset[str]) -> Plugins:
    """`plugins` with no mention of `names` among the enabled ones."""

    def kept(members: PluginSet) -> PluginSet:
        return PluginSet(enabled=tuple(p for p in members.enabled if p.name not in names), disabled=members.disabled)

    return Plugins(**{field: kept(getattr(plugins, field)) for field in Plugins.model_fields})


def plugins_at(point: str, plugins: Plugins, extends: Extends) -> tuple[PluginRef, ...]:
    """The plugins of `point`, in calling order.

    First come the point's own entries that override a multiPoint plugin, then the other multiPoint plugins, then the
    point's other entries. A point that disables `*` takes nothing from multiPoint.
    """
    own = [plugin.name for plugin in plugins.at(point).enabled]
    spread = _spread(point, plugins, extends)
    names = [
        *(name for name in own if name in spread),
        *(name for name in spread if name not in own),
        *(name for name in own if name not in spread),
    ]
    weights = _weights(point, plugins, extends)
    return tuple(PluginRef(name, weights.get(name, 0)) for name in names)


def plugin_problems(plugins: Plugins, extends: Extends, path: str, *, known: Collection[str]) -> Iterator[Problem]:
    """Names in merged `plugins` that do not exist, do not fit their point or stand there twice.

    A name that does not exist may be meant for one of `known`.
    """
    for point, plugin_type in POINTS.items():
        seen = set()
        for plugin in plugins.at(point).enabled:
            place = f"{path}.{point}"
            if plugin.name not in extends:
                text = f'{place}: {plugin_type} "{plugin.name}" does not exist'
                yield Problem(place, text, nearest(plugin.name, known))
            elif point not in extends[plugin.name]:
                yield Problem(place, f'{place}: plugin "{plugin.name}" does not extend {plugin_type} plugin')
            elif plugin.name in seen:
                yield Problem(place, f'{place}: plugin "{plugin.name}" already registered as "{plugin_type}"')
            seen.add(plugin.name)
    yield from _multi_point_problems(plugins, extends, f"{path}.multiPoint", known)


def _multi_point_problems(plugins: Plugins, extends: Extends, path: str, known: Collection[str]) -> Iterator[Problem]:
    """A fault is reported for the first point at which the plugin would be put, as kube-scheduler does."""
    names = [plugin.name for plugin in plugins.multi_point.enabled]
    for name in dict.fromkeys(names):
        points = [point for point in POINTS if not _disables(plugins.at(point), ALL)]
        if name not in extends:
            near = nearest(name, known)
            yield from (Problem(path, f'{path}: {POINTS[point]} "{name}" does not exist', near) for point in points[:1])
        elif names.count(name) > 1:
            taken = [point for point in points if name in _spread(point, plugins, extends)]
            free = [point for point in taken if name not in {plugin.name for plugin in plugins.at(point).enabled}]
            for point in free[:1]:
                yield Problem(path, f'{path}: plugin "{name}" already registered as "{POINTS[point]}"')


def weight_problems(plugins: Plugins, extends: Extends, path: str) -> Iterator[Problem]:
    """kube-scheduler's guard against overflow, which in effect refuses a negative weight unless it is the last."""
    for point, title in WEIGHTED_POINTS.items():
        total = 0
        for weight in _weights(point, plugins, extends).values():
            if total < 0:
                place = f"{path}.{point}"
                yield Problem(place, f"{place}: {title} plugins: total score of Score plugins could overflow")
                break
            total += weight


def _weights(point: str, plugins: Plugins, extends: Extends) -> dict[str, int]:
    """Weights at a point that scores: the point's own go before multiPoint's, and 0 or none means 1."""
    weights: dict[str, int] = {}
    if point in WEIGHTED_POINTS:
        for plugin in (*plugins.at(point).enabled, *plugins.multi_point.enabled):
            if point in extends.get(plugin.name, ()):
                weights.setdefault(plugin.name, plugin.weight or 1)
    return weights


def _spread(point: str, plugins: Plugins, extends: Extends) -> dict[str, None]:
    """The multiPoint plugins that the point takes, in order and each once."""
    here = plugins.at(point)
    if _disables(here, ALL):
        return {}
    names = (plugin.name for plugin in plugins.multi_point.enabled)
    return {name: None for name in names if point in extends.get(name, ()) and not _disables(here, name)}


def _disables(plugins: PluginSet, name: str) -> bool:
    return any(plugin.name == name for plugin in plugins.disabled)
