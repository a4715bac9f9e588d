"""Capacity on nodes that is reserved for pods that have waited long, against pods of no higher priority.

The plugin reserves it, its filter reads it, and a pod that no longer lacks capacity ends the reservation of which it is
a part. On a reserved node other pods may use the capacity that is not reserved, and a pod that ends before the reserved
capacity is needed may use all free capacity: neither delays the holder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from math import inf

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Mask, PodInfo, SnapshotReader

from .packing import FREE, Cost


@dataclass(frozen=True, slots=True, eq=False)
class ReservedCapacity:
    """The capacity that is reserved for one holder, or for one part of a tree.

    Attributes:
        holder: a group, as `plugin/id`, or a pod, as `namespace/name`.
        part: for a tree, the group of pods in it, as `plugin/id`; otherwise the holder.
        priority: only pods of this priority or a lower one are kept off.
        members: UIDs of the pods for which it is reserved.
        start: the latest time at which it is needed, seconds on the engine's clock; infinity if that is unknown.
        rows: intp, shape (n,): the rows of the nodes, each once.
        pods: int64, shape (n,): the number of members for which each node has capacity reserved.
        amounts: by resource, int64 of shape (n,).
        cost: of the plan of the whole holder.
        promised: whether the holder keeps this capacity until its start, even if others could use it sooner.
    """

    holder: str
    part: str
    priority: int
    members: Collection[str]
    start: float
    rows: npt.NDArray[np.intp]
    pods: npt.NDArray[np.int64]
    amounts: Mapping[str, npt.NDArray[np.int64]]
    cost: Cost = FREE
    promised: bool = False


def shares(reserved: Iterable[ReservedCapacity], offered: Mapping[str, int]) -> dict[str, float]:
    """The reserved share of the nodes' capacity, by resource, without resources of which nothing is reserved."""
    total: Counter[str] = Counter()
    for capacity in reserved:
        total.update({name: int(amounts.sum()) for name, amounts in capacity.amounts.items()})
    return {name: amount / offered[name] for name, amount in total.items() if amount and offered.get(name)}


