"""Which nodes reject a pod because of the pods nominated to them, cached by pod signature.

If thousands of pods wait for capacity that is being freed, each would be tried together with hundreds of nominated
pods. `Filtering` asks here first. A cached result about a node is valid while the node's object, the pods on it and the
nominated pods that count against this pod stay the same. The cache must not be used if a filter's verdict about one
node depends on others. Results are compared rather than kept as columns that follow a journal, because no journal names
the rows of a nomination, and every first pass tries pods on these rows, which the journal would report as changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from ..contract.verdicts import NodeRejection
from ..model.node import Node
from ..model.pod_info import PodInfo
from ..snapshot.snapshot import Snapshot


class _Seen(NamedTuple):
    node: Node | None
    pods: Mapping[str, PodInfo]
    nominated: Sequence[PodInfo]
    rejection: NodeRejection | None


class NominatedResults:
    """The cached results for pods of one signature, by row."""

    __slots__ = ("_epoch", "_seen")

    def __init__(self) -> None:
        self._epoch: Hashable = None
        self._seen: dict[int, _Seen] = {}

    def enter(self, epoch: Hashable) -> None:
        """Drop the results of another epoch."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._seen.clear()

    def holds(self, snapshot: Snapshot, row: int, nominated: Sequence[PodInfo]) -> bool:
        """Whether a result is cached for the row as it is now and these nominated pods."""
        seen = self._seen.get(row)
        return (
            seen is not None
            and seen.node is snapshot.nodes[row]
            and seen.nominated == nominated
            and seen.pods == snapshot.pods[row]
        )

    def keep(self, snapshot: Snapshot, row: int, nominated: Sequence[PodInfo], rejection: NodeRejection | None) -> None:
        """Keep the result for the row as it is now; None for a node that passed."""
        self._seen[row] = _Seen(snapshot.nodes[row], dict(snapshot.pods[row]), nominated, rejection)

    def rejection(self, row: int) -> NodeRejection | None:
        """The cached rejection of the row; None if it passed. Only for a row that `holds`."""
        return self._seen[row].rejection
