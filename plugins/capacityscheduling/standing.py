"""The standing of namespaces under their quotas: in sentences for `why`, and as figures for metrics.

What a namespace uses, what of that is borrowed, and who may claim that back; and the pods that do not get what their
quota guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from muster.framework.contract import PodInfo
from muster.framework.model.requests import CPU, PODS, quantity

from .borrowing import is_guaranteed, need_of_one
from .ledger import QuotaLedger
from .tree import Quota

_NAMED = 3
_MILLI = 1000


def standing(ledger: QuotaLedger, namespace: str) -> list[str]:
    """A sentence for each resource that the quota of the namespace guarantees or limits; none without a quota."""
    quota = ledger.tree.by_namespace.get(namespace)
    if quota is None:
        return []
    resources = sorted({*quota.min, *quota.max, *(ledger.tree.lent & ledger.used(quota).keys())} - {PODS})
    if PODS in quota.min or PODS in quota.max:
        resources.append(PODS)
    return [_sentence(ledger, quota, name) for name in resources]


def amounts(ledger: QuotaLedger) -> dict[tuple[str, str, str], float]:
    """By quota, resource and kind (`used`, `min`, `max`, `borrowed`), in cores for cpu and whole units otherwise."""
    return {
        (quota.key, resource, kind): amount / _MILLI if resource == CPU else float(amount)
        for quota in ledger.tree.by_namespace.values()
        for resource, kind, amount in _amounts(ledger, quota)
    }


def unmet(ledger: QuotaLedger, short: Iterable[PodInfo]) -> dict[str, float]:
    """By quota, how many of `short`, the pods that lack capacity on nodes, are within its `min`.

    Of a group, those that were tried last count.
    """
    found = {quota.key: 0.0 for quota in ledger.tree.by_namespace.values()}
    for pod in short:
        quota = ledger.tree.by_namespace.get(pod.namespace)
        if quota is not None and is_guaranteed(quota, need_of_one(pod), ledger.settled, ledger.tree.lent):
            found[quota.key] += 1
    return found


def _sentence(ledger: QuotaLedger, quota: Quota, name: str) -> str:
    used, is_lent = ledger.used(quota).get(name, 0), name in ledger.tree.lent
    least = quota.min.get(name, 0)
    limit = quota.max.get(name, least if is_lent else None)
    of = "" if limit is None else f" of {quantity(name, limit)}"
    text = f"namespace {quota.namespace} uses {quantity(name, used)}{of} {name}"
    if not is_lent or used <= least:
        return text
    claimants = _claimants(ledger, quota, name)
    back = f", reclaimable by {_listed(claimants)}" if claimants else ""
    return f"{text}; {quantity(name, used - least)} of them borrowed{back}"


def _claimants(ledger: QuotaLedger, quota: Quota, resource: str) -> list[str]:
    """The namespaces that use less of the resource than they are guaranteed, in order."""
    return sorted(
        each.namespace
        for each in ledger.tree.by_namespace.values()
        if each is not quota and ledger.used(each).get(resource, 0) < each.min.get(resource, 0)
    )


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _amounts(ledger: QuotaLedger, quota: Quota) -> Iterator[tuple[str, str, int]]:
    used, least, most = ledger.settled(quota), quota.min, quota.max
    for resource in sorted({*least, *most, *(ledger.tree.lent & used.keys())}):
        amount = used.get(resource, 0)
        yield resource, "used", amount
        yield resource, "min", least.get(resource, 0)
        yield resource, "borrowed", max(0, amount - least.get(resource, 0)) if resource in ledger.tree.lent else 0
        if resource in most:
            yield resource, "max", most[resource]
