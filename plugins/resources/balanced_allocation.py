"""NodeResourcesBalancedAllocation: prefers nodes whose resources are used more evenly with the pod."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from muster.framework.authoring import PerSignature
from muster.framework.contract import (
    MAX_NODE_SCORE,
    CycleState,
    DependsOn,
    Handle,
    Mask,
    NodeView,
    PreScorePlugin,
    ScorePlugin,
    Scores,
    Status,
)
from muster.framework.contract.arguments import NodeResourcesBalancedAllocationArgs
from muster.framework.contract.columns import Amounts, ResourceColumns
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import MAX_VALUE

from .scored import ScoredResource, scored_resources
from .selection import Selection, pick, select

Fractions = npt.NDArray[np.float64]
_HALF = MAX_NODE_SCORE // 2
_TWO = 2


class NodeResourcesBalancedAllocation(
    PreScorePlugin[NodeResourcesBalancedAllocationArgs], ScorePlugin[NodeResourcesBalancedAllocationArgs]
):
    """Scores by how much the pod changes the standard deviation of the used fractions of the resources.

    A change for the better scores from 75 to 100, one for the worse from 75 down to 50.
    """

    name = "NodeResourcesBalancedAllocation"
    args_model = NodeResourcesBalancedAllocationArgs
    score_depends_on = DependsOn.PODS_ON_NODE

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._configured = args.resources
        self._balances = PerSignature(self._balance)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods that ask for none of the resources, which would otherwise gather on one node."""
        return None if self._asks_for_any(pod) else Status.skip()

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """The evenness with the pod against the evenness without it; 0 for pods that PreScore, if it runs, skips."""
        if not self._asks_for_any(pod):
            return np.zeros(len(nodes), np.int64)
        balance, columns = self._balances.of(pod), nodes.snapshot.resources
        balance.arrange(columns)
        if len(nodes) == 1 and (score := _of_one(balance, columns, int(nodes.indices()[0]))) is not None:
            return np.array([score], np.int64)
        offered = pick(columns.allocatable, balance.selection, nodes)
        used = pick(columns.requested, balance.selection, nodes) + balance.before_and_after
        fractions = np.minimum(used / np.maximum(offered, 1), 1.0)
        before, after = ((1 - deviation(fractions, offered != 0)) * MAX_NODE_SCORE).astype(np.int64)
        scores: Scores = _HALF + (_HALF + after - before) // 2
        return scores

    def _asks_for_any(self, pod: PodInfo) -> bool:
        return any(pod.signature.requests.get(spec.name, 0) for spec in self._configured)

    def _balance(self, pod: PodInfo) -> _Balance:
        return _Balance(scored_resources(self._configured, pod.signature.requests))


class _Balance:
    """The resources to balance for pods of a signature, in the order of the configuration; those that nodes offer.

    Attributes:
        ordered: the column of each, and how much of it the pod asks for.
        selection: their columns.
        before_and_after: int64, shape (2, resources, 1): what to add to the use without and with the pod.
    """

    __slots__ = ("_layout", "_resources", "before_and_after", "ordered", "selection")

    def __init__(self, resources: Iterable[ScoredResource]) -> None:
        self._resources = tuple(resources)
        self._layout = -1

    def arrange(self, columns: ResourceColumns) -> None:
        """See which resources have which columns now. To be called before anything is read of the balance."""
        if columns.layout == self._layout:
            return
        found = [(columns.index(resource.name), resource.amount) for resource in self._resources]
        self.ordered = [(index, amount) for index, amount in found if index is not None]
        amounts = np.array([amount for _, amount in self.ordered], np.int64).reshape(-1, 1)
        self._layout = columns.layout
        self.selection: Selection = select([index for index, _ in self.ordered])
        self.before_and_after: Amounts = np.stack([np.zeros_like(amounts), amounts])


def _of_one(balance: _Balance, columns: ResourceColumns, row: int) -> int | None:
    """The score of one node by two resources: it is asked for whenever a pod comes or goes.

    None for more resources, or fewer, and where the sum of requests overflows or has done so.
    """
    if len(balance.ordered) != _TWO:
        return None
    before: list[float] = []
    after: list[float] = []
    counted = True
    for index, amount in balance.ordered:
        offered, used = int(columns.allocatable[index, row]), int(columns.requested[index, row])
        if used < 0 or used + amount > MAX_VALUE:
            return None
        counted = counted and offered != 0
        most = float(max(offered, 1))
        before.append(min(float(used) / most, 1.0))
        after.append(min(float(used + amount) / most, 1.0))
    apart_before, apart_after = (abs(one - other) / 2 * counted for one, other in (before, after))
    gain = int((1 - apart_after) * MAX_NODE_SCORE) - int((1 - apart_before) * MAX_NODE_SCORE)
    return _HALF + (_HALF + gain) // 2


def deviation(fractions: Fractions, counted: Mask) -> Fractions:
    """The standard deviation of the counted fractions of each node; none where fewer than two count.

    Sums run in the order of the resources, as kube-scheduler's do, so that rounding is the same.

    Args:
        fractions: float64, shape (2, resources, nodes), from 0 to 1.
        counted: bool, shape (resources, nodes).

    Returns:
        float64, shape (2, nodes).
    """
    resources = fractions.shape[1]
    if resources == 2:
        return _half_apart(fractions[:, 0], fractions[:, 1], counted[0] & counted[1])
    number = counted.sum(axis=0)
    mean = _sum(fractions * counted) / np.maximum(number, 1)
    spread = (fractions - mean[:, np.newaxis]) * counted
    population = np.sqrt(_sum(spread * spread) / np.maximum(number, 1))
    highest = (fractions * counted).max(axis=1, initial=0)
    lowest = np.where(counted, fractions, 1.0).min(axis=1, initial=1)
    return np.where(number > 2, population, _half_apart(highest, lowest, number == 2))


def _half_apart(one: Fractions, other: Fractions, counted: Mask) -> Fractions:
    apart: Fractions = np.abs(one - other) / 2 * counted
    return apart


def _sum(terms: Fractions) -> Fractions:
    total = np.zeros((terms.shape[0], terms.shape[2]))
    for resource in range(terms.shape[1]):
        total = total + terms[:, resource]
    return total
