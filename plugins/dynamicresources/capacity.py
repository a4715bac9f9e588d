"""Consumable capacity: how much of a device's capacities a request takes, and whether that is left (upstream:
`consumable_capacity`).

Amounts are nano units. A request names amounts; a capacity's policy rounds them up and says which are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.framework.model.canonical import canonical_like
from muster.framework.model.devices import CapacityPolicy, CapacityRange, Device, DeviceCapacity
from muster.framework.model.quantity import MAX_VALUE, NANO_PER_MILLI, NANO_PER_UNIT, Quantity, nanos, value

Requests = Mapping[str, Quantity]


class CapacityError(Exception):
    """An amount with which nothing can be allocated at all, on this device or any other."""


def consumption(requests: Requests, device: Device) -> dict[str, int]:
    """The amount that a share of the device takes of each capacity. Raises CapacityError."""
    return {name: _consumed(requests.get(name), capacity) for name, capacity in device.capacity.items()}


def has_room(requests: Requests, device: Device, consumed: Mapping[str, int], allocating: Mapping[str, int]) -> bool:
    """Whether the request can be met beside what is `consumed` already. Raises CapacityError."""
    if not requests and not _has_policies(device) and not consumed and not allocating:
        return True
    if any(name not in device.capacity for name in requests):
        return False
    taken = {}
    for name, capacity in device.capacity.items():
        try:
            taken[name] = _consumed(requests.get(name), capacity)
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error}') from None
        if taken[name] < 0:
            raise CapacityError(f'capacity "{name}": capacity value is negative')
    return all(
        not _violates(taken[name], capacity.request_policy)
        and consumed.get(name, 0) + taken[name] + allocating.get(name, 0) <= nanos(capacity.value)
        for name, capacity in device.capacity.items()
    )


def consumed_text(amount: int, requested: Quantity | None, capacity: DeviceCapacity) -> str:
    """An amount that `consumption` returned for the request, in the format of the quantity that it comes from."""
    policy = capacity.request_policy or CapacityPolicy()
    valid = policy.valid_range or CapacityRange()
    sources = (requested, policy.default, capacity.value, valid.min, *policy.valid_values, valid.step)
    known = [quantity for quantity in sources if quantity is not None]
    return canonical_like(next((each for each in known if nanos(each) == amount), known[-1]), amount)


def _has_policies(device: Device) -> bool:
    return any(capacity.request_policy is not None for capacity in device.capacity.values())


def _consumed(requested: Quantity | None, capacity: DeviceCapacity) -> int:
    policy = capacity.request_policy
    if requested is None:
        return nanos(policy.default if policy is not None and policy.default is not None else capacity.value)
    amount = nanos(requested)
    if policy is None:
        return amount
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(amount, requested, policy.valid_range)
    return next((valid for valid in map(nanos, policy.valid_values) if amount <= valid), amount)


def _rounded_up(amount: int, requested: Quantity, valid: CapacityRange) -> int:
    least = nanos(valid.min or 0)
    if amount < least:
        return least
    if valid.step is None:
        return amount
    unrepresentable = "capacity request cannot be represented in the device's range arithmetic"
    grain = _grain(valid)
    if grain == NANO_PER_MILLI and (amount % grain or amount > MAX_VALUE * grain):
        raise CapacityError(f"{unrepresentable}: request {requested} is not a representable milli value")
    if grain == NANO_PER_UNIT and amount > MAX_VALUE * NANO_PER_UNIT:
        raise CapacityError(f"{unrepresentable}: request {requested} exceeds MaxInt64")
    start, step = _in(grain, least), max(_in(grain, nanos(valid.step)), 1)
    rounded = start + -(-(_in(grain, amount) - start) // step) * step
    if rounded > MAX_VALUE:
        passes = "the milli-value range" if grain == NANO_PER_MILLI else "MaxInt64"
        raise CapacityError(f"{unrepresentable}: rounding request {requested} up to the next step passes {passes}")
    return rounded * grain


def _violates(amount: int, policy: CapacityPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == nanos(policy.default)):
        return False
    if policy.valid_range is None:
        return bool(policy.valid_values) and amount not in map(nanos, policy.valid_values)
    valid = policy.valid_range
    if valid.max is not None and amount > nanos(valid.max):
        return True
    if valid.step is None:
        return False
    grain = _grain(valid)
    if grain == NANO_PER_MILLI and amount % grain:
        return True
    step = max(_in(grain, nanos(valid.step)), 1)
    return (_in(grain, amount) - _in(grain, nanos(valid.min or 0))) % step != 0


def _grain(valid: CapacityRange) -> int:
    """The unit of a range: thousandths where all its bounds are whole ones, else whole units, rounded up."""
    bounds = [nanos(bound) for bound in (valid.min, valid.max, valid.step) if bound is not None]
    fits = all(bound % NANO_PER_MILLI == 0 and abs(bound) <= MAX_VALUE * NANO_PER_MILLI for bound in bounds)
    return NANO_PER_MILLI if fits else NANO_PER_UNIT


def _in(grain: int, amount: int) -> int:
    return amount // grain if amount % grain == 0 else value(amount)
