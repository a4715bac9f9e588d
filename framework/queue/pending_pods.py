"""Pods in the queue as users see them: how long a pod has waited and when it is retried, and a line for each pod.

`why` and the served pages show `PendingPod`; on SIGUSR2 the process logs a `DumpLine` for each pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .entity import QueuedEntity, QueuedPodInfo
from .heaps import WINDOW_SECONDS
from .transitions import Place


class DumpLine(NamedTuple):
    """One pod in the queue, as the process logs it on SIGUSR2.

    Attributes:
        place: the label of its place.
        entity: the key of the entity in which it waits or is tried; empty for a gated pod.
        pod: `namespace/name`.
        uid: its UID.
        attempts: how often it has been tried.
        since: when it last entered the queue, seconds on the engine's clock.
        plugins: the plugins that rejected or gate it.
    """

    place: str
    entity: str
    pod: str
    uid: str
    attempts: int
    since: float
    plugins: tuple[str, ...]

    def __str__(self) -> str:
        of = f" of {self.entity}" if self.entity.startswith("group/") else ""
        held = f", held back by {', '.join(self.plugins)}" if self.plugins else ""
        return f"{self.place}: {self.pod}{of}, attempts {self.attempts}{held}"


def dump_lines(pods: Iterable[tuple[QueuedPodInfo, QueuedEntity]]) -> list[DumpLine]:
    """A line for each pod, which is given with its entity; sorted by place and entity."""
    lines = []
    for pod, entity in pods:
        key, plugins = entity.key if entity.admitted else "", tuple(sorted(entity.rejectors))
        lines.append(
            DumpLine(entity.place.label, key, pod.info.key, pod.info.uid, pod.attempts, pod.timestamp, plugins)
        )
    return sorted(lines)


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A waiting pod. Seconds are relative to now.

    Attributes:
        place: the label of its place.
        waited_seconds: the time since it first entered the queue.
        attempts: how often it was tried.
        ahead: how many waiting pods and groups would be tried before it if all were ready; None for a gated pod.
        next_try_seconds: when it is tried at the latest; 0 for a pod that is ready, None for a gated pod.
        waits_for: the plugins whose events retry it earlier; empty for a pod that is ready.
    """

    place: str
    waited_seconds: float
    attempts: int
    ahead: int | None
    next_try_seconds: float | None
    waits_for: tuple[str, ...]


def pending_pod(
    uid: str, entity_of: Mapping[str, QueuedEntity], *, now: float, sweep: float, limit: float
) -> PendingPod | None:
    """How a pod waits; None if it does not. `entity_of` has the entities of all waiting pods by UID.

    `sweep` is the next time, on the engine's clock, at which entities are retried that have waited for an event for
    more than `limit` seconds.
    """
    entity = entity_of.get(uid)
    if entity is None:
        return None
    pod, place, ahead, next_try = entity.pods[uid], entity.place, None, None
    if place is not Place.GATED:
        others = {id(each): each for each in entity_of.values() if each is not entity and each.place is not Place.GATED}
        ahead = sum(1 for each in others.values() if each.sort_key < entity.sort_key)
        next_try = _next_try(entity, now, sweep, limit)
    waits_for = tuple(sorted(entity.rejectors)) if place is not Place.ACTIVE else ()
    return PendingPod(place.label, now - pod.first_seen, pod.attempts, ahead, next_try, waits_for)


def _next_try(entity: QueuedEntity, now: float, sweep: float, limit: float) -> float:
    if entity.place is Place.ACTIVE:
        return 0.0
    over = entity.backoff_until + WINDOW_SECONDS
    if entity.place is Place.UNSCHEDULABLE:
        over = max(over, sweep, entity.timestamp + limit)
    return max(0.0, over - now)
