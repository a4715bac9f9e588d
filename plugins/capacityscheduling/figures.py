"""Figures of quotas for metrics: amounts by quota and resource, and pods that do not get what they are guaranteed.

The process reads them at a scrape, from the state that the plugins of all profiles share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.framework.model.requests import CPU

from .admission import is_within, need_of
from .ledger import QuotaLedger
from .shared import ledger_in, quotas_in
from .tree import Quota

_MILLI = 1000


def quota_amounts(shared: Mapping[str, object]) -> dict[tuple[str, str, str], float]:
    """By quota, resource and kind (`used`, `min`, `max`, `borrowed`), in cores for cpu and whole units otherwise."""
    ledger = ledger_in(shared)
    if ledger is None:
        return {}
    return {
        (quota.key, resource, kind): amount / _MILLI if resource == CPU else float(amount)
        for quota in ledger.tree.by_namespace.values()
        for resource, kind, amount in _amounts(ledger, quota)
    }


def unmet_pods(shared: Mapping[str, object]) -> dict[str, float]:
    """By quota, the pods that are within its `min` and have no node, because too little capacity is free.

    Of a group, those that were tried last count.
    """
    quotas = quotas_in(shared)
    if quotas is None:
        return {}
    ledger = quotas.ledger
    found = {quota.key: 0.0 for quota in ledger.tree.by_namespace.values()}
    for pod in quotas.short.values():
        quota = ledger.tree.by_namespace.get(pod.namespace)
        if quota is not None and is_within(quota, need_of((pod,)), ledger.settled, ledger.tree.shared):
            found[quota.key] += 1
    return found


def _amounts(ledger: QuotaLedger, quota: Quota) -> Iterator[tuple[str, str, int]]:
    used, least, most = ledger.settled(quota), quota.min, quota.max
    for resource in sorted({*least, *most, *(ledger.tree.shared & used.keys())}):
        amount = used.get(resource, 0)
        yield resource, "used", amount
        yield resource, "min", least.get(resource, 0)
        yield resource, "borrowed", max(0, amount - least.get(resource, 0)) if resource in ledger.tree.shared else 0
        if resource in most:
            yield resource, "max", most[resource]
