"""Entitled shares: what each tenant of a cluster gets as long as nobody's work ends, in plain arithmetic.

A tenant gets its `min` as far as it has work. What remains of all that quotas guarantee together goes to those whose
use, divided by their weight, is smallest, until each has what it asks for or its `max`. Seen from above there is one
level, and each tenant has the level times its weight, but no less than the first and no more than the second.

The histories (`waits`) and the tenants (`tenants`) compare what happens with this; it uses nothing of the plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

_HALVINGS = 50


@dataclass(frozen=True, slots=True)
class Terms:
    """What counts for a tenant's share.

    Attributes:
        least, most: its `min` and `max`.
        weight: its weight among those that borrow.
        wanted: what it would use if it got all that it asks for.
    """

    least: float
    most: float = inf
    weight: int = 1
    wanted: float = inf

    def at(self, level: float) -> float:
        """What it gets at a level."""
        return min(self.wanted, self.most, max(self.least, level * self.weight))


def entitled(tenants: Mapping[str, Terms], capacity: float) -> dict[str, float]:
    """What each tenant is entitled to of a capacity that covers what all are guaranteed."""
    low, high = 0.0, capacity
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        if sum(each.at(level) for each in tenants.values()) > capacity:
            high = level
        else:
            low = level
    return {name: each.at(high) for name, each in tenants.items()}
