"""The unbound volumes of a storage class, for claims that wait for their consumer, the smallest first.

Volumes that are reserved for a claim are listed separately. Requirements that do not depend on the node are checked for
all volumes at once. The rules are those of `FindMatchingVolume` in kube-scheduler's component-helpers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Mask, NodeView
from muster.framework.model.claims import AVAILABLE, kept_for, mode_of, requested
from muster.framework.model.node_selector import picks
from muster.framework.model.quantity import nanos, value
from muster.framework.model.volumes import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
)

from .accessible import NONE, AccessiblePlaces, Numbers, Place, is_at, place_of, place_selected

T = TypeVar("T")
Bytes = npt.NDArray[np.int64]
_Traits = tuple[str, str, frozenset[str]]
"""Volume mode, attributes class, access modes."""


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Volumes that are reserved for no claim, the smallest first, and their attributes by number.

    Attributes:
        volumes: the volumes.
        sizes: in nano-bytes, exact.
        capacities: int64, shape (volumes,): the same in bytes.
        classes: names of the classes in the volumes' own specs.
        class_of: intp, shape (volumes,): an index into `classes`.
        traits: their distinct combinations of mode, attributes class and access modes.
        traits_of: intp, shape (volumes,): an index into `traits`.
        places: where the volumes can be used.
    """

    volumes: list[PersistentVolume]
    sizes: list[int]
    capacities: Bytes
    classes: list[str]
    class_of: Numbers
    traits: list[_Traits]
    traits_of: Numbers
    places: AccessiblePlaces


@dataclass(frozen=True, slots=True)
class VolumeChoice:
    """The volume that a claim gets on each of some nodes.

    Attributes:
        claim: the claim.
        numbers: intp, shape (nodes,): a number in `free`, or from -1 downwards an index into `kept`, or NONE.
        free: volumes without a reference to a claim.
        kept: volumes with a reference to this claim.
    """

    claim: PersistentVolumeClaim
    numbers: Numbers
    free: _Sorted
    kept: Sequence[PersistentVolume]

    @property
    def found(self) -> Mask:
        """bool, shape (nodes,): which nodes have a volume."""
        there: Mask = self.numbers != NONE
        return there

    def volume(self, number: int) -> PersistentVolume:
        """The volume with this number."""
        return self.free.volumes[number] if number >= 0 else self.kept[-1 - number]

    def by_class(self) -> Iterator[tuple[str, Mask, Bytes]]:
        """The classes of chosen volumes, with the nodes that get one and the volumes' bytes there."""
        of_all = np.flatnonzero((self.numbers >= 0) & self.found)
        classes = self.free.class_of[self.numbers[of_all]]
        for number in np.unique(classes).tolist():
            chosen = of_all[classes == number]
            here = np.zeros(len(self.numbers), np.bool_)
            here[chosen] = True
            yield self.free.classes[number], here, self.free.capacities[self.numbers[chosen]]
        for index, volume in enumerate(self.kept):
            here = self.numbers == -1 - index
            if here.any():
                yield volume.spec.storage_class_name, here, np.full(int(here.sum()), value(_size(volume)), np.int64)


