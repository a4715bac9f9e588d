"""How NodeResourcesFit turns use into a score: least allocated, most allocated, or a configured function.

A strategy receives the use including the pod. Resources that a node does not offer do not count there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Scores
from muster.framework.contract.arguments import (
    MOST_ALLOCATED,
    ScoringStrategy,
    UtilizationShapePoint,
    scores_by_percent,
)
from muster.framework.contract.columns import Amounts

from .scored import Share

Strategy = Callable[[Amounts, Amounts, Amounts], Scores]
"""`(used, offered, weights) -> scores`: int64 of shapes (resources, nodes), the same, (resources,) and (nodes,)."""


def strategy_of(config: ScoringStrategy) -> Strategy:
    """The strategy that a valid configuration asks for."""
    if config.requested_to_capacity_ratio is not None:
        return RequestedToCapacityRatio(config.requested_to_capacity_ratio.shape)
    return most_allocated if config.type == MOST_ALLOCATED else least_allocated


def least_allocated(used: Amounts, offered: Amounts, weights: Amounts) -> Scores:
    """The weighted mean of what is free, in truncated per cent of what is offered."""
    free = np.maximum(offered - used, 0)
    return _mean(_percent(free, offered), offered, weights)


def most_allocated(used: Amounts, offered: Amounts, weights: Amounts) -> Scores:
    """The weighted mean of what is used, in truncated per cent of what is offered."""
    return _mean(_percent(np.minimum(used, offered), offered), offered, weights)


class RequestedToCapacityRatio:
    """Scores the use of each resource by a piecewise linear function; resources that score 0 do not count."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        self._score_at = np.array(scores_by_percent(shape), np.int64)

    def __call__(self, used: Amounts, offered: Amounts, weights: Amounts) -> Scores:
        """The weighted mean, rounded half up."""
        percent = _percent(np.minimum(used, offered), offered)
        scores = np.where(offered == 0, 0, self._score_at.take(percent, mode="clip"))
        weight = weights @ (scores > 0)
        mean: Scores = (2 * (weights @ scores) + weight) // np.maximum(2 * weight, 1)
        return mean


def _least_on_one(shares: Iterable[Share]) -> int:
    return _mean_of((share.weight, max(share.offered - share.used, 0), share.offered) for share in shares)


def _most_on_one(shares: Iterable[Share]) -> int:
    return _mean_of((share.weight, min(share.used, share.offered), share.offered) for share in shares)


def _mean_of(parts: Iterable[tuple[int, int, int]]) -> int:
    total = weights = 0
    for weight, amount, offered in parts:
        if offered:
            total += weight * (amount * 100 // offered)
            weights += weight
    return total // max(weights, 1)


ON_ONE: Mapping[Strategy, Callable[[Iterable[Share]], int]] = {
    least_allocated: _least_on_one,
    most_allocated: _most_on_one,
}
"""What some strategies say of one node, which is asked about whenever a pod comes or goes. Amounts must be such that a
hundred times as much is no more than int64 holds."""


def _percent(amounts: Amounts, offered: Amounts) -> npt.NDArray[np.int64]:
    return _quotient(amounts * 100, np.maximum(offered, 1))


def _mean(scores: Scores, offered: Amounts, weights: Amounts) -> Scores:
    return _quotient(weights @ scores, np.maximum(weights @ (offered != 0), 1))


def _quotient(dividend: Amounts, divisor: Amounts) -> npt.NDArray[np.int64]:
    """Truncated towards zero. Only where 100 times an amount overflows, as in kube-scheduler, is anything negative."""
    floor: npt.NDArray[np.int64] = dividend // divisor
    negative = dividend < 0
    return floor + (negative & (floor * divisor != dividend)) if negative.any() else floor
