"""The settings of a run: the command line's options and the configuration, checked and combined."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from muster.framework.config import (
    POINTS,
    ConfigurationError,
    Plugins,
    PluginSet,
    Problem,
    default_configuration,
    enabled_plugins,
    nearest,
    read,
    resolve,
)
from muster.framework.config import PluginReference as PluginName
from muster.framework.config.merge import ALL
from muster.framework.config.problems import duplicate, required
from muster.framework.config.validation import problems_of
from muster.framework.contract.plugin import extension_points
from muster.operator.podgroups.membership import GroupKinds
from muster.plugins.catalog import (
    ALWAYS,
    COSCHEDULING,
    DEFAULT_SORT,
    DEFAULTS,
    KNOWN_UNIMPLEMENTED,
    discover,
    group_kinds,
    guarded,
    known,
)

from .from_scheduler_plugins import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from muster.framework.config import KubeSchedulerConfiguration, ResolvedProfile
    from muster.framework.contract import Plugin, WatchedKind
    from muster.operator.recording.session import RecordingOptions


LEASE = "muster"
_NAME_FLAG = "--scheduler-name"


@dataclass(frozen=True, slots=True)
class Assembly:
    """A configuration with its profiles and their plugins.

    Attributes:
        assumed_ttl: seconds after its binding until a pod that the API never reports is forgotten; None for never.
        recording: the options of a recording; None without one.
    """

    configuration: KubeSchedulerConfiguration
    profiles: tuple[ResolvedProfile, ...]
    registry: Mapping[str, type[Plugin]]
    assumed_ttl: float | None = None
    recording: RecordingOptions | None = None

    def enabled(self) -> tuple[str, ...]:
        """The names of the plugins that the profiles run."""
        names = (ref.name for profile in self.profiles for refs in profile.points.values() for ref in refs)
        return tuple(dict.fromkeys(names))

    @property
    def groups(self) -> GroupKinds:
        """The kinds of groups of its plugins, also of plugins that no profile runs."""
        return GroupKinds(group_kinds(self.registry))

    def kinds_to_read(self) -> tuple[WatchedKind, ...]:
        """The kinds, besides pods and nodes, that tools read: groups, and kinds that the profiles' plugins watch."""
        return tuple(dict.fromkeys((*self.groups.watched, *self.watched())))

    def watched(self) -> tuple[WatchedKind, ...]:
        """The kinds, besides pods and nodes, that the profiles' plugins watch."""
        return tuple(dict.fromkeys(kind for name in self.enabled() for kind in self.registry[name].watches))


def muster_configuration() -> KubeSchedulerConfiguration:
    """The configuration without a file: kube-scheduler's default profile named `muster`, with Coscheduling in it.

    Without a file there is a single process, so no leader is elected.
    """
    configuration = with_leader_election(default_configuration(), False)
    gangs = Plugins(
        multi_point=PluginSet(enabled=(PluginName(name=COSCHEDULING),), disabled=(PluginName(name=DEFAULT_SORT),))
    )
    profiles = tuple(profile.model_copy(update={"plugins": gangs}) for profile in configuration.profiles)
    return configuration.model_copy(update={"profiles": profiles})


def read_configuration(path: Path | None) -> KubeSchedulerConfiguration:
    """The configuration in the file, or `muster_configuration`.

    A file that names no lease gets a lease of Muster, because kube-scheduler's lease would never become free.

    Raises ConfigurationError with all errors in it, OSError if it cannot be read.
    """
    if path is None:
        return muster_configuration()
    reading = read(path.read_bytes(), str(path))
    configuration = reading.configuration
    if configuration is None or reading.problems:
        further = () if configuration is None else reading.own(_plugin_problems(configuration))
        raise ConfigurationError([*reading.problems, *further], source=str(path))
    election = configuration.leader_election
    if "resource_name" not in election.model_fields_set:
        election = election.model_copy(update={"resource_name": LEASE})
    return configuration.model_copy(update={"leader_election": election})


