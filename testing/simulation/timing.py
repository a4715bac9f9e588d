"""Times around preemption: which seeds have them, who sets them, and whether evictions keep to them.

In a part of the seeds the profiles run PreemptionTiming with arguments of its own, the class of urgent pods has
annotations that change, and groups have annotations. The judge computes the times again from the objects that the
process knows at its decision. What it has to allow for is the precision of timestamps, and clocks that Muster does not
correct because they are off by so little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import Any, cast

from muster.framework.contract import PodInfo
from muster.framework.groups import GROUP_BOOKS, MIN_RUN, PREEMPTION_DELAY, GroupBook
from muster.framework.model.names import PREFIX
from muster.framework.model.pod import POD_SCHEDULED, SCHEDULING_GATED
from muster.framework.model.times import parse_time
from muster.framework.scheduler.engine import Engine
from muster.plugins.preemptiontiming.classes import PRIORITY_CLASSES as CLASSES
from muster.plugins.preemptiontiming.plugin import PreemptionTiming
from muster.sandbox.kinds import PRIORITY_CLASSES

from .acts import Act
from .members import URGENT
from .server import SimulatedServer
from .traits import TIMES, Traits

_TIMED = 0.25
"""The share of seeds with times around preemption."""
_SECONDS = (0, 10, 25)
_TOLERANCE_SECONDS = 6.0
"""The precision of two timestamps, and how far the clocks of two processes may be off."""


@dataclass(frozen=True, slots=True)
class PreemptionTimes:
    """The arguments of PreemptionTiming: how long a preemptor waits, and how long pods run undisturbed, in seconds."""

    delay: int
    min_run: int


def timing_of(seed: str) -> PreemptionTimes | None:
    """The arguments in this seed; None if its profiles do not run the plugin."""
    random = Random(f"{seed}/timing")
    return PreemptionTimes(random.choice(_SECONDS), random.choice(_SECONDS)) if random.random() < _TIMED else None


def with_times(seed: str, seconds: float, acts: Iterable[Act]) -> Iterator[Act]:
    """The acts, with annotations on some groups, and changes of the class of urgent pods."""
    for act in acts:
        yield replace(act, given=_timed(seed, act.given)) if act.what == "group_comes" else act
    random = Random(f"{seed}/times of classes")
    for at in (0.0, random.uniform(0.0, seconds), random.uniform(0.0, seconds)):
        yield Act(at, "urgency_is_timed", (random.choice(_SECONDS), random.choice(_SECONDS)))


def _timed(seed: str, group: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `GroupActs.group_comes`, with traits of times for some groups."""
    name, minimum, native, *rest = group
    traits: Traits = rest[0] if rest else ()
    random = Random(f"{seed}/times of {name}")
    times = tuple((each, str(random.choice(_SECONDS))) for each in TIMES if random.random() < 0.5)
    return (name, minimum, native, (*traits, *times), *rest[1:])


class TimingActs:
    """Carries out acts of an administrator on the class of urgent pods."""

    def __init__(self, server: SimulatedServer) -> None:
        self._store = server.store

    def urgency_is_timed(self, delay: int, min_run: int) -> None:
        """Urgent pods wait so long before they evict others from now on, and run so long undisturbed."""
        found = self._store.get(PRIORITY_CLASSES, URGENT).obj
        times = dict(zip(TIMES, (delay, min_run), strict=True))
        annotations = {PREFIX + name: str(seconds) for name, seconds in times.items()}
        self._store.update(
            PRIORITY_CLASSES, URGENT, found | {"metadata": found["metadata"] | {"annotations": annotations}}
        )


class EvictionTimes:
    """The times of one process, as it knows their objects. `now` is in seconds since the epoch."""

    def __init__(self, engine: Engine, plugin: PreemptionTiming, now: float) -> None:
        self._books = cast("Mapping[str, GroupBook[Any, Any]]", engine.shared[GROUP_BOOKS])
        self._classes = {each.metadata.name: each.metadata.annotations for each in plugin.handle.lister(CLASSES).list()}
        self._args = plugin.args
        self._now = now

    def faults(self, waiting: Sequence[PodInfo], missing: int, victims: Iterable[PodInfo]) -> Iterator[str]:
        """Victims that have not run long enough, and too few preemptors that have waited long enough."""
        ready = sum(self._has_waited(pod) for pod in waiting)
        if ready < min(max(missing, 1), len(waiting)):
            yield f"{ready} of {len(waiting)} have waited for their preemption delay, and {missing} are missing"
        for pod in victims:
            if self._overdue(pod) < -_TOLERANCE_SECONDS:
                yield f"{pod.key} is to go, which has not run for its minimum"

    def may_go(self, pod: PodInfo) -> bool:
        """Whether the pod has run for its minimum on any clock."""
        return self._overdue(pod) >= _TOLERANCE_SECONDS

    def _overdue(self, pod: PodInfo) -> float:
        """For how many seconds the pod's minimum has been over; negative if it is not over."""
        seconds = self._seconds(MIN_RUN, pod, self._args.min_run_seconds)
        if not seconds:
            return inf
        started = pod.pod.status.start_time or _transition(pod, "True")
        return -inf if started is None else self._now - parse_time(started) - seconds

    def _has_waited(self, pod: PodInfo) -> bool:
        seconds, since = self._seconds(PREEMPTION_DELAY, pod, self._args.delay_seconds), _transition(pod, "False")
        if not seconds:
            return True
        return since is not None and self._now - parse_time(since) >= seconds - _TOLERANCE_SECONDS

    def _seconds(self, key: str, pod: PodInfo, default: int) -> int:
        sources = [*self._of_groups(pod), self._classes.get(pod.pod.spec.priority_class_name, {})]
        return next((int(each[key]) for each in sources if key in each), default)

    def _of_groups(self, pod: PodInfo) -> Iterator[Mapping[str, str]]:
        for book in self._books.values():
            group = book.members.named_by(pod)
            found = None if group is None else book.object_of(group)
            if found is not None:
                yield found.annotations


def _transition(pod: PodInfo, status: str) -> str | None:
    """When the pod's PodScheduled got this status, if it has it; a gated pod waits for no node."""
    found = pod.pod.status.condition(POD_SCHEDULED)
    if found is None or found.status != status or found.reason == SCHEDULING_GATED:
        return None
    return found.last_transition_time
