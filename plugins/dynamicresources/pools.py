"""Pools: which devices a node can use, from the slices that drivers publish (upstream: `GatherPools`).

A pool consists of the slices of its newest generation. It is incomplete while some are missing, and invalid if they
contradict each other; nothing is allocated from either, and a request for all devices is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from muster.framework.model.devices import CounterSet

from .devices import DeviceId, SliceDevices, node_matches

Slices = tuple[SliceDevices, ...]
_NOTHING: tuple[Slices, Slices] = (), ()


class PoolId(NamedTuple):
    """A pool in the cluster."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class Pool:
    """A pool as one node, or several alike, see it.

    Attributes:
        id: which one.
        incomplete: slices are missing.
        invalid: why its slices contradict each other; "" when they do not.
        slices: those with devices for the node, in the order in which devices are tried.
        elsewhere: the other slices with devices, which count if devices share counters.
        counter_sets: by name.
        plain: whether its devices and their state alone decide what can be allocated.
        per_node: whether its devices select nodes one by one.
        states: for a pool that is not plain, the numbers of its states by its allocations.
    """

    __slots__ = (
        "binding_conditions",
        "counter_sets",
        "elsewhere",
        "id",
        "incomplete",
        "invalid",
        "per_node",
        "plain",
        "slices",
        "state",
        "states",
    )

    def __init__(self, id_: PoolId, found: Sequence[SliceDevices], whole: Sequence[SliceDevices]) -> None:
        self.id = id_
        self.incomplete = len(whole) != found[0].slice.spec.pool.resource_slice_count
        self.invalid = ""
        self.counter_sets: Mapping[str, CounterSet] = {}
        self.state: tuple[int, int] = (-1, 0)
        self.states: dict[Hashable, int] = {}
        self.slices, self.elsewhere = _NOTHING if self.incomplete else self._split(sorted(found, key=_name), whole)
        devices = [device.device for each in self.slices for device in each.devices]
        self.binding_conditions = any(device.binding_conditions for device in devices)
        self.per_node = any(each.slice.spec.per_device_node_selection for each in self.slices)
        shares = self.counter_sets or any(device.consumes_counters for device in devices)
        self.plain = not (self.incomplete or self.invalid or shares)

    def _split(self, found: Sequence[SliceDevices], whole: Sequence[SliceDevices]) -> tuple[Slices, Slices]:
        """The slices with devices for the node and for others. Collects the counter sets."""
        names = {_name(each) for each in found}
        others = [each for each in whole if _name(each) not in names]
        here = tuple(each for each in found if not each.slice.spec.shared_counters)
        elsewhere = tuple(each for each in others if not each.slice.spec.shared_counters)
        sets: dict[str, CounterSet] = {}
        for each in (*found, *others):
            for counters in each.slice.spec.shared_counters:
                if counters.name in sets:
                    self.invalid = self.invalid or f"duplicate counter set name {counters.name}"
                sets[counters.name] = counters
        self.counter_sets = sets
        self.invalid = _repeated(here) or self.invalid or _unknown_counter((*here, *elsewhere), sets)
        return _NOTHING if self.invalid else (here, elsewhere)

    @property
    def usable(self) -> bool:
        """Whether devices can be allocated from the pool."""
        return not self.incomplete and not self.invalid

    def ids(self) -> Iterable[DeviceId]:
        """The pool's devices, including those for other nodes."""
        return (device.id for each in (*self.slices, *self.elsewhere) for device in each.devices)


def pool_id(slice_: SliceDevices) -> PoolId:
    """The pool that the slice is part of."""
    spec = slice_.slice.spec
    return PoolId(spec.driver, spec.pool.name)


def gather(
    name: str,
    labels: Mapping[str, str],
    candidates: Iterable[SliceDevices],
    members: Callable[[PoolId], Sequence[SliceDevices]],
) -> list[list[SliceDevices]]:
    """The slices for the node, by pool in the order of allocation.

    `candidates` are those that may be for the node, `members` all slices of each pool. Pools whose newest generation
    has nothing for the node are left out.
    """
    found: dict[PoolId, list[SliceDevices]] = {}
    for each in candidates:
        if _uses_compatibility_groups(each) or not _relevant(each, name, labels):
            continue
        pool, generation = found.get(pool_id(each)), each.slice.spec.pool.generation
        if pool is None or generation > pool[0].slice.spec.pool.generation:
            found[pool_id(each)] = [each]
        elif generation == pool[0].slice.spec.pool.generation:
            pool.append(each)
    return [slices for id_, slices in sorted(found.items()) if not _obsolete(slices, members(id_))]


def whole_pool(slices: Sequence[SliceDevices], members: Sequence[SliceDevices]) -> Sequence[SliceDevices]:
    """All slices of the generation of `slices`, if those are not enough by themselves."""
    pool = slices[0].slice.spec.pool
    if len(slices) == pool.resource_slice_count:
        return slices
    return [
        each
        for each in members
        if each.slice.spec.pool.generation == pool.generation and not _uses_compatibility_groups(each)
    ]


def _obsolete(slices: Sequence[SliceDevices], members: Sequence[SliceDevices]) -> bool:
    pool = slices[0].slice.spec.pool
    if len(slices) == pool.resource_slice_count:
        return False
    return any(each.slice.spec.pool.generation > pool.generation for each in members)


def _relevant(each: SliceDevices, name: str, labels: Mapping[str, str]) -> bool:
    spec = each.slice.spec
    if each.selects_nodes_itself:
        return node_matches(name, labels, spec.node_name, spec.all_nodes, selector=spec.node_selector)
    if not spec.per_device_node_selection:
        return False
    return any(
        node_matches(
            name, labels, device.device.node_name, device.device.all_nodes, selector=device.device.node_selector
        )
        for device in each.devices
    )


def _uses_compatibility_groups(each: SliceDevices) -> bool:
    """Whether devices can be combined by rules that are off by default: such slices do not count at all."""
    return any(taken.compatibility_groups for device in each.slice.spec.devices for taken in device.consumes_counters)


def _repeated(slices: Iterable[SliceDevices]) -> str:
    seen: set[str] = set()
    for each in slices:
        for device in each.devices:
            if device.id.device in seen:
                return f"duplicate device name {device.id.device}"
            seen.add(device.id.device)
    return ""


def _unknown_counter(slices: Iterable[SliceDevices], sets: Mapping[str, CounterSet]) -> str:
    for each in slices:
        for device in each.devices:
            for taken in device.device.consumes_counters:
                if taken.counter_set not in sets:
                    return f"counter set {taken.counter_set} not found"
                for counter in taken.counters:
                    if counter not in sets[taken.counter_set].counters:
                        return f"counter {counter} not found in counter set {taken.counter_set}"
    return ""


def _name(each: SliceDevices) -> str:
    return each.slice.metadata.name