def with_leader_election(configuration: KubeSchedulerConfiguration, wanted: bool | None) -> KubeSchedulerConfiguration:
    """The configuration with leader election switched on or off; None leaves it as it is.

    Raises ConfigurationError for settings of the election that are invalid if it is switched on.
    """
    if wanted is None:
        return configuration
    election = configuration.leader_election.model_copy(update={"leader_elect": wanted})
    switched = configuration.model_copy(update={"leader_election": election})
    if faults := problems_of(switched):
        raise ConfigurationError(faults)
    return switched


def with_scheduler_names(configuration: KubeSchedulerConfiguration, names: Sequence[str]) -> KubeSchedulerConfiguration:
    """The configuration with the schedulerNames `names`: a copy of its only profile for each name.

    Raises ConfigurationError if it has several profiles, or if a name is empty or repeated.
    """
    if not names:
        return configuration
    faults = [required(_NAME_FLAG) for name in names if not name]
    faults += [duplicate(_NAME_FLAG, name) for name, count in Counter(names).items() if name and count > 1]
    if faults:
        raise ConfigurationError(faults)
    if len(configuration.profiles) != 1:
        problem = Problem("profiles", f"profiles: {_NAME_FLAG} needs a configuration with a single profile")
        raise ConfigurationError([problem])
    only = configuration.profiles[0]
    profiles = tuple(only.model_copy(update={"scheduler_name": name}) for name in names)
    return configuration.model_copy(update={"profiles": profiles})


def assemble(configuration: KubeSchedulerConfiguration, *, source: str = "") -> Assembly:
    """Resolve the configuration with the installed plugins.

    Raises ConfigurationError, also for plugins that cannot be loaded; `source` is the source of the configuration.
    """
    meant = translated(configuration)
    try:
        registry = discover(enabled_plugins(meant, DEFAULTS))
        profiles = resolve(
            meant,
            defaults=DEFAULTS,
            extends={name: extension_points(plugin) for name, plugin in registry.items()},
            args_models={name: plugin.args_model for name, plugin in registry.items() if plugin.args_model is not None},
            known_unimplemented=KNOWN_UNIMPLEMENTED,
            always=ALWAYS,
            known=known(),
        )
    except ConfigurationError as error:
        raise ConfigurationError(error.errors, source=source) from error
    return Assembly(configuration, tuple(guarded(profile) for profile in profiles), registry)


def read_assembly(path: Path | None) -> Assembly:
    """The assembly of the configuration in the file, or of `muster_configuration`. Raises as both steps do."""
    return assemble(read_configuration(path), source=str(path or ""))


def _plugin_problems(configuration: KubeSchedulerConfiguration) -> Sequence[Problem]:
    """The errors of the configuration's plugins."""
    try:
        assemble(configuration)
    except ConfigurationError as error:
        return error.errors
    return ()


def cautions(assembly: Assembly) -> Iterator[str]:
    """Sentences about settings that are valid, but may be mistakes."""
    if not any(
        plugin.name == COSCHEDULING for profile in assembly.profiles for plugin in chain(*profile.points.values())
    ):
        yield f"no profile enables {COSCHEDULING}: PodGroups are ignored, and their members are scheduled one by one"
    for profile in assembly.profiles:
        if profile.unimplemented:
            names = ", ".join(profile.unimplemented)
            yield f'profile "{profile.scheduler_name}" runs without {names}: Muster does not have these plugins yet'
    yield from _without_effect(assembly.configuration)


def _without_effect(configuration: KubeSchedulerConfiguration) -> Iterator[str]:
    """The names of plugins that do not exist, in places where kube-scheduler accepts them without effect."""
    names = {*known(), *KNOWN_UNIMPLEMENTED}
    for index, profile in enumerate(configuration.profiles):
        sets = {"multiPoint": profile.plugins.multi_point} | {point: profile.plugins.at(point) for point in POINTS}
        places = [
            (f"plugins.{point}.disabled[{number}]", plugin.name)
            for point, plugins in sets.items()
            for number, plugin in enumerate(plugins.disabled)
        ]
        places += [(f"pluginConfig[{number}]", entry.name) for number, entry in enumerate(profile.plugin_config)]
        for place, name in places:
            if name not in names and name != ALL:
                text = f'profiles[{index}].{place} has no effect: there is no plugin "{name}"'
                yield str(Problem(place, text, nearest(name, names)))
