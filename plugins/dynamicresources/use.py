"""Allocations: which devices are taken, and how much of the devices that several claims share.

The claim tracker adds and removes whole allocations; the search for an allocation reads. Each change names its pool, so
only nodes that can use that pool are looked at again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from muster.framework.model.devices import AllocationResult
from muster.framework.model.quantity import nanos

from .devices import DeviceId
from .pools import PoolId

Amounts = Mapping[str, int]
"""Nano units by name of a capacity."""


class DeviceUse:
    """Devices in use, counted: a device that two claims hold by mistake is free once both have released it.

    `changed` is called with each pool of which a device was taken or released.
    """

    def __init__(self, changed: Callable[[PoolId], None]) -> None:
        self._changed = changed
        self._taken: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._consumed: dict[DeviceId, Counter[str]] = {}
        self._results: Counter[PoolId] = Counter()
        self._revisions: dict[PoolId, int] = {}
        self._numbers = count(1)

    def taken(self, device: DeviceId) -> bool:
        """Whether some claim has the device for itself."""
        return device in self._taken

    def shared(self, device: DeviceId) -> bool:
        """Whether some claim has a share of the device."""
        return device in self._shares

    def allocated(self, device: DeviceId) -> bool:
        """Whether any claim has the device or a share of it."""
        return device in self._taken or device in self._shares

    def consumed(self, device: DeviceId) -> Amounts:
        """The amounts of its capacities that all claims have together, in nano units."""
        return self._consumed.get(device, _NOTHING)

    def revision(self, pool: PoolId) -> int:
        """The revision of the pool's allocations, new after each change; 0 while nothing is allocated."""
        return self._revisions.get(pool, 0)

    def everything(self) -> tuple[object, ...]:
        """All that is in use, for the self-check."""
        return dict(self._taken), dict(self._shares), {device: dict(part) for device, part in self._consumed.items()}

    def add(self, allocation: AllocationResult) -> None:
        """Count everything in `allocation` as in use. Devices used with admin access do not count."""
        self._count(allocation, 1)

    def remove(self, allocation: AllocationResult) -> None:
        """Stop counting what is in `allocation` as in use by its claim."""
        self._count(allocation, -1)

    def _count(self, allocation: AllocationResult, sign: int) -> None:
        pools: Counter[PoolId] = Counter()
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceId(result.driver, result.pool, result.device)
            pools[PoolId(result.driver, result.pool)] += sign
            if result.share_id is None:
                _change(self._taken, [(device, sign)])
                continue
            _change(self._shares, [(device, sign)])
            if result.consumed_capacity:
                amounts = self._consumed.setdefault(device, Counter())
                _change(amounts, ((name, sign * nanos(amount)) for name, amount in result.consumed_capacity.items()))
                if not amounts:
                    del self._consumed[device]
        _change(self._results, pools.items())
        for pool in pools:
            if pool in self._results:
                self._revisions[pool] = next(self._numbers)
            else:
                self._revisions.pop(pool, None)
            self._changed(pool)


_NOTHING: Amounts = {}


def _change(counts: Counter, changes: Iterable[tuple[object, int]]) -> None:  # type: ignore[type-arg]  # devices or names
    for key, change in changes:
        counts[key] += change
        if not counts[key]:
            del counts[key]
