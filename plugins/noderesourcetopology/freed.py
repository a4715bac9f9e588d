"""Amounts that are known to be free again in a zone, because pods that a report includes have left the node.

No report says in which zone a pod is. So a zone gets back only what cannot have been anywhere else: what the pods held
together less all that was taken in the other zones, and what a container held that no other zone can have given, where
a kubelet gives each container, or pod, a single zone. The next report says it exactly. The estimate is never too high,
so evictions that would help may go unseen. `zones` asks, for pods that are gone and for victims in trials alike. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .api import ZonePolicy, ZoneScope
from .demand import Amounts, ZoneDemand
from .reports import NodeReport


def freed(report: NodeReport, gone: Sequence[ZoneDemand]) -> Mapping[int, Amounts]:
    """By number of the zone the amounts that pods with these demands have left there at least."""
    units = [unit for demand in gone for unit in _units(report, demand)]
    names = {name for unit in units for name in unit}
    found: dict[int, dict[str, int]] = {}
    for name in sorted(names):
        taken = {
            zone.number: max(0, zone.allocatable.get(name, 0) - zone.available[name])
            for zone in report.zones
            if name in zone.available
        }
        amounts = [unit[name] for unit in units if unit.get(name)]
        for number, least in _at_least(amounts, taken, alone=report.management.policy is ZonePolicy.SINGLE_NUMA_NODE):
            found.setdefault(number, {})[name] = least
    return found


def _units(report: NodeReport, demand: ZoneDemand) -> Iterable[Amounts]:
    """The parts that are aligned as a whole."""
    if report.management.scope is ZoneScope.POD:
        return (demand.exclusive,)
    return tuple(each.exclusive for each in demand.containers)


def _at_least(amounts: Sequence[int], taken: Mapping[int, int], *, alone: bool) -> Iterable[tuple[int, int]]:
    """By zone the least that these amounts were of what is taken there; `alone` if none of them spans zones."""
    total, everywhere = sum(amounts), sum(taken.values())
    sure = dict.fromkeys(taken, 0)
    for n in amounts if alone else ():
        possible = [number for number, used in taken.items() if used >= n]
        if len(possible) == 1:
            sure[possible[0]] += n
    for number, used in taken.items():
        least = min(used, max(sure[number], total - (everywhere - used)))
        if least > 0:
            yield number, least
