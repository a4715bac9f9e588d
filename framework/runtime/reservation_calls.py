"""Reports of plugins that reserve capacity, read through the guard: how much is reserved, and when pods start.

The engine asks for metrics and in rehearsals. A plugin that breaks is logged by its name and left out. A plugin reports
for all profiles that run it, so only one of its instances is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, TypeVar

from ..contract.plugin import Plugin
from ..contract.reservation import CapacityReserver, Start, StartForecaster
from .answers import Failed, all_of, of_type
from .framework import Framework
from .points import RESERVED_SHARES, STARTS, Point

P = TypeVar("P", bound=Plugin)
T = TypeVar("T")


class _Profile(NamedTuple):
    """The subject of such a call."""

    key: str


def reserved_shares(frameworks: Collection[Framework]) -> Mapping[str, float]:
    """The share of what all nodes offer that is reserved, 0 to 1, by resource."""
    reserved: dict[str, float] = {}
    found = _reported(frameworks, CapacityReserver, RESERVED_SHARES, _shares, method=lambda each: each.reserved_shares)
    for _, shares in found:
        for name, share in shares.items():
            reserved[name] = reserved.get(name, 0.0) + share
    return reserved


def starts(frameworks: Collection[Framework]) -> Sequence[Start]:
    """When those that lack capacity start, as the forecasters of the plugins that reserve any say."""
    reservers = (plugin for each in frameworks for plugin in each.plugins.of(CapacityReserver))
    wanted = {plugin.forecaster for plugin in reservers if plugin.reserves}
    found = _reported(
        frameworks, StartForecaster, STARTS, lambda each: all_of(each, Start), method=lambda each: each.starts
    )
    return tuple(start for plugin, of_it in found if type(plugin) in wanted for start in of_it)


def _reported(
    frameworks: Collection[Framework],
    base: type[P],
    point: Point,
    sound: Callable[[Any], T],
    *,
    method: Callable[[P], Callable[[], object]],
) -> Sequence[tuple[P, T]]:
    """The answers of the plugins, without those that break."""
    asked = {plugin.name: (each, plugin) for each in frameworks for plugin in each.plugins.of(base)}
    found = []
    for framework, plugin in asked.values():
        about = _Profile(framework.name)
        try:
            found.append((plugin, framework.calls.ask(point, plugin, about, method(plugin), sound=sound)))
        except Failed as failed:
            framework.calls.log_failure(point, plugin, about, failed.status)
    return found


def _shares(answer: object) -> Mapping[str, float]:
    """Finite numbers by name. Raises TypeError or ValueError for anything else."""
    shares: Mapping[str, float] = dict(of_type(answer, Mapping))
    all_of(shares, str)
    if not all(isfinite(of_type(share, int, float)) for share in shares.values()):
        raise ValueError("it answered a share that is no finite number")
    return shares
