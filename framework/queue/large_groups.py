"""Large groups: the scheduler does, a slice at a time, what takes time for each member of a group that is woken.

Hints may have to be asked about every member of a group that an event may help, PreEnqueue and QueueSort about those of
one that is to become ready, which takes some microseconds each. For a group of thousands that would hold the event
loop, so it waits as unschedulable until the scheduler, which settles large groups before it pops, has been through its
members. `EntityMoves` says what goes where in the end.

Guarantees: at each checkpoint every pod is in exactly one place, and what is given up is done anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sized
from functools import partial
from typing import NamedTuple

from ..work import checkpoint
from .entity import Place, QueuedEntity, QueuedPodInfo
from .hints import QueueingStrategy
from .in_flight import ObjectEvent
from .kept_out import KeptOutPods
from .places import Places


class _Woken(NamedTuple):
    """What has helped the group, where that sends it, and whether PreEnqueue is to be asked about its members."""

    strategy: QueueingStrategy
    event: str
    asks: bool


class LargeGroups:
    """What is to be done for them. A group is large with more than `most_at_once` pods."""

    def __init__(
        self,
        places: Places,
        kept_out: KeptOutPods,
        most_at_once: int,
        place_for: Callable[[QueuedEntity, QueueingStrategy], Place],
        remove: Callable[[str], QueuedPodInfo],
        reconsider: Callable[[QueuedEntity, ObjectEvent], bool],
    ) -> None:
        """`place_for` says where a strategy sends an entity.

        `remove` takes out a pod that waits, by its UID. `reconsider` wakes an entity, which it tells, if a hint says
        of one of its pods that the event helps.
        """
        self._places = places
        self._kept_out = kept_out
        self._most_at_once = most_at_once
        self._place_for = place_for
        self._remove = remove
        self._reconsider = reconsider
        self._considered: dict[QueuedEntity, deque[ObjectEvent]] = {}
        self._woken: dict[QueuedEntity, _Woken] = {}
        self._pods: dict[str, Callable[[], object]] = {}

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self._woken or self._pods or self._considered)

    def __contains__(self, uid: str) -> bool:
        """Whether anything is to be done for the pod by itself."""
        return uid in self._pods

    def are_many(self, pods: Sized) -> bool:
        """Whether plugins are not to be asked about so many in one go."""
        return len(pods) > self._most_at_once

    def consider(self, entity: QueuedEntity, event: ObjectEvent) -> None:
        """Wake an unschedulable entity if the event helps it, once hints have been asked about its members."""
        self._considered.setdefault(entity, deque()).append(event)
        self._places.on_entry()

    def wake(self, entity: QueuedEntity, strategy: QueueingStrategy, event: str, *, asks: bool = True) -> None:
        """Let an entity that is in no sub-queue go where the strategy says, once its members have been asked about."""
        self._places.put_back(entity, Place.UNSCHEDULABLE)
        known = self._woken.get(entity)
        if known is None or known.strategy < strategy:
            self._woken[entity] = _Woken(strategy, event, asks or (known is not None and known.asks))
        self._places.on_entry()

    def one_by_one(self, uids: Iterable[str], act: Callable[[str], object]) -> None:
        """Do this, instead of what was to be done, for each of these pods, one in each step, if it still waits then."""
        for uid in uids:
            self._pods[uid] = partial(act, uid)
        self._places.on_entry()

    def forget(self, uid: str) -> None:
        """The pod waits no more."""
        self._pods.pop(uid, None)

    def dissolve(self, entity: QueuedEntity) -> None:
        """The entity has no pods left."""
        self._woken.pop(entity, None)
        self._considered.pop(entity, None)

    def settle(self) -> None:
        """Do all of it. Nothing else may reach the queue meanwhile; what is given up stays due."""
        for uid in [*self._pods]:
            act = self._pods.pop(uid)
            if uid in self._places.entity_of:
                act()
            checkpoint()
        while self._considered:
            self._consider(*next(iter(self._considered.items())))
        while self._woken:
            entity, woken = next(iter(self._woken.items()))
            if woken.asks:
                self._kept_out.run_pre_enqueue(entity, woken.event, self._remove, checkpoint)
            if entity.pods:
                self._put(entity, woken)
            self._woken.pop(entity, None)

    def _consider(self, entity: QueuedEntity, events: deque[ObjectEvent]) -> None:
        while events and entity.place is Place.UNSCHEDULABLE and self._may_go_sooner(entity):
            self._reconsider(entity, events[0])
            events.popleft()
        self._considered.pop(entity, None)

    def _may_go_sooner(self, entity: QueuedEntity) -> bool:
        """Whether an event can still change where the entity goes."""
        woken = self._woken.get(entity)
        return woken is None or (bool(entity.pending_plugins) and woken.strategy < QueueingStrategy.IMMEDIATELY)

    def _put(self, entity: QueuedEntity, woken: _Woken) -> None:
        place = self._place_for(entity, woken.strategy)
        key = None if place is Place.ERROR_BACKOFF else self._places.key_of(entity, checkpoint)
        self._places.take(entity)
        self._places.put(entity, place, woken.event, key=key)
