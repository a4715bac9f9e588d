"""The quotas: what each namespace uses of each resource, what it is guaranteed, and what of it is borrowed."""

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
        filled: how many hundredths of what it may use, or is guaranteed, are used.
        limit: of what these are: `max`, or `min` where there is none.
        share: the part of what all quotas are guaranteed, in per cent; "" where it is not known.
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
class QuotasView:
    """The page; `problems` are what is not followed, by quota, and `hidden` how many rows are left out."""

    rows: Sequence[QuotaRow]
    problems: Sequence[tuple[str, str]]
    hidden: int


def quotas_view(report: QuotaReport, *, all_known: bool) -> QuotasView:
    """The view; a share is only known with the quotas of all namespaces."""
    return QuotasView(
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
