"""The strategies that score a node by how a pod would fill each of its zones: least, most and balanced allocation.

The score of a request is the lowest that any zone gets which could take it; that of a node with the scope `container`
is the mean over the containers. The figures are those of scheduler-plugins: cpus count as whole ones, rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muster.framework.contract import MAX_NODE_SCORE, Scores
from muster.framework.model.requests import CPU

from .args import BALANCED_ALLOCATION, LEAST_ALLOCATED, MOST_ALLOCATED
from .demand import Amounts, ZoneDemand
from .zones import Column, Zones

Strategy = Callable[[Amounts, Zones, Mapping[str, int]], Scores]
"""int64, shape (zones, nodes), from 0 to 100."""
_THOUSAND = 1000


def by_zones(
    zones: Zones, demand: ZoneDemand, strategy: Strategy, weights: Mapping[str, int], *, whole: bool
) -> Scores:
    """int64, shape (nodes,): the score of each node; `whole` for the pod as one."""
    if whole:
        return _lowest(zones, strategy(demand.together, zones, weights))
    each = [_lowest(zones, strategy(container.requests, zones, weights)) for container in demand.containers]
    mean: Scores = sum(each, np.zeros(zones.count, np.int64)) // max(1, len(each))
    return mean


def _lowest(zones: Zones, scores: Scores) -> Scores:
    """The lowest score of the zones of each node, without those that score 0; 0 if all do."""
    counted = zones.exists & (scores != 0)
    lowest = np.where(counted, scores, MAX_NODE_SCORE + 1).min(axis=0)
    return np.where(counted.any(axis=0), lowest, 0)


def _weighted(share: Callable[[Any, Column], Column]) -> Strategy:
    """The mean of the resources by weight, where `share` says which score an amount has of a capacity."""

    def score(request: Amounts, zones: Zones, weights: Mapping[str, int]) -> Scores:
        total, weight = np.zeros(zones.exists.shape, np.int64), 0
        for name, n in request.items():
            free = _free(zones, name)
            wanted, capacity = np.int64(_units(name, n)), _units(name, free)
            fits = (free > 0) & (n <= free)
            of_one = np.where(fits, share(wanted, np.maximum(capacity, 1)), 0)
            total += of_one * weights.get(name, 1)
            weight += weights.get(name, 1)
        return total // max(1, weight)

    return score


def _balanced(request: Amounts, zones: Zones, weights: Mapping[str, int]) -> Scores:
    """More the less the shares of the resources differ, by their sample variance."""
    shares = np.ones((len(request), *zones.exists.shape))
    for index, (name, n) in enumerate(request.items()):
        capacity = _units(name, _free(zones, name))
        np.divide(_units(name, n), capacity, out=shares[index], where=capacity != 0)
    if len(request) < 2:
        variance: npt.NDArray[np.float64] = np.zeros(zones.exists.shape)
    else:
        apart = shares - shares.mean(axis=0)
        variance = ((apart * apart).sum(axis=0) - apart.sum(axis=0) ** 2 / len(request)) / (len(request) - 1)
    scores = ((1 - variance) * MAX_NODE_SCORE).astype(np.int64)
    return np.where((shares > 1).any(axis=0), 0, scores)


def _free(zones: Zones, name: str) -> Column:
    return zones.free.get(name, np.zeros(zones.exists.shape, np.int64))


def _units(resource: str, amount: Any) -> Any:
    return -(-amount // _THOUSAND) if resource == CPU else amount


STRATEGIES: Mapping[str, Strategy] = {
    LEAST_ALLOCATED: _weighted(lambda wanted, capacity: (capacity - wanted) * MAX_NODE_SCORE // capacity),
    MOST_ALLOCATED: _weighted(lambda wanted, capacity: wanted * MAX_NODE_SCORE // capacity),
    BALANCED_ALLOCATION: _balanced,
}
"""The strategies by name; LeastNUMANodes is none of them, see `fewest`."""
