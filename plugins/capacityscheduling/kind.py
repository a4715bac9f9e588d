"""The kind of ElasticQuotas: what tools say of them. The report follows from the objects alone.

The statuses of quotas say what is used, so users need no right besides reading quotas for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muster.framework.contract import QuotaKind, QuotaReport, QuotaUse
from muster.framework.model.requests import quantity

from .api import ELASTIC_QUOTAS, NAME, ElasticQuota, amounts_of
from .shared import ledger_in, quotas_in
from .standing import amounts, standing, unmet
from .tree import Quota, QuotaTree


class ElasticQuotas(QuotaKind[ElasticQuota]):
    """ElasticQuotas, as tools read them."""

    plugin = NAME
    objects = ELASTIC_QUOTAS

    def report(self, quotas: Sequence[ElasticQuota], namespace: str | None = None) -> QuotaReport:
        """See `QuotaKind`."""
        tree, by_key = QuotaTree.of(quotas), {each.key: each for each in quotas}
        shown = [each for name, each in sorted(tree.by_namespace.items()) if namespace in (None, name)]
        uses = [use for quota in shown for use in _uses(tree, quota, by_key[quota.key])]
        problems = {key: found for key, found in tree.problems.items() if namespace in (None, key.partition("/")[0])}
        return QuotaReport(uses, problems)

    def standing(self, shared: Mapping[str, object], namespace: str) -> Sequence[str]:
        """See `QuotaKind`."""
        ledger = ledger_in(shared)
        return () if ledger is None else standing(ledger, namespace)

    def amounts(self, shared: Mapping[str, object]) -> Mapping[tuple[str, str, str], float]:
        """See `QuotaKind`."""
        ledger = ledger_in(shared)
        return {} if ledger is None else amounts(ledger)

    def unmet(self, shared: Mapping[str, object]) -> Mapping[str, float]:
        """See `QuotaKind`."""
        quotas = quotas_in(shared)
        return {} if quotas is None else unmet(quotas.ledger, quotas.short.values())


def _uses(tree: QuotaTree, quota: Quota, found: ElasticQuota) -> Iterator[QuotaUse]:
    namespace, _, name = quota.key.partition("/")
    used, parent = amounts_of(found.status.used), quota.path[1].key
    for resource in sorted({*quota.min, *quota.max, *used}):
        amount, least, most = used.get(resource, 0), quota.min.get(resource, 0), quota.max.get(resource)
        total = tree.root.min.get(resource, 0)
        yield QuotaUse(
            namespace,
            name,
            resource,
            quantity(resource, amount),
            quantity(resource, least),
            quantity(resource, max(0, amount - least) if resource in tree.lent else 0),
            None if most is None else quantity(resource, most),
            amount / total if total else None,
            quota.weight,
            parent,
        )
