"""Eligible nodes: the nodes on which a constraint counts pods. Constraints hold one, tallies keep sums over it."""

from __future__ import annotations

import numpy as np

from muster.framework.contract import Mask, NodeView, SnapshotReader
from muster.framework.contract.columns import ABSENT, admitted
from muster.framework.model.node import Tolerations, kept_off
from muster.framework.model.node_selector import NodeRequirement
from muster.framework.model.pod import Toleration


class EligibleNodes:
    """Nodes that have all of some label keys, meet a pod's requirement and do not keep it off by taints.

    None in place of a requirement or tolerations leaves that test out.
    """

    __slots__ = ("__weakref__", "_keys", "_mask", "_position", "_requirement", "_snapshot", "_tolerations")

    def __init__(
        self,
        snapshot: SnapshotReader,
        keys: tuple[str, ...],
        requirement: NodeRequirement | None,
        tolerations: tuple[Toleration, ...] | None,
    ) -> None:
        self._snapshot = snapshot
        self._keys = keys
        self._requirement = requirement
        self._tolerations = None if tolerations is None else Tolerations(tolerations)
        self._position = -1
        self._mask: Mask = np.zeros(0, np.bool_)

    def mask(self) -> Mask:
        """bool, shape (height,): which rows are eligible, as of now. Not to be written to."""
        position = self._snapshot.node_journal.position
        if position != self._position or len(self._mask) < self._snapshot.height:
            self._position = position
            self._mask = self._work_out()
        return self._mask

    def _work_out(self) -> Mask:
        snapshot = self._snapshot
        nodes = NodeView(snapshot, None)
        mask = snapshot.live[: snapshot.height].copy()
        for key in self._keys:
            mask &= nodes.of(snapshot.labels.column(key).ids) != ABSENT
        if self._requirement is not None:
            mask &= admitted(self._requirement, nodes)
        if self._tolerations is not None:
            column = snapshot.taints
            lets_on = np.array([not kept_off(taints, self._tolerations) for taints in column.sets])
            mask &= lets_on[nodes.of(column.ids)]
        return mask
