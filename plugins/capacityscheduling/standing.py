"""The standing of a namespace under its quota, in sentences: what it uses, what of that is borrowed, and from whom.

`why` tells it of pods and groups that wait.
"""

from __future__ import annotations

from muster.framework.model.requests import PODS

from .ledger import QuotaLedger
from .messages import use
from .tree import Quota


def standing(ledger: QuotaLedger | None, namespace: str) -> list[str]:
    """A sentence for each resource that the quota of the namespace guarantees or limits; none without a quota."""
    quota = None if ledger is None else ledger.tree.by_namespace.get(namespace)
    if ledger is None or quota is None:
        return []
    used, shared = ledger.used(quota), ledger.tree.shared
    resources = sorted({*quota.min, *quota.max, *(shared & used.keys())} - {PODS})
    if PODS in quota.min or PODS in quota.max:
        resources.append(PODS)
    return [
        use(
            namespace,
            name,
            used=used.get(name, 0),
            least=quota.min.get(name, 0) if name in shared else None,
            most=quota.max.get(name),
            claimants=_claimants(ledger, quota, name),
        )
        for name in resources
    ]


def _claimants(ledger: QuotaLedger, quota: Quota, resource: str) -> list[str]:
    """The namespaces that use less of the resource than they are guaranteed, in order."""
    return sorted(
        each.namespace
        for each in ledger.tree.by_namespace.values()
        if each is not quota and ledger.used(each).get(resource, 0) < each.min.get(resource, 0)
    )
