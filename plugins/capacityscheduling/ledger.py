"""The ledger: what is used of each quota, its own namespace and the quotas under it together.

The snapshot sums by namespace; the ledger adds these sums up along the tree, and again only for namespaces whose usage
has changed. It keeps no books of pods, so it agrees with a recount at any time: in a trial, after it is undone, and
after a restart. One ledger serves the plugins of all profiles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from muster.framework.contract.columns import NamespaceUsage

from .tree import Amounts, Quota, QuotaTree

_Sums = dict[str, int]


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
        self._own: dict[str, tuple[_Sums, _Sums, _Sums]] = {}
        self._used: dict[Quota, _Sums] = {}
        self._settled: dict[Quota, _Sums] = {}
        self._removed: dict[Quota, _Sums] = {}
        self._moved: dict[Quota, None] = {}
        self._over: dict[Quota, None] = {}

    def plant(self, tree: QuotaTree) -> None:
        """These are the quotas from now on."""
        self.tree = tree
        self.planted += 1
        self._own, self._over = {}, {}
        quotas = [*tree.root.subtree()]
        self._used = {quota: {} for quota in quotas}
        self._settled = {quota: {} for quota in quotas}
        self._removed = {quota: {} for quota in quotas}
        self._moved = dict.fromkeys(tree.by_namespace.values())
        self._usage.take_changed()
        self._count(tree.by_namespace)

    def used(self, quota: Quota) -> Amounts:
        """The present usage, in a trial with its changes. Valid until usage changes."""
        self._refresh()
        return self._used[quota]

    def own(self, quota: Quota) -> Amounts:
        """The present usage of the quota's own namespace. Valid until usage changes."""
        return self._usage.used(quota.namespace)

    def settled(self, quota: Quota) -> Amounts:
        """The usage outside of all trials. Valid until usage changes."""
        self._refresh()
        return self._settled[quota]

    @property
    def any_removed(self) -> bool:
        """Whether a trial has removed pods, which may come back."""
        return self._usage.any_removed

    def refilled(self, quota: Quota) -> Amounts:
        """The usage if all pods came back that a trial has removed. Valid until usage changes."""
        used, removed = self.used(quota), self._removed[quota]
        return {name: used.get(name, 0) + removed.get(name, 0) for name in used.keys() | removed.keys()}

    def take_moved(self) -> Iterable[Quota]:
        """The quotas of namespaces whose usage has changed since the last call; all after a change of quotas."""
        self._refresh()
        moved, self._moved = self._moved, {}
        return moved

    @property
    def revision(self) -> tuple[int, int]:
        """A value that changes with the quotas and with what is used of them outside of trials."""
        return self.planted, self._usage.revision

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
            if quota is not None:
                usage, before = self._usage, self._own.get(namespace, ({}, {}, {}))
                now = {**usage.used(namespace)}, {**usage.settled(namespace)}, {**usage.removed(namespace)}
                self._own[namespace] = now
                for sums, old, new in zip((self._used, self._settled, self._removed), before, now, strict=True):
                    if old != new:
                        _move(sums, quota, old, new)
                self._moved[quota] = None
                self._judge(quota)

    def _judge(self, changed: Quota) -> None:
        """Note which of the quotas on the path up borrow; the root never does."""
        for quota in changed.path[:-1]:
            used, least = self._used[quota], quota.min
            for name in self.tree.lent:
                if used.get(name, 0) > least.get(name, 0):
                    self._over[quota] = None
                    break
            else:
                self._over.pop(quota, None)


def _move(sums: Mapping[Quota, _Sums], quota: Quota, before: Amounts, after: Amounts) -> None:
    """Add the difference on the path up."""
    for resource in before.keys() | after.keys():
        by = after.get(resource, 0) - before.get(resource, 0)
        if by:
            for each in quota.path:
                found = sums[each]
                found[resource] = found.get(resource, 0) + by
