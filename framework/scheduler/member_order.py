"""The orders in which members of a group are tried.

A group is tried in the order of the queue. Members that differ may fit in one order and not in another: if they do not
fit in theirs, `GroupTrials` tries a few others, in which members that are hard to place come first: large ones, and
those that were rejected in the previous order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ..work import checkpoint
from .attempt import Attempt

_TIMES_TO_THE_FRONT = 2
"""The number of orders in which members that were rejected in the previous one come first."""


def as_queued(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts in kube-scheduler's order: by priority, then by most attempts, then by longest wait."""

    def sort_key(attempt: Attempt) -> tuple[int, int, float, str]:
        return -attempt.pod.priority, -attempt.queued.attempts, attempt.queued.timestamp, attempt.pod.key

    return _in_order(attempts, sort_key)


def are_equal(attempts: Sequence[Attempt]) -> bool:
    """Whether all pods are of one signature, so that no order is better than another."""
    first = attempts[0].pod.signature
    return all(attempt.pod.signature is first for attempt in attempts)


def start_of_last_equal(attempts: Sequence[Attempt]) -> int:
    """The index from which on all pods are of the last one's signature."""
    last, start = attempts[-1].pod.signature, len(attempts) - 1
    while start and attempts[start - 1].pod.signature is last:
        start -= 1
    return start


def larger_first(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> list[Attempt]:
    """The attempts with the largest pods first, by the largest share of a resource of all nodes that a pod requests."""

    return _in_order(attempts, lambda attempt: -total_share((attempt,), offered))


def smaller_first(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> list[Attempt]:
    """The attempts with the smallest pods first, by the same share; equally large ones keep their order."""
    return _in_order(attempts, lambda attempt: total_share((attempt,), offered))


def total_share(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> float:
    """The largest share of a resource of all nodes that these pods request together."""
    total: dict[str, int] = {}
    for attempt in attempts:
        for name, amount in attempt.pod.signature.requests.items():
            total[name] = total.get(name, 0) + amount
    return max((amount / offered[name] for name, amount in total.items() if offered.get(name)), default=0.0)


def other_orders(larger: Sequence[Attempt], missing: int) -> Iterator[Sequence[Attempt]]:
    """The orders to try, beginning with `larger`. Each has to be tried before the next is requested."""
    order = larger
    yield order
    for _ in range(_TIMES_TO_THE_FRONT):
        order = _to_the_front([attempt for attempt in order if attempt.status is not None], order)
        yield order
    if len(larger) > missing:
        yield larger[::-1]


def _to_the_front(rejected: Collection[Attempt], order: Sequence[Attempt]) -> list[Attempt]:
    """`order`, with pods of the rejected signatures moved to the front."""
    signatures = {attempt.pod.signature for attempt in rejected}
    return sorted(order, key=lambda attempt: attempt.pod.signature not in signatures)


def _in_order(attempts: Sequence[Attempt], key: Callable[[Attempt], Any]) -> list[Attempt]:
    """Sorted, one key in each step."""
    keys = []
    for attempt in attempts:
        keys.append(key(attempt))
        checkpoint()
    return [attempts[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]
