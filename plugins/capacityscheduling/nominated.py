"""Nominated pods as quotas count them: capacity is being freed for them, so what they request is committed.

Without them, two gangs could each fit into what is left of a `min` and both evict for it, and what a claim has freed
could be borrowed again before the claimant takes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from muster.framework.model.pod_info import PodInfo

from .borrowing import is_guaranteed, need_of_one
from .ledger import QuotaLedger
from .tree import Quota, branch

_Sums = dict[str, int]


@dataclass(slots=True)
class Nominated:
    """The amounts committed to nominated pods, as one preemptor or pod sees them.

    Attributes:
        ahead: amounts that count as used, by quota.
        claims: amounts that are being freed for pods within their `min` whose priority is lower, by node.
        counted: the pods that `ahead` counts, by UID.
    """

    ahead: dict[Quota, _Sums] = field(default_factory=dict)
    claims: dict[str, _Sums] = field(default_factory=dict)
    counted: dict[str, PodInfo] = field(default_factory=dict)

    def beside_trial(self, ledger: QuotaLedger) -> Nominated:
        """The amounts without those of pods that a trial has placed meanwhile, which the ledger counts as used."""
        twice = self.counted.keys() & ledger.added
        if not twice:
            return self
        rest = Nominated({quota: {**sums} for quota, sums in self.ahead.items()}, self.claims, {**self.counted})
        for uid in twice:
            pod = rest.counted.pop(uid)
            rest.count(ledger.tree.by_namespace[pod.namespace], need_of_one(pod), -1)
        return rest

    def count(self, quota: Quota, need: _Sums, times: int = 1) -> None:
        """Add what a pod of the quota's namespace requests, so many times."""
        for each in quota.path:
            _add(self.ahead.setdefault(each, {}), need, times)


NOTHING_NOMINATED = Nominated()


def nominated_beside(
    pod: PodInfo, own: Collection[str], nominations: Iterable[tuple[PodInfo, str]], ledger: QuotaLedger
) -> Nominated:
    """The amounts committed beside the pod, and beside those of `own` (UIDs), which are decided together with it.

    Pods of its priority or a higher one count, and of other namespaces also all pods within the `min` of their quota:
    they claim what is theirs. Pods that a trial has placed, such as those of another part of its tree of groups, do
    not: they are used.
    """
    found, by_namespace, added = Nominated(), ledger.tree.by_namespace, ledger.added
    seen_from = by_namespace.get(pod.namespace)
    for nominee, node_name in nominations:
        quota = by_namespace.get(nominee.namespace)
        if quota is None or nominee.uid == pod.uid or nominee.uid in own or nominee.uid in added:
            continue
        need = need_of_one(nominee)
        side = None if seen_from is None else branch(quota, seen_from)
        claims = side is not None and is_guaranteed(side, need, ledger.used, ledger.tree.lent)
        if nominee.priority >= pod.priority or claims:
            found.counted[nominee.uid] = nominee
            found.count(quota, need)
        if claims and nominee.priority < pod.priority:
            _add(found.claims.setdefault(node_name, {}), need)
    return found


def _add(sums: _Sums, need: _Sums, times: int = 1) -> None:
    for resource, amount in need.items():
        sums[resource] = sums.get(resource, 0) + times * amount
