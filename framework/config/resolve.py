"""Resolving: from a configuration and the existing plugins to the plugins that each profile runs.

The builder of the profiles calls it once, with facts about plugins. It creates no plugin itself.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel

from muster.framework.config.args.resources import NodeResourcesFitArgs
from muster.framework.config.args.table import ARGS_MODELS, decode_plugin_args
from muster.framework.config.merge import (
    Extends,
    PluginRef,
    merge_plugins,
    plugin_problems,
    plugins_at,
    weight_problems,
    without,
)
from muster.framework.config.model import KubeSchedulerConfiguration, KubeSchedulerProfile
from muster.framework.config.points import POINTS
from muster.framework.config.problems import ConfigurationError, Problem, as_json

_NO_MODELS: Final[Mapping[str, type[BaseModel]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """A profile with its plugins and their arguments resolved.

    Attributes:
        scheduler_name: the `spec.schedulerName` it serves.
        percentage_of_nodes_to_score: 0 to 100, where 0 is kube-scheduler's adaptive share; None for all nodes.
        points: every extension point -> its plugins in calling order.
        args: plugin name -> arguments, for each plugin in `points` that has any: a model, or plain values where the
            plugin has no model.
        unimplemented: the known but unimplemented plugins that the profile enables or configures, sorted.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: Mapping[str, tuple[PluginRef, ...]]
    args: Mapping[str, object]
    unimplemented: tuple[str, ...]


def enabled_plugins(configuration: KubeSchedulerConfiguration, defaults: Sequence[tuple[str, int]]) -> frozenset[str]:
    """The names that a profile enables at some point: those plugins have to be there when it is resolved."""
    names: set[str] = set()
    for profile in configuration.profiles:
        merged = merge_plugins(defaults, profile.plugins)
        for members in (merged.multi_point, *(merged.at(point) for point in POINTS)):
            names.update(plugin.name for plugin in members.enabled)
    return frozenset(names)


def resolve(
    configuration: KubeSchedulerConfiguration,
    *,
    defaults: Sequence[tuple[str, int]],
    extends: Extends,
    args_models: Mapping[str, type[BaseModel]] = _NO_MODELS,
    known_unimplemented: frozenset[str] = frozenset(),
    always: Sequence[str] = (),
    known: Collection[str] = (),
) -> tuple[ResolvedProfile, ...]:
    """The profiles of `configuration`, in its order.

    Args:
        configuration: as returned by `load`.
        defaults: name and weight (0 for none) of each plugin that is on by default, in multiPoint order.
        extends: name of each plugin that exists -> the points it extends, named as in `POINTS`.
        args_models: the `args_model` of plugins outside of ARGS_MODELS that declare one.
        known_unimplemented: plugins that kube-scheduler has and Muster does not. A profile may name them; they are
            left out.
        always: plugins that run whether a profile enables them or not; their arguments are read all the same.
        known: further plugins that a profile could enable; a name that does not exist may be meant for one of them.

    Raises ConfigurationError with the faults of all profiles.
    """
    missing = known_unimplemented.difference(extends)
    ignored = _resources_ignored_for_extenders(configuration)
    names_known = frozenset(extends).union(known, known_unimplemented)
    profiles, problems = [], []
    for index, profile in enumerate(configuration.profiles):
        path = f"profiles[{index}]"
        merged = without(merge_plugins(defaults, profile.plugins), missing)
        points = {point: plugins_at(point, merged, extends) for point in POINTS}
        place = f"{path}.plugins"
        faults = list(plugin_problems(merged, extends, place, known=names_known))
        problems += faults or _count_problems(profile, points, place)
        problems += weight_problems(merged, extends, place)
        names = dict.fromkeys([*always, *(plugin.name for plugins in points.values() for plugin in plugins)])
        args, faults = _args(profile, names, args_models, f"{path}.pluginConfig")
        problems += faults
        profiles.append(
            ResolvedProfile(
                scheduler_name=profile.scheduler_name or "",
                percentage_of_nodes_to_score=_percentage(profile, configuration),
                points=MappingProxyType(points),
                args=MappingProxyType(_ignoring(args, ignored)),
                unimplemented=_named(profile, missing),
            )
        )
    problems += _queue_sort_problems(profiles)
    if problems:
        raise ConfigurationError(problems)
    return tuple(profiles)


