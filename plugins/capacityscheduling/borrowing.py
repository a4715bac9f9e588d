"""The rule of borrowing: whether quotas let a pod, or a gang as a whole, be placed now, and which of them does not.

1. No quota from the namespace's own up to the root may exceed its `max`.
2. Each resource that some quota guarantees must be covered: by the `min` of the namespace's own quota, or, if that is
   used up, by what a quota above it is guaranteed and its other children do not use. At the top, that is the sum of all
   `min`s. In other words, a namespace may borrow as long as everything that is used stays within what is guaranteed.

By the second rule, pods that stay within their namespace's own `min` are never rejected, whatever others borrow: for
them, borrowers are evicted only if no node has room.
Everything here is pure. `ahead` is what is nominated to nodes and counts as used already, by quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS, quantity

from .tree import Amounts, Quota

AmountsOf = Callable[[Quota], Amounts]
"""What is used of a quota."""
NONE_AHEAD: Mapping[Quota, Amounts] = {}


@dataclass(frozen=True, slots=True)
class QuotaRejection:
    """A quota that is in the way.

    Attributes:
        quota: the quota; the root if nothing more can be borrowed.
        resource: the resource that is short.
        used: what is used of it, without the pod.
        limit: what may be used.
        needed: what the pod or gang asks for.
    """

    quota: Quota
    resource: str
    used: int
    limit: int
    needed: int

    def told(self, namespace: str) -> str:
        """Why pods of the namespace wait for quota, in a sentence."""
        name, quota = self.resource, self.quota
        used, limit, needed = (quantity(name, amount) for amount in (self.used, self.limit, self.needed))
        more = f"{needed} more {'is' if needed == '1' else 'are'} needed"
        if not quota.key:
            return f"namespace {namespace} may borrow no more {name}, quotas use {used} of {limit} in all; {more}"
        if quota.namespace == namespace:
            return f"namespace {namespace} uses {used} of {limit} {name}, its max; {more}"
        return f"quota {quota.key} above namespace {namespace} uses {used} of {limit} {name}, its max; {more}"


def need_of(pods: Iterable[PodInfo]) -> dict[str, int]:
    """The requests of these pods together."""
    total = {PODS: 0}
    for pod in pods:
        for resource, amount in need_of_one(pod).items():
            total[resource] = total.get(resource, 0) + amount
    return total


def need_of_one(pod: PodInfo) -> dict[str, int]:
    """The requests of a pod, itself included; without zeros."""
    requests = pod.signature.requests
    if all(requests.values()):
        return {PODS: 1, **requests}
    return {PODS: 1, **{resource: amount for resource, amount in requests.items() if amount}}


def needed_at_once(pods: Iterable[PodInfo], missing: int, *, most: bool = False) -> dict[str, int]:
    """The least, or the most, that `missing` of these pods, and at least one, request together, by resource."""
    waiting, missing = [*pods], max(1, missing)
    if len({pod.signature for pod in waiting}) <= 1:
        return need_of(waiting[:missing])
    total = {PODS: min(missing, len(waiting))}
    for resource in {name for pod in waiting for name in pod.signature.requests}:
        amounts = sorted((pod.signature.requests.get(resource, 0) for pod in waiting), reverse=most)[:missing]
        if sum(amounts):
            total[resource] = sum(amounts)
    return total


def rejection_of(
    quota: Quota,
    need: Amounts,
    used_of: AmountsOf,
    lent: frozenset[str],
    *,
    ahead: Mapping[Quota, Amounts] = NONE_AHEAD,
) -> QuotaRejection | None:
    """The quota that keeps pods of this quota's namespace with such a need from being placed; None if none does."""
    if ahead:
        used_of = _with(ahead, used_of)
    own = used_of(quota)
    for each in quota.path:
        if not each.max:
            continue
        used = own if each is quota else used_of(each)
        for resource, limit in each.max.items():
            amount, taken = need.get(resource, 0), used.get(resource, 0)
            if amount and taken + amount > limit:
                return QuotaRejection(each, resource, taken, limit, amount)
    for resource, amount in need.items():
        if resource not in lent or own.get(resource, 0) + amount <= quota.min.get(resource, 0):
            continue
        for each in quota.path[1:]:
            if used_of(each).get(resource, 0) + amount <= each.min.get(resource, 0):
                break
        else:
            root = quota.path[-1]
            taken = used_of(root).get(resource, 0)
            return QuotaRejection(root, resource, taken, root.min.get(resource, 0), amount)
    return None


def is_within(
    quota: Quota,
    need: Amounts,
    used_of: AmountsOf,
    lent: frozenset[str],
    *,
    ahead: Mapping[Quota, Amounts] = NONE_AHEAD,
) -> bool:
    """Whether the quota stays within its own `min`, in each resource that is needed, with such pods placed."""
    used, least = (_with(ahead, used_of) if ahead else used_of)(quota), quota.min
    for resource, amount in need.items():
        if resource in lent and used.get(resource, 0) + amount > least.get(resource, 0):
            return False
    return True


def is_guaranteed(
    quota: Quota,
    need: Amounts,
    used_of: AmountsOf,
    lent: frozenset[str],
    *,
    ahead: Mapping[Quota, Amounts] = NONE_AHEAD,
) -> bool:
    """Whether such pods may claim their place: they are within `min`, and need something that some quota guarantees."""
    return not lent.isdisjoint(need) and is_within(quota, need, used_of, lent, ahead=ahead)


def _with(ahead: Mapping[Quota, Amounts], used_of: AmountsOf) -> AmountsOf:
    """The usage of a quota, together with what is ahead."""

    def together(quota: Quota) -> Amounts:
        used, claimed = used_of(quota), ahead.get(quota, {})
        return {name: used.get(name, 0) + claimed.get(name, 0) for name in used.keys() | claimed.keys()}

    return together
