"""Turns: which namespace goes first. Who is below `min` goes before who borrows; of those, the smallest share.

Seen from the top of the tree down: first the quotas that stay within their `min` with the first pod of the namespace
placed, then the others by their weighted dominant share, and among equal shares the one whose pods were placed least
recently. Pods without a quota go with those within their `min`. Among these, and within a namespace, QueueSort decides,
by priority and age.

The order starves none: a borrower's share grows with each pod that is placed, so the others pass it; and who is within
`min` is soon beyond it. If there is only so much to borrow that each pod takes all of it, those that borrow take turns,
whatever their priorities. In addition, the queue serves every waiting namespace within a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from muster.framework.contract import PodInfo

from .borrowing import is_within, need_of_one
from .ledger import QuotaLedger

_WITHIN, _BORROWS = [0.0, 0.0, 0.0], 1.0
"""The turn of a quota within its `min`, and the first figure of that of another."""


class Turns:
    """The turns of namespaces, by the ledger."""

    def __init__(self) -> None:
        self._planted = 0
        self._placements = count(1)
        self._last_placed: dict[str, int] = {}
        # By namespace, the most that the pods request that were asked about since it was named; None if not all of
        # them were within its `min`, or if other quotas count too.
        self._asked: dict[str, dict[str, int] | None] = {}

    def moved(self, ledger: QuotaLedger) -> Sequence[str] | None:
        """The namespaces whose turn may have changed since the last call; None after a change of quotas.

        The turns of quotas under one parent depend on one another. A quota by itself whose `min` still covers each pod
        that was asked about has the same turns.
        """
        if self._planted == ledger.planted and not ledger.tree.by_namespace:
            return ()
        changed = ledger.take_moved()
        if self._planted != ledger.planted:
            self._planted = ledger.planted
            known = {quota.key for quota in ledger.tree.by_namespace.values()}
            self._last_placed = {key: at for key, at in self._last_placed.items() if key in known}
            self._asked = {}
            return None
        found: dict[str, None] = {}
        for quota in changed:
            need = self._asked.get(quota.namespace)
            if need is None or not is_within(quota, need, ledger.used, ledger.tree.lent):
                found |= dict.fromkeys(quota.together)
        for namespace in found:
            self._asked.pop(namespace, None)
        return tuple(found)

    def placed(self, namespaces: Iterable[str], ledger: QuotaLedger) -> None:
        """Pods of these namespaces were placed together."""
        for namespace in namespaces:
            quota, at = ledger.tree.by_namespace.get(namespace), next(self._placements)
            for each in quota.path[:-1] if quota is not None else ():
                self._last_placed[each.key] = at

    def turn_of(self, namespace: str, pod: PodInfo, ledger: QuotaLedger) -> tuple[float, ...]:
        """The turn of the namespace whose first ready pod this is; () if it is within its `min` at every level."""
        quota = ledger.tree.by_namespace.get(namespace)
        if quota is None:
            return ()
        need, lent, found = need_of_one(pod), ledger.tree.lent, list[float]()
        for each in reversed(quota.path[:-1]):
            within = is_within(each, need, ledger.used, lent)
            found += _WITHIN if within else (_BORROWS, ledger.share(each), float(self._last_placed.get(each.key, 0)))
        while found[-3:] == _WITHIN:
            del found[-3:]
        known = self._asked.get(namespace, {})
        if found or len(quota.together) > 1 or known is None:
            self._asked[namespace] = None
        else:
            self._asked[namespace] = {name: max(amount, known.get(name, 0)) for name, amount in (known | need).items()}
        return tuple(found)
