"""The filter: nodes on which a pod would exceed the maximal skew.

The plugin asks for verdicts. Sums follow every pod of a trial, so notes are kept only of pods that kube-scheduler
counts when it tries them although it does not count them where they run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Codes, NodeView, PodInfo, SnapshotReader
from muster.framework.contract.columns import ABSENT, Domains

from .constraint import Constraint

PASSES, TOO_SKEWED, NO_KEY = 0, 1, 2
_HUGE = 2**31 - 1


class UntalliedPods:
    """Pods tried or taken away that tallies leave out: terminating ones, and any for a selector that asks for nothing.

    kube-scheduler's PreFilter does not count them, its AddPod and RemovePod do.
    """

    __slots__ = ("_amounts",)

    def __init__(self) -> None:
        self._amounts: Counter[tuple[int, int]] = Counter()

    def note(self, constraints: Sequence[Constraint], other: PodInfo, row: int, sign: int) -> None:
        """`other`, of the pod's namespace, has been put on `row` (sign 1) or taken off (sign -1)."""
        for index, constraint in enumerate(constraints):
            selector = constraint.rule.selector
            if (other.terminating or selector.empty) and selector.picks(other.labels):
                self._amounts[index, row] += sign

    def added_to(self, index: int, constraint: Constraint, domains: Domains) -> npt.NDArray[np.int64]:
        """int64, shape (values,): the sums of the domains with what was noted for the constraint at `index`."""
        sums = domains.sums
        for (noted, row), amount in self._amounts.items():
            domain = int(domains.ids[row])
            eligible = constraint.eligible is None or bool(constraint.eligible.mask()[row])
            if noted == index and amount and domain != ABSENT and eligible:
                sums = sums.copy() if sums is domains.sums else sums
                sums[domain] += amount
        return sums

    def clone(self) -> UntalliedPods:
        """A copy for a trial."""
        copy = UntalliedPods()
        copy._amounts = self._amounts.copy()
        return copy


def judge(constraints: Sequence[Constraint], nodes: NodeView, tried: UntalliedPods | None) -> Codes:
    """int32, shape (nodes,): what the first constraint that a node fails says of it."""
    codes: Codes = np.zeros(len(nodes), np.int32)
    for index, constraint in enumerate(constraints):
        domains = constraint.domains(nodes.snapshot)
        sums = domains.sums if tried is None else tried.added_to(index, constraint, domains)
        skews = sums + (constraint.self_match - _least(constraint, domains, sums))
        by_domain = (skews > constraint.rule.max_skew).astype(np.int32)
        by_domain[ABSENT] = NO_KEY
        found = by_domain.take(nodes.of(domains.ids))
        codes = found if index == 0 else np.where(codes == PASSES, found, codes)
    return codes


def has_every_key(constraints: Sequence[Constraint], snapshot: SnapshotReader, row: int) -> bool:
    """Whether the node in `row` is in a domain of each constraint."""
    return all(snapshot.labels.column(each.rule.topology_key).ids[row] != ABSENT for each in constraints)


def _least(constraint: Constraint, domains: Domains, sums: npt.NDArray[np.int64]) -> int:
    """The sum of the emptiest domain; 0 while there are fewer domains than there should be."""
    known = domains.nodes > 0
    count = int(np.count_nonzero(known))
    if count < constraint.rule.min_domains:
        return 0
    return int(sums[known].min()) if count else _HUGE
