"""The plugin's sentences about quotas, for conditions, Events, `why` and `quotas`."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.model.requests import quantity

from .admission import Refusal

KEPT_OFF = "node(s) had capacity that is being freed for namespaces below the min of their quota"
OVER_QUOTA = "node(s) were left alone because the quota of the namespace is used up"


def refused(namespace: str, refusal: Refusal) -> str:
    """Why pods of the namespace wait for quota."""
    name, quota = refusal.resource, refusal.quota
    used, limit, needed = (quantity(name, n) for n in (refusal.used, refusal.limit, refusal.needed))
    more = f"{needed} more {_are(name, refusal.needed)} needed"
    if not quota.key:
        return f"namespace {namespace} may borrow no more {name}, quotas use {used} of {limit} in all; {more}"
    if quota.namespace == namespace:
        return f"namespace {namespace} uses {used} of {limit} {name}, its max; {more}"
    return f"quota {quota.key} above namespace {namespace} uses {used} of {limit} {name}, its max; {more}"


def use(namespace: str, name: str, *, used: int, least: int | None, most: int | None, claimants: Sequence[str]) -> str:
    """What a namespace uses of a resource, what of it is borrowed, and who may claim that back.

    `least` is what it is guaranteed, None for a resource that is not lent; `most` what it may use, None for no limit.
    """
    limit = least if most is None else most
    of = "" if limit is None else f" of {quantity(name, limit)}"
    text = f"namespace {namespace} uses {quantity(name, used)}{of} {name}"
    if least is None or used <= least:
        return text
    back = f", reclaimable by {_listed(claimants)}" if claimants else ""
    return f"{text}; {quantity(name, used - least)} of them borrowed{back}"


def _are(name: str, needed: int) -> str:
    return "is" if quantity(name, needed) == "1" else "are"


_NAMED = 3


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
