"""Counters that devices of a pool share: how much of them is left (upstream: `checkAvailableCounters`).

A search creates one for each pool with counter sets. A device that would take more than is left of any counter cannot
be allocated, even if that counter is not its own: an overdrawn pool yields nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muster.framework.model.devices import Device
from muster.framework.model.quantity import nanos

from .pools import Pool
from .use import DeviceUse

Name = tuple[str, str]


class PoolCounters:
    """The rest of a pool's counters beside the devices in use, and the amounts that the search has taken so far."""

    def __init__(self, pool: Pool, use: DeviceUse) -> None:
        self._left: dict[Name, int] = {
            (counters.name, name): nanos(counter.value)
            for counters in pool.counter_sets.values()
            for name, counter in counters.counters.items()
        }
        self._taken: Counter[Name] = Counter()
        for each in (*pool.slices, *pool.elsewhere):
            for device in each.devices:
                if use.allocated(device.id):
                    for name, amount in _consumption(device.device):
                        if name in self._left:
                            self._left[name] -= amount

    def take(self, device: Device) -> bool:
        """Take what the device consumes, if nothing is overdrawn then."""
        for name, amount in _consumption(device):
            self._taken[name] += amount
        if all(left >= self._taken[name] for name, left in self._left.items()):
            return True
        self.give_back(device)
        return False

    def give_back(self, device: Device) -> None:
        """Undo a `take`."""
        for name, amount in _consumption(device):
            self._taken[name] -= amount


def _consumption(device: Device) -> Iterator[tuple[Name, int]]:
    for taken in device.consumes_counters:
        for name, counter in taken.counters.items():
            yield (taken.counter_set, name), nanos(counter.value)
