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
        members: UIDs of the pods for which it is held.
        start: the latest time at which it is needed, seconds on the engine's clock; infinity if that is unknown.
        rows: intp, shape (n,): the rows of the nodes, each once.
        pods: int64, shape (n,): the number of members for which each node is held.
        amounts: by resource, int64 of shape (n,).
        cost: without a start, the capacity that had to become free for the whole holder when it was planned.
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


def shares(holds: Iterable[ReservedCapacity], offered: Mapping[str, int]) -> dict[str, float]:
    """The reserved share of the nodes' capacity, by resource, without resources of which nothing is reserved."""
    held: Counter[str] = Counter()
    for hold in holds:
        held.update({name: int(amounts.sum()) for name, amounts in hold.amounts.items()})
    return {name: amount / offered[name] for name, amount in held.items() if amount and offered.get(name)}


class ReservationBook:
    """All reservations, by holder: one, or for a tree one for each part, in the order in which the parts are tried.

    `ends_at` returns when a pod that gets a node now will have ended, infinity if that is unknown. `began` is called
    with the first reserved capacity of a holder when its reservation begins, and `ended` with the holder when it ends.
    `messages` has the sentence about the reservation for users, by holder and by part, as long as capacity is held.
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
        self._holds: dict[str, Sequence[ReservedCapacity]] = {}
        self._hold_of: dict[str, ReservedCapacity] = {}

    def __len__(self) -> int:
        return len(self._holds)

    def __iter__(self) -> Iterator[ReservedCapacity]:
        return iter([*chain.from_iterable(self._holds.values())])

    def of(self, holder: str) -> Sequence[ReservedCapacity]:
        """The holds of this holder."""
        return self._holds.get(holder, ())

    def start_of(self, holder: str) -> float | None:
        """The latest start of this holder, infinity if it is unknown; None if nothing is held for it."""
        holds = self.of(holder)
        return holds[0].start if holds else None

    def message_of(self, holder: str) -> str | None:
        """The message about this holder's reservation, if it has one."""
        return self._messages.get(holder)

    def hold(self, holds: Sequence[ReservedCapacity], message: str) -> None:
        """Begin the reservation of the one holder of these holds, in place of its earlier one."""
        holder = holds[0].holder
        self.release(holder)
        self._holds[holder] = holds
        self._began(holds[0])
        for hold in holds:
            self._hold_of.update(dict.fromkeys(hold.members, hold))
            self._messages[hold.part] = message
        self._messages[holder] = message

    def release(self, holder: str) -> None:
        """End the reservation of this holder, if it has one."""
        known = self._holds.pop(holder, None)
        if known is None:
            return
        for hold in known:
            self._let_go(hold)
        self._messages.pop(holder, None)
        self._ended(holder)

    def served(self, hold: ReservedCapacity) -> None:
        """End the hold of one of several parts of a tree, because the part has its nodes."""
        self._holds[hold.holder] = [each for each in self._holds[hold.holder] if each is not hold]
        self._let_go(hold)

    def _let_go(self, hold: ReservedCapacity) -> None:
        for uid in hold.members:
            self._hold_of.pop(uid, None)
        self._messages.pop(hold.part, None)

    def pod_left(self, uid: str) -> None:
        """End the reservation of the pod's holder, because the pod no longer waits for capacity."""
        hold = self._hold_of.get(uid)
        if hold is not None:
            self.release(hold.holder)

    def kept_off(self, pod: PodInfo, snapshot: SnapshotReader, now: float) -> Mask | None:
        """bool, shape (height,): nodes on which the pod would take capacity that is held for others; None for none.

        On nodes that are held for the pod itself, it may use its own hold, which was planned beside the others' holds,
        even if the capacity for these has not become free yet. Before the start of its own hold, however, older holds
        count there, and holds that start earlier: pods that end in time may have been placed into its own hold.
        Parts of its tree that are tried before its own part do not count, because they have their nodes by then.
        """
        own = self._hold_of.get(pod.uid)
        siblings = () if own is None else self._holds[own.holder]
        served = {*takewhile(lambda hold: hold is not own, siblings)}
        concerned_or_own = [hold for hold in self if hold is own or (hold not in served and self._concerns(hold, pod))]
        concerned = [hold for hold in concerned_or_own if hold is not own]
        if not concerned:
            return None
        found = _short(concerned, pod, snapshot)
        if own is not None and found[own.rows].any():
            older = {*takewhile(lambda hold: hold is not own, concerned_or_own)}
            early = own.start > now
            counted = [hold for hold in concerned if early and (hold in older or hold.start < own.start)]
            found[own.rows] &= ~_is_left(own, pod, snapshot, found[own.rows])
            if counted:
                found[own.rows] |= _short(counted, pod, snapshot)[own.rows]
        return found

    def _concerns(self, hold: ReservedCapacity, pod: PodInfo) -> bool:
        if pod.priority > hold.priority or pod.uid in hold.members:
            return False
        return hold.start == inf or self._ends_at(pod) > hold.start


def _is_left(own: ReservedCapacity, pod: PodInfo, snapshot: SnapshotReader, asked: Mask) -> Mask:
    """bool, shape (n,): nodes of a hold on which it is enough for the pod and for the hold's members that are there.

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
    """bool, shape (height,): nodes on which these holds, one or more, leave too little for the pod."""
    columns, height = snapshot.resources, snapshot.height
    rows = np.unique(np.concatenate([hold.rows for hold in concerned]))
    place = np.zeros(height, np.intp)
    place[rows] = np.arange(len(rows))
    pods = np.zeros(len(rows), np.int64)
    for hold in concerned:
        pods[place[hold.rows]] += hold.pods
    short = columns.pod_count[rows] + pods >= columns.allowed_pods[rows]
    for name, amount in pod.signature.requests.items():
        index = columns.index(name)
        if not amount or index is None:
            continue
        held = np.zeros(len(rows), np.int64)
        for hold in concerned:
            if name in hold.amounts:
                held[place[hold.rows]] += hold.amounts[name]
        short |= (held > 0) & (amount > columns.allocatable[index, rows] - columns.requested[index, rows] - held)
    found = np.zeros(height, np.bool_)
    found[rows] = short
    return found
