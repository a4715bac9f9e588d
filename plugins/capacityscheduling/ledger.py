"""The ledger: what is used of each quota, its own namespace and the quotas under it together.

The snapshot sums by namespace, and this is the usage of a quota with no others under it. For the others the ledger adds
these sums up along the tree, and again only for namespaces whose usage has changed. It keeps no books of pods, so it
agrees with a recount at any time: in a trial, after it is undone, and after a restart. One ledger serves the plugins of
all profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Set

from muster.framework.contract.columns import NamespaceUsage
from muster.framework.model.pod_info import PodInfo

from .tree import Amounts, Quota, QuotaTree

_Sums = dict[str, int]
_NOTHING: Amounts = {}


class QuotaLedger:
    """Amounts used of each quota.

    Attributes:
        tree: the quotas.
        planted: grows with each new tree.
    """

    def __init__(self, usage: NamespaceUsage) -> None:
        self.tree = QuotaTree()
        self.planted = 0
        self._usage = usage
        self._counted: dict[str, Amounts] = {}
        self._sums: dict[Quota, _Sums] = {}
        self._sums_above: dict[Quota, list[_Sums]] = {}
        self._moved: dict[Quota, None] = {}
        self._over: dict[Quota, None] = {}

    def plant(self, tree: QuotaTree) -> None:
        """These are the quotas from now on."""
        self.tree = tree
        self.planted += 1
        self._counted, self._over = {}, {}
        self._sums = {quota: {} for quota in tree.root.subtree() if quota.children}
        self._sums_above = {
            quota: [self._sums[each] for each in quota.path if each.children] for quota in tree.by_namespace.values()
        }
        self._moved = dict.fromkeys(tree.by_namespace.values())
        self._usage.take_changed()
        self._count(tree.by_namespace)

    def used(self, quota: Quota) -> Amounts:
        """The present usage, in a trial with its changes. Valid until usage changes."""
        if not quota.children:
            return self._usage.used(quota.namespace)
        self._refresh()
        return self._sums[quota]

    def own(self, quota: Quota) -> Amounts:
        """The present usage of the quota's own namespace. Valid until usage changes."""
        return self._usage.used(quota.namespace)

    def settled(self, quota: Quota) -> Amounts:
        """The usage outside of all trials. Valid until usage changes."""
        return self._total(quota, self._usage.settled)

    @property
    def any_removed(self) -> bool:
        """Whether a trial has removed pods, which may come back."""
        return self._usage.any_removed

    @property
    def added(self) -> Set[str]:
        """The UIDs of the pods that a trial has placed, which are used. Valid until usage changes."""
        return self._usage.added

    def refilled(self, quota: Quota) -> Amounts:
        """The usage if all pods came back that a trial has removed. Valid until usage changes."""
        used, removed = self.used(quota), self._total(quota, self._usage.removed)
        return {name: used.get(name, 0) + removed.get(name, 0) for name in used.keys() | removed.keys()}

    def take_moved(self) -> Collection[Quota]:
        """The quotas of namespaces whose usage has changed since the last call; all after a change of quotas."""
        self._refresh()
        moved, self._moved = self._moved, {}
        return moved

    def pods(self, quota: Quota) -> Collection[PodInfo]:
        """The pods of the quota's own namespace outside of trials. Valid until they change."""
        return self._usage.pods(quota.namespace)

    def revision(self, quota: Quota) -> Hashable:
        """A value that changes whenever pods of the quota, or of those below it, come, go or change."""
        return tuple([self._usage.revision(each.namespace) for each in quota.subtree()])

    def over(self) -> Collection[Quota]:
        """The quotas that borrow now."""
        self._refresh()
        return self._over

    def borrowed(self, quota: Quota) -> dict[str, int]:
        """The usage beyond `min`, by resource that some quota guarantees."""
        used = self.used(quota)
        over = {name: used.get(name, 0) - quota.min.get(name, 0) for name in sorted(self.tree.lent)}
        return {name: amount for name, amount in over.items() if amount > 0}

    def share(self, quota: Quota) -> float:
        """The weighted dominant share: the largest part that it uses of what all quotas are guaranteed together."""
        used, total = self.used(quota), self.tree.root.min
        return max((used.get(name, 0) / most for name, most in total.items() if most), default=0.0) / quota.weight

    def _refresh(self) -> None:
        changed = self._usage.take_changed()
        if changed:
            self._count(changed)

    def _count(self, namespaces: Iterable[str]) -> None:
        for namespace in namespaces:
            quota = self.tree.by_namespace.get(namespace)
            if quota is None:
                continue
            before, now = self._counted.get(namespace, _NOTHING), {**self._usage.used(namespace)}
            self._counted[namespace] = now
            for resource in before.keys() | now.keys():
                by = now.get(resource, 0) - before.get(resource, 0)
                if by:
                    for sums in self._sums_above[quota]:
                        sums[resource] = sums.get(resource, 0) + by
            self._moved[quota] = None
            self._judge(quota)

    def _total(self, quota: Quota, amounts_of: Callable[[str], Amounts]) -> Amounts:
        """The amounts of all namespaces under the quota together."""
        if not quota.children:
            return amounts_of(quota.namespace)
        total: _Sums = {}
        for each in quota.subtree():
            for resource, amount in amounts_of(each.namespace).items():
                total[resource] = total.get(resource, 0) + amount
        return total

    def _judge(self, changed: Quota) -> None:
        """Note which of the quotas on the path up borrow; the root never does."""
        for quota in changed.path[:-1]:
            used = self._sums[quota] if quota.children else self._counted[quota.namespace]
            least = quota.min
            for name in self.tree.lent:
                if used.get(name, 0) > least.get(name, 0):
                    self._over[quota] = None
                    break
            else:
                self._over.pop(quota, None)