class UnboundVolumes:
    """The volumes of one class that are not known to be bound."""

    def __init__(self) -> None:
        self._by_name: dict[str, PersistentVolume] = {}
        self._kept: dict[str, dict[str, PersistentVolume]] = {}
        self._sorted = True
        self._free = _in_order(())
        self._numbers: dict[str, int] = {}
        self._available: Mask = np.zeros(0, np.bool_)

    def put(self, volume: PersistentVolume) -> None:
        """Add or replace a volume of the class."""
        self.remove(volume.metadata.name)
        self._by_name[volume.metadata.name] = volume
        reference = volume.spec.claim_ref
        if reference is not None:
            kept = self._kept.setdefault(f"{reference.namespace}/{reference.name}", {})
            kept[volume.metadata.name] = volume
        elif _available(volume):
            self._offer(volume)

    def remove(self, name: str) -> None:
        """Remove a volume from the class."""
        volume = self._by_name.pop(name, None)
        if volume is None:
            return
        reference = volume.spec.claim_ref
        if reference is not None:
            key = f"{reference.namespace}/{reference.name}"
            del self._kept[key][name]
            if not self._kept[key]:
                del self._kept[key]
        elif name in self._numbers:
            self._available[self._numbers[name]] = False

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def choose(self, claim: PersistentVolumeClaim, nodes: NodeView, before: Sequence[VolumeChoice]) -> VolumeChoice:
        """The volume that the claim gets on each node, other than those that were chosen `before` for the pod."""
        if not self._sorted:
            self._sort()
        numbers: Numbers = np.full(len(nodes), NONE, np.intp)
        undecided: Mask = np.ones(len(nodes), np.bool_)
        kept = self._kept_for(claim)
        for index, volume in enumerate(kept):
            here = undecided & _none_is(-1 - index, [each for each in before if each.claim == claim], len(nodes))
            numbers[here & is_at(_place(volume), nodes)] = -1 - index
            undecided &= ~here
        rivals = [each for each in before if each.free is self._free]
        if undecided.any():
            for layer in self._free.places.first(self._suitable(claim), nodes, len(rivals) + 1):
                gets = undecided & (layer != NONE) & _none_is(layer, rivals, len(nodes))
                numbers[gets] = layer[gets]
                undecided &= ~gets
        return VolumeChoice(claim, numbers, self._free, kept)

    def _suitable(self, claim: PersistentVolumeClaim) -> Numbers:
        """Numbers of the volumes that the claim could use somewhere, the smallest first."""
        wanted, free = _traits(claim.spec), self._free
        meets = np.array([mine[:2] == wanted[:2] and mine[2] >= wanted[2] for mine in free.traits], np.bool_)
        suits = self._available & meets[free.traits_of]
        suits[: bisect_left(free.sizes, _wanted_size(claim))] = False
        found = np.flatnonzero(suits)
        place = place_selected(claim.spec.selector) if claim.spec.selector is not None else None
        if place is None:
            return found
        labels = [free.volumes[number].metadata.labels for number in found.tolist()]
        return found[np.array([any(picks(term, mine, "") for term in place) for mine in labels], np.bool_)]

    def _kept_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """The volumes reserved for the claim that it can use somewhere, the smallest first."""
        wanted, size = _traits(claim.spec), _wanted_size(claim)
        found = [
            volume
            for volume in self._kept.get(claim.metadata.key, {}).values()
            if kept_for(volume, claim)
            and _size(volume) >= size
            and _traits(volume.spec)[:2] == wanted[:2]
            and volume.metadata.deletion_timestamp is None
        ]
        return sorted(found, key=_rank)

    def _offer(self, volume: PersistentVolume) -> None:
        number = self._numbers.get(volume.metadata.name)
        if number is not None and self._sorted and _lasting(self._free.volumes[number]) == _lasting(volume):
            self._free.volumes[number] = volume
            self._available[number] = True
        else:
            self._sorted = False

    def _sort(self) -> None:
        offered = [each for each in self._by_name.values() if each.spec.claim_ref is None and _available(each)]
        self._free = _in_order(offered)
        self._numbers = {volume.metadata.name: number for number, volume in enumerate(self._free.volumes)}
        self._available = np.ones(len(offered), np.bool_)
        self._sorted = True


def _in_order(offered: Iterable[PersistentVolume]) -> _Sorted:
    volumes = sorted(offered, key=_rank)
    sizes = [_size(volume) for volume in volumes]
    capacities = np.array([value(size) for size in sizes], np.int64)
    classes, class_of = _numbered(volume.spec.storage_class_name for volume in volumes)
    traits, traits_of = _numbered(_traits(volume.spec) for volume in volumes)
    return _Sorted(
        volumes, sizes, capacities, classes, class_of, traits, traits_of, AccessiblePlaces(map(_place, volumes))
    )


def _numbered(values: Iterable[T]) -> tuple[list[T], Numbers]:
    """The distinct values, and for each value its index among them."""
    known: dict[T, int] = {}
    numbers = np.array([known.setdefault(value, len(known)) for value in values], np.intp)
    return list(known), numbers


def _none_is(numbers: Numbers | int, choices: Sequence[VolumeChoice], nodes: int) -> Mask:
    """bool, shape (nodes,): where none of the choices is the volume with this number."""
    free: Mask = np.ones(nodes, np.bool_)
    for choice in choices:
        free &= choice.numbers != numbers
    return free


def _available(volume: PersistentVolume) -> bool:
    return volume.status.phase == AVAILABLE and volume.metadata.deletion_timestamp is None


def _lasting(volume: PersistentVolume) -> tuple[object, ...]:
    """The inputs of a volume's place in the order."""
    return _size(volume), volume.spec.storage_class_name, _traits(volume.spec), volume.spec.node_affinity


def _rank(volume: PersistentVolume) -> tuple[int, str]:
    return _size(volume), volume.metadata.name


def _size(volume: PersistentVolume) -> int:
    return nanos(volume.spec.capacity.get("storage", 0))


def _wanted_size(claim: PersistentVolumeClaim) -> int:
    return nanos(requested(claim) or 0)


def _place(volume: PersistentVolume) -> Place:
    affinity = volume.spec.node_affinity
    return place_of(None if affinity is None or affinity.required is None else affinity.required.node_selector_terms)


def _traits(spec: PersistentVolumeSpec | PersistentVolumeClaimSpec) -> _Traits:
    return mode_of(spec.volume_mode), spec.volume_attributes_class_name or "", frozenset(spec.access_modes)
