"""Quotas as users ask for them: what each namespace uses, is guaranteed and may use, and what of it is borrowed.

`muster quotas` prints them from the objects alone, whose statuses the leader keeps, so users need no right besides
reading quotas. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.framework.model.requests import quantity
from muster.plugins.capacityscheduling.api import ElasticQuota, amounts_of
from muster.plugins.capacityscheduling.tree import Quota, QuotaTree

from .layout import NONE, lines, printable

_TITLES = ("NAMESPACE", "NAME", "RESOURCE", "USED", "MIN", "MAX", "BORROWED", "SHARE")
_MORE_TITLES = ("WEIGHT", "PARENT")
_UNLIMITED = "-"


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """A resource of a quota.

    Attributes:
        namespace, name: of the ElasticQuota.
        resource: the resource.
        used, min, borrowed: in the API's quantities.
        max: the most that may be used; None for no limit.
        share: the part that it uses of what all quotas are guaranteed together; None where they are guaranteed none.
        weight: its weight among those that borrow.
        parent: `namespace/name` of the quota above; "" for none.
    """

    namespace: str
    name: str
    resource: str
    used: str
    min: str
    borrowed: str
    max: str | None
    share: float | None
    weight: int
    parent: str


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """The quotas of a cluster.

    Attributes:
        uses: by namespace, quota and resource.
        problems: by quota, what of it is not followed, in sentences.
    """

    uses: Sequence[QuotaUse]
    problems: Mapping[str, Sequence[str]]


def report_quotas(objects: Sequence[ElasticQuota], namespace: str | None = None) -> QuotaReport:
    """The report on these quotas, which are all of the cluster; on those of a namespace if one is given."""
    tree, by_key = QuotaTree.of(objects), {each.key: each for each in objects}
    shown = [each for name, each in sorted(tree.by_namespace.items()) if namespace in (None, name)]
    uses = [use for quota in shown for use in _uses(tree, quota, by_key[quota.key])]
    problems = {key: found for key, found in tree.problems.items() if namespace in (None, key.partition("/")[0])}
    return QuotaReport(uses, problems)


def render_quotas(report: QuotaReport, *, wide: bool) -> Iterator[str]:
    """The table, and the problems under it."""
    rows = []
    for use in report.uses:
        share = NONE if use.share is None else f"{use.share:.1%}"
        row = (use.namespace, use.name, use.resource, use.used, use.min, use.max or _UNLIMITED, use.borrowed, share)
        rows.append((*row, str(use.weight), use.parent or NONE) if wide else row)
    yield from lines((*_TITLES, *_MORE_TITLES) if wide else _TITLES, rows)
    for key, found in report.problems.items():
        yield from (printable(f"{key}: {sentence}") for sentence in found)


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
            quantity(resource, max(0, amount - least) if resource in tree.shared else 0),
            None if most is None else quantity(resource, most),
            amount / total if total else None,
            quota.weight,
            parent,
        )
