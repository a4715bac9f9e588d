"""Claims: what a pod or gang within the `min` of its quota may evict, and the rule of evictions that follows.

A claim is made at one level of the tree: the claimant's quota, or one above it, stays within its `min` with the whole
gang placed, and the victims are borrowed by a sibling of that quota. A victim is never one of the pods that the `min`
of its own side covers, and a claim never takes a quota beyond its `min`. So no two namespaces can evict each other in
turn: what was claimed is guaranteed from then on, and what was evicted would have to borrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from muster.framework.contract import HIGHEST_USER_PRIORITY, EvictionRule, PodInfo, PreemptionHandle

from .borrowed import BorrowedPods
from .borrowing import is_guaranteed, needed_at_once
from .ledger import QuotaLedger
from .nominated import nominated_beside
from .tree import Amounts, Quota


class Claims:
    """Answers for the plugin of one profile."""

    def __init__(self, handle: PreemptionHandle, ledger: Callable[[], QuotaLedger]) -> None:
        self._handle = handle
        self._ledger_now = ledger
        self._borrowed = BorrowedPods(handle, ledger)

    @property
    def _ledger(self) -> QuotaLedger:
        return self._ledger_now()

    def rule(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule | None:
        """The rule for these waiting pods; None for that of priorities."""
        by_namespace = self._ledger.tree.by_namespace
        if not by_namespace:
            return None
        quota = by_namespace.get(members[0].namespace)
        if quota is None:
            if priority > HIGHEST_USER_PRIORITY:
                return None
            children = self._ledger.tree.root.children
            below = {
                uid for found in self._borrowed.of(children) for uid, of_unit in found.items() if of_unit < priority
            }
            return EvictionRule(priority, by_namespace.keys(), below)
        exempt = by_namespace.keys() - {quota.namespace}
        claimable = {uid for found in self._borrowed.of(self._sides(quota, members, missing)) for uid in found}
        claimable |= {
            uid for above in self._above(quota, members, missing) for uid in self._borrowed.directly_under(above)
        }
        return EvictionRule(priority, exempt, claimable, reclaims=True)

    def may_claim(self, pods: Sequence[PodInfo], missing: int) -> bool:
        """Whether any of these waiting pods may claim anything."""
        quota = self._ledger.tree.by_namespace.get(pods[0].namespace)
        if quota is None:
            return False
        over = self._ledger.over()
        return any(
            any(side in over for side in self._sides(quota, (pod,), 1))
            or any(self._ledger.own(above) for above in self._above(quota, (pod,), 1))
            for pod in pods
        )

    def _levels(self, quota: Quota, members: Sequence[PodInfo], missing: int) -> Iterator[Quota]:
        """The quotas from the namespace's own up that stay within their `min`, whichever of the members are placed."""
        need: Amounts = needed_at_once(members, missing, most=True)
        own = {pod.uid for pod in members}
        beside = nominated_beside(members[0], own, self._handle.nominator.nominations(), self._ledger)
        ledger = self._ledger
        return (
            each
            for each in quota.path[:-1]
            if is_guaranteed(each, need, ledger.used, ledger.tree.lent, ahead=beside.ahead)
        )

    def _sides(self, quota: Quota, members: Sequence[PodInfo], missing: int) -> Iterator[Quota]:
        """The quotas beside those of `_levels`: what they borrow may be claimed."""
        for level in self._levels(quota, members, missing):
            parent = quota.path[quota.path.index(level) + 1]
            yield from (side for side in parent.children if side is not level)

    def _above(self, quota: Quota, members: Sequence[PodInfo], missing: int) -> Iterator[Quota]:
        """The quotas right above those of `_levels`, without the root: their own namespaces' pods are all borrowed."""
        for level in self._levels(quota, members, missing):
            parent = quota.path[quota.path.index(level) + 1]
            if parent.namespace:
                yield parent
