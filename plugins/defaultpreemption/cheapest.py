"""The cheapest evictions for a group: an estimate from requests alone, for all nodes at once.

The search for a group's victims uses it to choose pods to remove in a trial. The estimate is arithmetic over columns:
for each node, how many more members it could take without its one, two, three … least important pods. Its result is
only tried, so it need not consider what else plugins check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muster.framework.contract import EvictionRule, Placed, PodInfo, SnapshotReader, checkpoint
from muster.framework.contract.columns import Rows
from muster.framework.model.requests import PODS

from .units import Units

Ints = npt.NDArray[np.int64]
Level = tuple[bool, bool, int]
"""The loss with a pod: whether it is not terminating already, whether a budget protects it, and its priority."""


@dataclass(frozen=True, slots=True)
class Evictable:
    """Pods that a preemptor may evict, sorted by row and then by the loss, the smallest first.

    Attributes:
        pods: the pods with their nodes.
        rows: their rows.
        levels: int64: the rank of the loss with each pod.
        weights: int64: the number of pods that are evicted together with each.
    """

    pods: Sequence[Placed]
    rows: Rows
    levels: Ints
    weights: Ints


def evictable(
    snapshot: SnapshotReader,
    rows: Iterable[int],
    rule: EvictionRule,
    units: Units,
    *,
    protected: Callable[[PodInfo], bool],
) -> Evictable:
    """The pods on these rows, ascending, that the rule permits and its limit does not protect."""
    found: list[tuple[int, Level, int, Placed]] = []
    for row in rows:
        known: set[str] = set()
        here: list[tuple[int, Level, int, Placed]] = []
        for pod in snapshot.pods[row].values():
            if not rule.permits(pod, pod.priority) or (pod.uid in rule.claimable and protected(pod)):
                continue
            if rule.limit is not None and units.protected_until(pod, rule.limit):
                continue
            unit, weight, priority = units.of(pod), 1, pod.priority
            if unit is not None:
                if not rule.permits(pod, unit.priority):
                    continue
                priority = unit.priority
                if not unit.spare:
                    weight = 0 if unit.key in known else len(unit.pods)
                    known.add(unit.key)
            level = (False, False, priority) if pod.terminating else (True, protected(pod), priority)
            here.append((row, level, 0 if pod.terminating else weight, Placed(pod, snapshot.names[row])))
        found += sorted(here, key=_level)
        checkpoint()
    ranks = {level: rank for rank, level in enumerate(sorted({each[1] for each in found}))}
    checkpoint()
    return Evictable(
        [each[3] for each in found],
        np.array([each[0] for each in found], np.intp),
        np.array([ranks[each[1]] for each in found], np.int64),
        np.array([each[2] for each in found], np.int64),
    )


def _level(each: tuple[int, Level, int, Placed]) -> Level:
    return each[1]


class Estimate:
    """The number of members of one signature that each node could take without its least important pods.

    The rows `now` take members already, the rows `perhaps` may take some after evictions. `nominees` are nominated
    pods, by row, whose capacity the members have to leave free; without them, pods that are being evicted for others
    would look like the cheapest victims.
    """

    def __init__(
        self,
        snapshot: SnapshotReader,
        pods: Evictable,
        member: PodInfo,
        *,
        now: Rows,
        perhaps: Rows,
        nominees: Mapping[int, Sequence[PodInfo]],
    ) -> None:
        self._pods = pods
        free, asked, freed = _amounts(snapshot, pods, member, nominees)
        rows = pods.rows
        fit_now = (free // asked).min(axis=0).clip(0)
        is_now = np.zeros(snapshot.height, np.bool_)
        is_now[now] = True
        self.idle = int(fit_now[is_now].sum())
        may = is_now.copy()
        may[perhaps] = True
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        last = np.append(first[1:], len(rows)) - 1
        self._first_of = np.repeat(first, last - first + 1)
        capacity = ((free[:, rows] + _within_rows(freed, self._first_of)) // asked).min(axis=0)
        # If something other than requests excludes the node, it is unknown which pods cause it, so all are evicted.
        excluded = ~is_now & (fit_now > 0)
        fit_now[~is_now] = 0
        gains = (capacity - fit_now[rows]).clip(0)
        gains[excluded[rows] & ~np.isin(np.arange(len(rows)), last)] = 0
        gains[~may[rows]] = 0
        self._gains: Ints = gains
        self._costs = _within_rows(pods.weights[np.newaxis], self._first_of)[0]

    def choose(self, wanted: int, taken: set[int]) -> Iterator[Iterable[int]]:
        """Positions of pods to evict, a few at a time, until about `wanted` more members fit.

        The highest priority is as low as possible, and then the number of pods is small. Rows in `taken` are left out;
        the rows of the chosen pods are added to it.
        """
        rows, levels = self._pods.rows, self._pods.levels
        gains = self._gains.copy()
        if taken:
            gains[np.isin(rows, list(taken))] = 0
        for level in np.unique(levels).tolist():
            within = np.where(levels <= level, gains, 0)
            if _best_of_rows(within, self._first_of) >= wanted:
                break
        else:
            within = gains
        costs = self._costs.copy()
        while wanted > 0 and within.any():
            useful = np.minimum(within, wanted)
            worth = useful / np.maximum(costs, 0.5)
            best = int(np.lexsort((useful, worth))[-1])
            taken.add(int(rows[best]))
            wanted -= int(within[best])
            later = (rows == rows[best]) & (np.arange(len(rows)) > best)
            within[later] = (within[later] - within[best]).clip(0)
            costs[later] -= costs[best]
            within[int(self._first_of[best]) : best + 1] = 0
            yield range(int(self._first_of[best]), best + 1)


def _amounts(
    snapshot: SnapshotReader, pods: Evictable, member: PodInfo, nominees: Mapping[int, Sequence[PodInfo]]
) -> tuple[Ints, Ints, Ints]:
    """The free amounts of each row beside its nominees, the member's requests, and the amounts that each pod frees.

    The last resource is the number of pods.
    """
    resources, height = snapshot.resources, snapshot.height
    asked = {name: n for name, n in member.signature.requests.items() if n > 0 and name != PODS}
    columns = {name: index for name in asked if (index := resources.index(name)) is not None}
    indices = list(columns.values())
    free = np.vstack(
        [
            resources.allocatable[indices, :height] - resources.requested[indices, :height],
            (resources.allowed_pods[:height] - resources.pod_count[:height])[np.newaxis],
        ]
    )
    for row, others in nominees.items():
        for other in others:
            free[:, row] -= [*(other.signature.requests.get(name, 0) for name in columns), 1]
    signatures = {placed.pod.signature: 0 for placed in pods.pods}
    given = np.empty((len(columns) + 1, len(signatures)), np.int64)
    for position, signature in enumerate(signatures):
        signatures[signature] = position
        given[:, position] = [*(signature.requests.get(name, 0) for name in columns), 1]
    freed = given[:, [signatures[placed.pod.signature] for placed in pods.pods]]
    return free, np.array([*(asked[name] for name in columns), 1], np.int64)[:, np.newaxis], freed


def _within_rows(amounts: Ints, first_of: Ints) -> Ints:
    """The running sums within each row."""
    sums = amounts.cumsum(axis=1)
    found: Ints = sums - (sums[:, first_of] - amounts[:, first_of])
    return found


def _best_of_rows(gains: Ints, first_of: Ints) -> int:
    return int(np.maximum.reduceat(gains, np.unique(first_of)).sum()) if len(gains) else 0
