"""Turns: which namespace goes first. Who is below `min` goes before who borrows; of those, the smallest share.

Seen from the top of the tree down: first the quotas that stay within their `min` with the first pod of the namespace
placed, then the others by their weighted dominant share. Pods without a quota go with those within their `min`. Where
turns are equal, and within a namespace, QueueSort decides, by priority and age.

The order starves none: a borrower's share grows with each pod that is placed, so the others pass it; and who is within
`min` is soon beyond it. Besides, the queue serves each namespace that waits within a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.contract import PodInfo

from .admission import is_within, need_of
from .ledger import QuotaLedger

_WITHIN, _BORROWS = 0.0, 1.0


class Turns:
    """The turns of namespaces, by the ledger."""

    def __init__(self) -> None:
        self._planted = 0

    def moved(self, ledger: QuotaLedger) -> Sequence[str] | None:
        """The namespaces whose turn may have changed since the last call; None after a change of quotas.

        The turns of quotas under one parent depend on one another.
        """
        changed = [*ledger.take_moved()]
        if self._planted != ledger.planted:
            self._planted = ledger.planted
            return None
        if not changed:
            return ()
        return [*dict.fromkeys(each.namespace for quota in changed for each in quota.path[-2].subtree())]

    def turn_of(self, namespace: str, pod: PodInfo, ledger: QuotaLedger) -> tuple[float, ...]:
        """The turn of the namespace whose first ready pod this is; () if it is within its `min` at every level."""
        quota = ledger.tree.by_namespace.get(namespace)
        if quota is None:
            return ()
        need, shared, found = need_of((pod,)), ledger.tree.shared, list[float]()
        for each in reversed(quota.path[:-1]):
            within = is_within(each, need, ledger.used, shared)
            found += (_WITHIN, 0.0) if within else (_BORROWS, ledger.share(each))
        while found and found[-2] == _WITHIN:
            del found[-2:]
        return tuple(found)