class ReservationBook:
    """All reservations, by holder: one, or for a tree one for each part, in the order in which the parts are tried.

    `ends_at` returns when a pod that gets a node now will have ended, infinity if that is unknown. `began` is called
    with the first reserved capacity of a holder when its reservation begins, and `ended` with the holder when it ends.
    `messages` has the sentence about the reservation for users, by holder and by part, as long as capacity is reserved.
    """

    def __init__(
        self,
        ends_at: Callable[[PodInfo], float],
        began: Callable[[ReservedCapacity], None],
        ended: Callable[[str], None],
        messages: dict[str, str],
    ) -> None:
        self._ends_at = ends_at
        self._began = began
        self._ended = ended
        self._messages = messages
        self._by_holder: dict[str, Sequence[ReservedCapacity]] = {}
        self._by_pod: dict[str, ReservedCapacity] = {}

    def __len__(self) -> int:
        return len(self._by_holder)

    def __iter__(self) -> Iterator[ReservedCapacity]:
        return iter([*chain.from_iterable(self._by_holder.values())])

    def of(self, holder: str) -> Sequence[ReservedCapacity]:
        """The capacity that is reserved for this holder."""
        return self._by_holder.get(holder, ())

    def start_of(self, holder: str) -> float | None:
        """The promised start of this holder, infinity if there is none; None if nothing is reserved for it."""
        reserved = self.of(holder)
        if not reserved:
            return None
        return reserved[0].start if reserved[0].promised else inf

    def message_of(self, holder: str) -> str | None:
        """The message about this holder's reservation, if it has one."""
        return self._messages.get(holder)

    def reserve(self, reserved: Sequence[ReservedCapacity], message: str) -> None:
        """Begin the reservation of the one holder of this capacity, in place of its earlier one."""
        holder = reserved[0].holder
        self.release(holder)
        self._by_holder[holder] = reserved
        self._began(reserved[0])
        for capacity in reserved:
            self._by_pod.update(dict.fromkeys(capacity.members, capacity))
            self._messages[capacity.part] = message
        self._messages[holder] = message

    def release(self, holder: str) -> None:
        """End the reservation of this holder, if it has one."""
        known = self._by_holder.pop(holder, None)
        if known is None:
            return
        for capacity in known:
            self._forget(capacity)
        self._messages.pop(holder, None)
        self._ended(holder)

    def served(self, capacity: ReservedCapacity) -> None:
        """End the reservation of one of several parts of a tree, because the part has its nodes."""
        self._by_holder[capacity.holder] = [each for each in self._by_holder[capacity.holder] if each is not capacity]
        self._forget(capacity)

    def _forget(self, capacity: ReservedCapacity) -> None:
        for uid in capacity.members:
            self._by_pod.pop(uid, None)
        self._messages.pop(capacity.part, None)

    def pod_left(self, uid: str) -> None:
        """End the reservation of the pod's holder, because the pod no longer waits for capacity."""
        capacity = self._by_pod.get(uid)
        if capacity is not None:
            self.release(capacity.holder)

    def kept_off(self, pod: PodInfo, snapshot: SnapshotReader, now: float) -> Mask | None:
        """bool, shape (height,): nodes on which the pod would take capacity reserved for others; None for none.

        On nodes of the pod's own reservation, it may use that reservation, which was planned beside the others, even if
        the capacity for these has not become free yet. Before the start of its own reservation, however, older ones
        count there, and those that start earlier: pods that end in time may have been placed on the capacity of its
        own. Parts of its tree that are tried before its own part do not count, because they have their nodes by then.
        """
        own = self._by_pod.get(pod.uid)
        siblings = () if own is None else self._by_holder[own.holder]
        served = {*takewhile(lambda capacity: capacity is not own, siblings)}
        concerned_or_own = [
            capacity
            for capacity in self
            if capacity is own or (capacity not in served and self._concerns(capacity, pod))
        ]
        concerned = [capacity for capacity in concerned_or_own if capacity is not own]
        if not concerned:
            return None
        found = _short(concerned, pod, snapshot)
        if own is not None and found[own.rows].any():
            older = {*takewhile(lambda capacity: capacity is not own, concerned_or_own)}
            early = own.start > now
            counted = [
                capacity for capacity in concerned if early and (capacity in older or capacity.start < own.start)
            ]
            found[own.rows] &= ~_is_left(own, pod, snapshot, found[own.rows])
            if counted:
                found[own.rows] |= _short(counted, pod, snapshot)[own.rows]
        return found

    def _concerns(self, capacity: ReservedCapacity, pod: PodInfo) -> bool:
        if pod.priority > capacity.priority or pod.uid in capacity.members:
            return False
        return capacity.start == inf or self._ends_at(pod) > capacity.start


def _is_left(own: ReservedCapacity, pod: PodInfo, snapshot: SnapshotReader, asked: Mask) -> Mask:
    """bool, shape (n,): nodes of a reservation on which it suffices for the pod and its members that are there.

    Members are on these nodes while their group is tried. Only the nodes in the mask `asked` are checked.
    """
    found = np.zeros(len(own.rows), np.bool_)
    for at in np.flatnonzero(asked).tolist():
        there = [each for uid, each in snapshot.pods[own.rows[at]].items() if uid in own.members]
        together = [*there, pod]
        found[at] = len(together) <= own.pods[at] and all(
            sum(each.signature.requests.get(name, 0) for each in together) <= own.amounts[name][at]
            for name, amount in pod.signature.requests.items()
            if amount and name in own.amounts
        )
    return found


def _short(concerned: Collection[ReservedCapacity], pod: PodInfo, snapshot: SnapshotReader) -> Mask:
    """bool, shape (height,): nodes on which these reservations, one or more, leave too little for the pod."""
    columns, height = snapshot.resources, snapshot.height
    rows = np.unique(np.concatenate([capacity.rows for capacity in concerned]))
    place = np.zeros(height, np.intp)
    place[rows] = np.arange(len(rows))
    pods = np.zeros(len(rows), np.int64)
    for capacity in concerned:
        pods[place[capacity.rows]] += capacity.pods
    short = columns.pod_count[rows] + pods >= columns.allowed_pods[rows]
    for name, amount in pod.signature.requests.items():
        index = columns.index(name)
        if not amount or index is None:
            continue
        reserved = np.zeros(len(rows), np.int64)
        for capacity in concerned:
            if name in capacity.amounts:
                reserved[place[capacity.rows]] += capacity.amounts[name]
        free = columns.allocatable[index, rows] - columns.requested[index, rows]
        short |= (reserved > 0) & (amount > free - reserved)
    found = np.zeros(height, np.bool_)
    found[rows] = short
    return found
