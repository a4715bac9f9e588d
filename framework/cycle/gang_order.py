"""Orders in which the members of a group can be tried. Pure; `gang` asks where the order they came in did not do.

What is hard to place goes first: what is large, and what was refused before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .attempt import Attempt


def alike(attempts: Sequence[Attempt]) -> bool:
    """Whether all pods are of one shape, so that no order is better than another."""
    first = attempts[0].pod.shape
    return all(attempt.pod.shape is first for attempt in attempts)


def larger_first(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> list[Attempt]:
    """Sorted by the largest share that a pod asks for of what all nodes offer of a resource; equals as they came."""

    def share(attempt: Attempt) -> float:
        requests = attempt.pod.shape.requests.items()
        return max((amount / offered[name] for name, amount in requests if offered.get(name)), default=0.0)

    return sorted(attempts, key=share, reverse=True)


def to_the_front(refused: Collection[Attempt], order: Sequence[Attempt]) -> list[Attempt]:
    """The same order, but pods of shapes that were refused come before all others."""
    shapes = {attempt.pod.shape for attempt in refused}
    return sorted(order, key=lambda attempt: attempt.pod.shape not in shapes)
