"""The quotas that the plugins of all profiles share: the objects, the ledger, whose turn it is, and who lacks nodes.

Metrics, `why` and `simulate` read them too, by `quotas_in` and `ledger_in`.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.framework.contract import PodInfo, PreemptionHandle

from .api import NAME, ElasticQuota
from .ledger import QuotaLedger
from .statuses import QuotaStatuses
from .tree import QuotaTree
from .turns import Turns


class SharedQuotas:
    """The state that the plugins of all profiles share.

    Attributes:
        objects: the ElasticQuotas by key.
        short: pods under quotas that lack capacity on nodes, by UID: a change of quotas may let them evict others.
        turns: whose pods go first.
        statuses: writes what is used.
    """

    def __init__(self, handle: PreemptionHandle) -> None:
        self.objects: dict[str, ElasticQuota] = {}
        self.short: dict[str, PodInfo] = {}
        self.turns = Turns()
        self._ledger = QuotaLedger(handle.snapshot.namespaces)
        self._is_old = False
        self.statuses = QuotaStatuses(handle, self.objects, lambda: self.ledger)

    @property
    def ledger(self) -> QuotaLedger:
        """The usage of the quotas as they are now. Many may change at once, so the tree is made when it is read."""
        if self._is_old:
            self._is_old = False
            self._ledger.plant(QuotaTree.of(self.objects.values()))
        return self._ledger

    def changed(self, old: ElasticQuota | None, new: ElasticQuota | None) -> bool:
        """Keep a quota; whether anything that decisions read has changed."""
        same = old is not None and new is not None and decide_alike(old, new)
        if old is not None:
            self.objects.pop(old.key, None)
        if new is not None:
            self.objects[new.key] = new
        self._is_old |= not same
        return not same


def quotas_in(shared: Mapping[str, object]) -> SharedQuotas | None:
    """The quotas among the objects that plugins share; None where no profile runs the plugin."""
    found = shared.get(NAME)
    return found if isinstance(found, SharedQuotas) else None


def ledger_in(shared: Mapping[str, object]) -> QuotaLedger | None:
    """The ledger of these quotas."""
    found = quotas_in(shared)
    return None if found is None else found.ledger


def decide_alike(old: ElasticQuota, new: ElasticQuota) -> bool:
    """Whether two versions of a quota are the same to decisions: statuses change all the time."""
    return _essence(old) == _essence(new)


def _essence(quota: ElasticQuota) -> tuple[object, ...]:
    meta = quota.metadata
    return quota.spec, meta.annotations, meta.creation_timestamp, meta.uid
