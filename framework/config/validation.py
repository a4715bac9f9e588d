"""Validation: what kube-scheduler refuses in a configuration that decodes.

`load` calls it after decoding. The checks run in kube-scheduler's order, and all of them run. Errors that depend on
which plugins exist are found later, by `resolve`.
"""

from collections.abc import Iterator, Sequence

from muster.framework.config.args.models import PluginArgs
from muster.framework.config.args.table import API_VERSION
from muster.framework.config.durations import format_duration
from muster.framework.config.extenders import extender_problems
from muster.framework.config.model import (
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    Plugins,
    PluginSet,
)
from muster.framework.config.points import POINTS
from muster.framework.config.problems import Problem, duplicate, invalid, required

REMOVED_PLUGINS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_REMOVED = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
_JITTER_FACTOR = 1.2
_UNCHECKED_POINTS = ("placementGenerate", "placementScore")


def problems_of(configuration: KubeSchedulerConfiguration) -> list[Problem]:
    """Everything that is wrong with `configuration` by itself."""
    problems = [
        *_client_problems(configuration.client_connection, "clientConnection"),
        *_election_problems(configuration.leader_election, "leaderElection"),
        *_parallelism_problems(configuration.parallelism, "parallelism"),
        *_profiles_problems(configuration.profiles, "profiles"),
        *_percentage_problems(configuration.percentage_of_nodes_to_score, "percentageOfNodesToScore"),
        *_backoff_problems(configuration),
        *extender_problems(configuration.extenders, "extenders"),
    ]
    return problems or [*_elector_problems(configuration.leader_election, "leaderElection")]


def _client_problems(client: ClientConnectionConfiguration, path: str) -> Iterator[Problem]:
    if client.burst is not None and client.burst < 0:
        yield invalid(f"{path}.burst", client.burst, "must be non-negative")


def _election_problems(election: LeaderElectionConfiguration, path: str) -> Iterator[Problem]:
    if not election.leader_elect:
        return
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, seconds in durations.items():
        if seconds <= 0:
            yield invalid(f"{path}.{name}", format_duration(seconds), "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        deadline = format_duration(election.renew_deadline)
        detail, compared = "must be greater than `RenewDeadline`", (f"{path}.renewDeadline",)
        yield invalid(f"{path}.leaseDuration", deadline, detail, compared=compared)
    if election.resource_lock != "leases":
        yield invalid(f"{path}.resourceLock", election.resource_lock, 'resourceLock value must be "leases"')


def _elector_problems(election: LeaderElectionConfiguration, path: str) -> Iterator[Problem]:
    """The problems for which client-go's elector refuses a configuration, which kube-scheduler checks last."""
    if election.leader_elect and election.renew_deadline <= _JITTER_FACTOR * election.retry_period:
        text = "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor"
        yield Problem(f"{path}.renewDeadline", text, compared=(f"{path}.retryPeriod",))


def _parallelism_problems(parallelism: int, path: str) -> Iterator[Problem]:
    if parallelism <= 0:
        yield invalid(path, parallelism, "should be an integer value greater than zero")


def _percentage_problems(percentage: int | None, path: str) -> Iterator[Problem]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _backoff_problems(configuration: KubeSchedulerConfiguration) -> Iterator[Problem]:
    initial, longest = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        detail, compared = "must be greater than or equal to PodInitialBackoffSeconds", ("podInitialBackoffSeconds",)
        yield invalid("podMaxBackoffSeconds", longest, detail, compared=compared)


def _profiles_problems(profiles: Sequence[KubeSchedulerProfile], path: str) -> Iterator[Problem]:
    first_use: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        place, name = f"{path}[{index}]", profile.scheduler_name or ""
        if not name:
            yield required(f"{place}.schedulerName")
        yield from _percentage_problems(profile.percentage_of_nodes_to_score, f"{place}.percentageOfNodesToScore")
        yield from _removed_plugin_problems(profile.plugins, f"{place}.plugins")
        yield from _plugin_config_problems(profile.plugin_config, f"{place}.pluginConfig")
        if name in first_use:
            # kube-scheduler 1.37 means to show where the name was first, and shows an empty object.
            yield duplicate(f"{place}.schedulerName", f"{path}[{first_use[name]}].schedulerName")
        first_use[name] = index
    yield from _queue_sort_problems(profiles, path)


def _removed_plugin_problems(plugins: Plugins, path: str) -> Iterator[Problem]:
    for point in POINTS:
        if point in _UNCHECKED_POINTS:
            continue
        for index, plugin in enumerate(plugins.at(point).enabled):
            if plugin.name in REMOVED_PLUGINS:
                yield invalid(f"{path}.{point}.enabled[{index}]", plugin.name, _REMOVED)


def _plugin_config_problems(entries: Sequence[PluginConfig], path: str) -> Iterator[Problem]:
    seen = set()
    for index, entry in enumerate(entries):
        place = f"{path}[{index}]"
        if entry.name in seen:
            yield duplicate(place, entry.name)
        seen.add(entry.name)
        if entry.name in REMOVED_PLUGINS:
            yield invalid(place, entry.name, _REMOVED)
        elif isinstance(entry.args, PluginArgs):
            yield from entry.args.problems(f"{place}.args")


def _queue_sort_problems(profiles: Sequence[KubeSchedulerProfile], path: str) -> Iterator[Problem]:
    """One queue serves all profiles, so they must sort it alike."""
    first = profiles[0]
    canon = first.plugins.queue_sort
    if len(canon.enabled) > 1:
        # The capital letter is kube-scheduler's.
        place = f"{path}[0].plugins.queueSort.Enabled"
        yield invalid(place, len(canon.enabled), "only one queue sort plugin can be enabled")
    sorter = canon.enabled[0].name if canon.enabled else ""
    canon_args = next((entry.args for entry in first.plugin_config if sorter and entry.name == sorter), None)
    for index, profile in enumerate(profiles[1:], start=1):
        queue_sort = profile.plugins.queue_sort
        if _comparable(queue_sort) != _comparable(canon):
            place = f"{path}[{index}].plugins.queueSort"
            compared = (place, f"{path}[0].plugins.queueSort")
            yield invalid(place, _comparable(queue_sort), "must be the same for all profiles", compared=compared)
        for entry in profile.plugin_config:
            if sorter and entry.name == sorter and entry.args != canon_args:
                place = f"{path}[{index}].pluginConfig.args"
                detail, compared = "queueSort must be the same for all profiles", (f"{path}[0]", f"{path}[{index}]")
                yield invalid(place, entry.args, detail, compared=compared)


def _comparable(plugins: PluginSet) -> dict[str, list[dict[str, object]] | None]:
    """A plugin set as kube-scheduler compares and shows it: an empty list is null, an absent weight 0."""
    sets = {"Enabled": plugins.enabled, "Disabled": plugins.disabled}
    return {
        name: [{"Name": plugin.name, "Weight": plugin.weight or 0} for plugin in members] or None
        for name, members in sets.items()
    }
