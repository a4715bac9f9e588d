"""Helpers for plugin authors: one node at a time, one value for each pod signature, and scores normalized to 0 to 100.

A plugin that derives from `PerNodeFilter` and `PerNodeScore` instead of FilterPlugin and ScorePlugin sees one node at a
time. This is slower than vectors. A plugin that is NODE or PODS_ON_NODE is asked about a node only when the node has
changed, but after every assume that is at least one node: use `PerSignature` for what depends on the pod alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from .contract.cycle_state import CycleState
from .contract.handle import Handle
from .contract.plugin import MAX_NODE_SCORE, Args, FilterPlugin, ScorePlugin, Scores
from .contract.status import Code, Status
from .contract.verdicts import StatusTable, Verdicts
from .model.pod_info import PodInfo, PodSignature
from .snapshot.view import NodeInfo, NodeView

__all__ = ["PerNodeFilter", "PerNodeScore", "PerSignature", "SignatureCache", "normalize_to_highest"]


def normalize_to_highest(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scores as truncated per cent of the highest one; with `reverse` the fewest count best.

    Where the highest is 0, all nodes get 0, or 100 with `reverse`.

    Args:
        scores: int64, shape (nodes,), none below 0.
        reverse: whether less is better.
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    shares = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - shares if reverse else shares


T = TypeVar("T")


class PerSignature(Generic[T]):
    """Values by pod signature, forgotten with the signature.

    `derive` may read of the pod only what its signature stands for, and what it returns must not hold on to the pod or
    its signature, or neither would ever be freed.
    """

    __slots__ = ("_derive", "_known")

    def __init__(self, derive: Callable[[PodInfo], T]) -> None:
        self._derive = derive
        self._known: WeakKeyDictionary[PodSignature, T] = WeakKeyDictionary()

    def of(self, pod: PodInfo) -> T:
        """The value for the pod's signature."""
        try:
            return self._known[pod.signature]
        except KeyError:
            value = self._known[pod.signature] = self._derive(pod)
            return value


class SignatureCache(Generic[T]):
    """Values by pod signature and by something else besides, such as the pod's labels: `most` at once.

    A value must not hold on to the signature either. Those of the signatures met first are forgotten first.
    """

    __slots__ = ("_count", "_known", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._known: WeakKeyDictionary[PodSignature, dict[Hashable, T]] = WeakKeyDictionary()

    def get(self, signature: PodSignature, key: Hashable) -> T | None:
        """The value, if it is known."""
        known = self._known.get(signature)
        return None if known is None else known.get(key)

    def put(self, signature: PodSignature, key: Hashable, value: T) -> None:
        """Remember the value in place of the one before."""
        if self._count >= self._most:
            signatures = list(self._known)
            for oldest in signatures[: len(signatures) // 2 + 1]:
                del self._known[oldest]
            self._count = sum(map(len, self._known.values()))
        self._known.setdefault(signature, {})[key] = value
        self._count += 1


class PerNodeFilter(FilterPlugin[Args]):
    """A Filter that is asked about one node at a time. A subclass with an `__init__` of its own calls this one."""

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        self._table = StatusTable()

    @abstractmethod
    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """None when the pod can run on `node`, else why it cannot.

        Legal statuses: success, a rejection, ERROR.
        """

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """`filter_node` of each node.

        Legal statuses: a rejection, ERROR.
        """
        codes, table = np.zeros(len(nodes), np.int32), self._table
        if not self.filter_depends_on.kept:  # nothing is remembered, so nothing is kept of the reasons
            table = StatusTable()
        for index, node in enumerate(nodes):
            status = self.filter_node(state, pod, node)
            if status is not None and status.code is not Code.SUCCESS:
                codes[index] = table.number(status)
        return Verdicts(codes, table)


class PerNodeScore(ScorePlugin[Args]):
    """A Score that is asked about one node at a time."""

    @abstractmethod
    def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """The node's score."""

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """`score_node` of each node."""
        return np.fromiter((self.score_node(state, pod, node) for node in nodes), np.int64, len(nodes))
