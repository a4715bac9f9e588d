"""In which order domains are tried for a group: capacities in, order out. The search for a domain calls it.

All functions are pure. Capacity is an upper bound: a domain that is left out cannot take the group in any case, while a
domain in the order may still fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.intp]

_MOST = 1 << 31
"""More pods fit on no node, whatever a plugin says: sums of so many stay exact."""


@dataclass(frozen=True, slots=True)
class SignatureDemand:
    """Members of one signature.

    Attributes:
        count: how many of them there are.
        capacities: int64, shape (height,): how many such pods each row could take.
    """

    count: int
    capacities: Counts


@dataclass(frozen=True, slots=True)
class DomainCapacity:
    """Capacity in each domain.

    Attributes:
        members: int64, shape (domains,): how many of the members could fit, at most.
        pods: int64, shape (domains,): how many pods like them could, beyond the members that there are: how large a
            hole the domain is.
    """

    members: Counts
    pods: Counts


def capacity_of(numbers: Numbers, domains: int, demands: Sequence[SignatureDemand]) -> DomainCapacity:
    """Capacity by domain. `numbers` has each row's domain, negative for none."""
    members, pods = np.zeros(domains, np.int64), np.zeros(domains, np.int64)
    for demand in demands:
        sums = _sums(numbers, domains, demand.capacities)
        pods += sums
        members += np.minimum(sums, demand.count)
    return DomainCapacity(members, pods)


def in_slices(
    numbers: Numbers, domains: int, within: Numbers, running: Counts, *, demands: Sequence[SignatureDemand], size: int
) -> DomainCapacity:
    """Capacity by domain where only whole slices of `size` members, and one smaller, fit into each part of a domain.

    `within` has each row's part, negative for none; no part is in two domains. `running`, int64 of shape (parts,), has
    the members that run in each part: what its open slice lacks fits beside the others.
    """
    parts = len(running)
    found = capacity_of(within, parts, demands)
    lacking = np.minimum(found.pods, -running % size)
    beyond = found.pods - lacking
    inside = (numbers >= 0) & (within >= 0)
    domain_of = np.full(parts, -1, np.intp)
    domain_of[within[inside]] = numbers[inside]
    placed = domain_of >= 0
    whole = np.bincount(domain_of[placed], weights=(lacking + beyond // size * size)[placed], minlength=domains)
    rest = np.zeros(domains, np.int64)
    np.maximum.at(rest, domain_of[placed], (beyond % size)[placed])
    of_all = capacity_of(numbers, domains, demands)
    return DomainCapacity(np.minimum(of_all.members, whole.astype(np.int64) + rest), of_all.pods)


def tightest_first(capacity: DomainCapacity, missing: int, members: int) -> list[int]:
    """Domains that may take `missing` of `members`: first those with capacity for all of them, the smallest hole first.

    After them those with capacity for the quorum alone, the most members first.
    """
    candidates = np.flatnonzero(capacity.members >= missing)
    short = np.maximum(members - capacity.members[candidates], 0)
    ordered: list[int] = candidates[np.lexsort((candidates, capacity.pods[candidates], short))].tolist()
    return ordered


def highest_first(capacity: DomainCapacity, missing: int, bounds: Counts, equals: Numbers) -> list[int]:
    """Domains that may take `missing` members, those with the highest `bounds`, int64 of shape (domains,), first.

    Of those with equal bounds the one with the smallest number in `equals`, of the same shape.
    """
    candidates = np.flatnonzero(capacity.members >= missing)
    ordered: list[int] = candidates[np.lexsort((equals[candidates], -bounds[candidates]))].tolist()
    return ordered


def closest(capacity: DomainCapacity) -> int:
    """The domain in which most members could fit, and of those the one with most capacity. There is at least one."""
    return int(np.lexsort((-capacity.pods, -capacity.members))[0])


def _sums(numbers: Numbers, domains: int, capacities: Counts) -> Counts:
    inside = numbers >= 0
    sums = np.bincount(numbers[inside], weights=np.minimum(capacities[inside], _MOST), minlength=domains)
    return sums.astype(np.int64)
