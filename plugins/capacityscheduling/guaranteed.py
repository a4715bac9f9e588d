"""The guaranteed pods of a quota: those that its `min` covers. All others are borrowed, and may be claimed back.

A quota's units (pods, and gangs as a whole) are taken in the order of their priority, then of their start; each that
still fits into `min`, in all resources that some quota guarantees, is guaranteed, and a unit that does not fit takes
nothing. So the end of borrowed pods never makes a guaranteed pod a borrowed one, and a pod that is placed later never
displaces one of its own priority or a higher one. A parent's guaranteed units are found in the same way among all units
below it, those first that its children guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.framework.model.pod_info import PodInfo

from .borrowing import need_of, need_of_one
from .tree import Amounts, Quota


@dataclass(frozen=True, slots=True)
class RunningUnit:
    """Running pods that need one another: one pod, or a gang.

    Attributes:
        key: distinguishes it from others.
        pods: the pods, the longest running first.
        priority: its priority.
        started: when the first of them began to run, seconds since the epoch.
        spare: how many of them may go without the others.
    """

    key: str
    pods: Sequence[PodInfo]
    priority: int
    started: float
    spare: int = 0


def guaranteed(quota: Quota, units: Mapping[Quota, Sequence[RunningUnit]], lent: frozenset[str]) -> frozenset[str]:
    """The UIDs of the quota's guaranteed pods. `units` has the running units of each namespace by its quota."""
    own = [*units.get(quota, ())]
    if not quota.children:
        return _covered(own, quota.min, lent)
    below: set[str] = set()
    for child in quota.children:
        below |= guaranteed(child, units, lent)
        own += (unit for each in child.subtree() for unit in units.get(each, ()))
    return _covered(own, quota.min, lent, first=below)


def _covered(
    units: Iterable[RunningUnit], least: Amounts, lent: frozenset[str], first: Iterable[str] = ()
) -> frozenset[str]:
    """The UIDs of the pods that `least` covers. Units with a pod of `first` go before the others."""
    before = frozenset(first)

    def place(unit: RunningUnit) -> tuple[bool, int, float, str]:
        return before.isdisjoint(pod.uid for pod in unit.pods), -unit.priority, unit.started, unit.key

    left = {resource: least.get(resource, 0) for resource in lent}
    found: set[str] = set()
    for unit in sorted(units, key=place):
        pods = _fitting(unit, left)
        for resource, amount in need_of(pods).items():
            if resource in left:
                left[resource] -= amount
        found.update(pod.uid for pod in pods)
    return frozenset(found)


def _fitting(unit: RunningUnit, left: Amounts) -> Sequence[PodInfo]:
    """The pods of the unit that fit: all, or as many as leave out only what it can spare, or none."""
    open_, fitting = dict(left), 0
    for pod in unit.pods:
        need = need_of_one(pod)
        if any(need.get(resource, 0) > amount for resource, amount in open_.items()):
            break
        for resource in open_:
            open_[resource] -= need.get(resource, 0)
        fitting += 1
    return unit.pods[:fitting] if fitting >= len(unit.pods) - unit.spare else ()
