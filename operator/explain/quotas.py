"""The table of `muster quotas`: how much each namespace uses, is guaranteed, may use and borrows."""

from __future__ import annotations

from collections.abc import Iterator

from muster.framework.contract import QuotaReport

from .layout import NONE, lines, printable

_TITLES = ("NAMESPACE", "NAME", "RESOURCE", "USED", "MIN", "MAX", "BORROWED", "SHARE")
_MORE_TITLES = ("WEIGHT", "PARENT")
_UNLIMITED = "-"


def render_quotas(report: QuotaReport, *, wide: bool) -> Iterator[str]:
    """The table, followed by the problems."""
    rows = []
    for use in report.uses:
        share = NONE if use.share is None else f"{use.share:.1%}"
        row = (use.namespace, use.name, use.resource, use.used, use.min, use.max or _UNLIMITED, use.borrowed, share)
        rows.append((*row, str(use.weight), use.parent or NONE) if wide else row)
    yield from lines((*_TITLES, *_MORE_TITLES) if wide else _TITLES, rows)
    for key, found in report.problems.items():
        yield from (printable(f"{key}: {sentence}") for sentence in found)
