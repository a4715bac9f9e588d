"""Adapters for plugin authors who think one node at a time.

Derive from these instead of FilterPlugin or ScorePlugin. They are slower than vectors, but with a depends_on declared a
node is asked about only when it has changed.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..model.pod_info import PodInfo
from ..snapshot.journal import DependsOn
from ..snapshot.view import NodeInfo, NodeView
from .cycle_state import CycleState
from .handle import Handle
from .plugin import Args, FilterPlugin, ScorePlugin, Scores
from .status import Code, Status
from .verdicts import StatusTable, Verdicts


class PerNodeFilter(FilterPlugin[Args]):
    """A Filter that is asked about one node at a time. A subclass with an `__init__` of its own calls this one."""

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        self._table = StatusTable()

    @abstractmethod
    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """None when the pod can run on `node`, else why it cannot."""

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """`filter_node` of each node."""
        codes, table = np.zeros(len(nodes), np.int32), self._table
        if self.filter_depends_on is DependsOn.CLUSTER:  # nothing is remembered, so nothing is kept of the reasons
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
