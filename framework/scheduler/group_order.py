"""Orders in which the members of a group can be tried, for `schedule_group` when the one they came in did not do.

What is hard to place goes first: what is large, and what was refused before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .attempt import Attempt


def as_queued(attempts: Sequence[Attempt]) -> list[Attempt]:
    """kube-scheduler's order: the most important first, then what was tried most, then what has waited longest."""

    def place(attempt: Attempt) -> tuple[int, int, float, str]:
        return -attempt.pod.priority, -attempt.queued.attempts, attempt.queued.timestamp, attempt.pod.key

    return sorted(attempts, key=place)


def alike(attempts: Sequence[Attempt]) -> bool:
    """Whether all pods are of one signature, so that no order is better than another."""
    first = attempts[0].pod.signature
    return all(attempt.pod.signature is first for attempt in attempts)


def larger_first(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> list[Attempt]:
    """Sorted by the largest share that a pod asks for of what all nodes offer of a resource; equals as they came."""

    def share(attempt: Attempt) -> float:
        requests = attempt.pod.signature.requests.items()
        return max((amount / offered[name] for name, amount in requests if offered.get(name)), default=0.0)

    return sorted(attempts, key=share, reverse=True)


def to_the_front(refused: Collection[Attempt], order: Sequence[Attempt]) -> list[Attempt]:
    """The same order, but pods of signatures that were refused come before all others."""
    signatures = {attempt.pod.signature for attempt in refused}
    return sorted(order, key=lambda attempt: attempt.pod.signature not in signatures)