def _percentage(profile: KubeSchedulerProfile, configuration: KubeSchedulerConfiguration) -> int | None:
    own = profile.percentage_of_nodes_to_score
    return configuration.percentage_of_nodes_to_score if own is None else own


def _named(profile: KubeSchedulerProfile, names: frozenset[str]) -> tuple[str, ...]:
    """The plugins out of `names` that the profile itself, not the defaults, enables or configures."""
    sets = [profile.plugins.multi_point, *(profile.plugins.at(point) for point in POINTS)]
    enabled = {plugin.name for members in sets for plugin in members.enabled}
    configured = {entry.name for entry in profile.plugin_config}
    return tuple(sorted(names & (enabled | configured)))


def _args(
    profile: KubeSchedulerProfile,
    names: Iterable[str],
    args_models: Mapping[str, type[BaseModel]],
    path: str,
) -> tuple[dict[str, object], list[Problem]]:
    """Arguments of the plugins `names`: those given, else the defaults of its model."""
    given = {entry.name: (entry.args, f"{path}[{index}].args") for index, entry in enumerate(profile.plugin_config)}
    args: dict[str, object] = {}
    problems: list[Problem] = []
    for name in names:
        value, place = given.get(name, (None, f"{path}[{as_json(name)}].args"))
        if name in ARGS_MODELS:
            args[name] = ARGS_MODELS[name]() if value is None else value
        elif name in args_models:
            try:
                args[name] = decode_plugin_args(args_models[name], value, name=name, path=place)
            except ConfigurationError as error:
                problems += error.errors
        elif value is not None:
            args[name] = value
    return args, problems


def _resources_ignored_for_extenders(configuration: KubeSchedulerConfiguration) -> tuple[str, ...]:
    managed = (resource for extender in configuration.extenders for resource in extender.managed_resources)
    return tuple(resource.name for resource in managed if resource.ignored_by_scheduler)


def _ignoring(args: Mapping[str, object], resources: tuple[str, ...]) -> dict[str, object]:
    """The arguments with the extenders' resources in place of those configured for NodeResourcesFit to ignore."""
    fit = args.get("NodeResourcesFit")
    if not resources or not isinstance(fit, NodeResourcesFitArgs):
        return dict(args)
    return {**args, "NodeResourcesFit": fit.model_copy(update={"ignored_resources": resources})}


def _count_problems(
    profile: KubeSchedulerProfile, points: Mapping[str, tuple[PluginRef, ...]], path: str
) -> list[Problem]:
    owner = f'for profile with scheduler name "{profile.scheduler_name}"'
    counts = {
        "queueSort": (1, 1, "only one queue sort plugin required {owner}, but got {count}"),
        "bind": (1, None, "at least one bind plugin is needed {owner}"),
        "placementGenerate": (0, 1, "at most one placement generate plugin is allowed {owner}"),
    }
    problems = []
    for point, (least, most, message) in counts.items():
        count = len(points[point])
        if count < least or (most is not None and count > most):
            place = f"{path}.{point}"
            text = f"{place}: {message.format(owner=owner, count=count)}"
            problems.append(Problem(place, text, compared=(path,)))
    return problems


def _queue_sort_problems(profiles: Sequence[ResolvedProfile]) -> Iterator[Problem]:
    """One queue serves all profiles, so all must resolve to the same queue sort plugin and arguments."""
    sorters = [next((plugin.name for plugin in profile.points["queueSort"]), "") for profile in profiles]
    for index, (profile, sorter) in enumerate(zip(profiles, sorters, strict=True)):
        if not (sorter and sorters[0]):
            continue
        place, name = f"profiles[{index}]", profile.scheduler_name
        if sorter != sorters[0]:
            fault = f'different queue sort plugins for profile "{name}": "{sorter}", first: "{sorters[0]}"'
            yield Problem(place, f"{place}: {fault}", compared=("profiles",))
        elif profile.args.get(sorter) != profiles[0].args.get(sorter):
            text = f'{place}: different queue sort plugin args for profile "{name}"'
            yield Problem(place, text, compared=("profiles",))
