"""The page of quotas: how much of each resource a namespace uses, is guaranteed and borrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muster.framework.contract import QuotaReport, QuotaUse
from muster.framework.model.quantity import nanos

_MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A resource of a namespace's quota.

    Attributes:
        filled: the used percentage of `limit`.
        limit: `max`, or `min` if there is no `max`.
        share: its percentage of the total that quotas guarantee; "" if unknown.
    """

    namespace: str
    resource: str
    used: str
    limit: str
    filled: int
    min: str
    max: str
    borrowed: str
    share: str
    parent: str


@dataclass(frozen=True, slots=True)
class QuotasPage:
    """The contents of the page.

    Attributes:
        problems: the settings of quotas that are ignored, as pairs of a quota's name and a sentence.
        hidden: the number of rows that are not listed.
    """

    rows: Sequence[QuotaRow]
    problems: Sequence[tuple[str, str]]
    hidden: int


def quotas_page(report: QuotaReport, *, all_known: bool) -> QuotasPage:
    """Compute the page from the report; `all_known`: whether the quotas of all namespaces are, as shares need."""
    return QuotasPage(
        rows=[_row(use, all_known) for use in report.uses[:_MOST_ROWS]],
        problems=[(key, sentence) for key, found in report.problems.items() for sentence in found],
        hidden=max(len(report.uses) - _MOST_ROWS, 0),
    )


def _row(use: QuotaUse, all_known: bool) -> QuotaRow:
    limit = use.min if use.max is None else use.max
    return QuotaRow(
        namespace=use.namespace,
        resource=use.resource,
        used=use.used,
        limit=limit,
        filled=_filled(nanos(use.used), nanos(limit)),
        min=use.min,
        max=use.max or "",
        borrowed="" if use.borrowed == "0" else use.borrowed,
        share=f"{use.share:.1%}" if use.share is not None and all_known else "",
        parent=use.parent,
    )


def _filled(used: int, limit: int) -> int:
    return min(100 * used // limit, 100) if limit > 0 else 100 if used else 0
