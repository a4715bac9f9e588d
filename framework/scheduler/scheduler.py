"""The scheduler: takes entities off the queue, runs their cycles and brings back the pods that failed.

The operator's loop calls `step` as long as it returns True and lets other work in between. Binding runs in tasks of its
own, so a decision never waits for the API.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..cache.cache import Cache
from ..contract.decision import DecisionFollower, GroupDecision
from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.observer import GroupResult
from ..contract.queued_pod import QueuedPod
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from .attempt import Attempt
from .binding import BindingCycle
from .foreign import ForeignChanges
from .gang import GangCycle, GangOutcome
from .intake import PodIntake
from .ports import Ports
from .reports import Reports
from .scheduling import SchedulingCycle

log = logging.getLogger(__name__)

_SAMPLED_SHARE = 0.1
_DECISIONS = logging.INFO - 2
"""Level of the line that each decision gets: shown from `-v 2` on, as in kube-scheduler."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The cycles of one profile; `gang` is there when one of its plugins knows groups."""

    scheduling: SchedulingCycle
    binding: BindingCycle
    gang: GangCycle | None
    followers: tuple[DecisionFollower, ...]


class Scheduler:
    """Runs the cycles of all profiles. `lanes` maps each schedulerName to its profile's cycles.

    Attributes:
        placed: how many pods were given a node so far.
        binding: how many pods are on their way to be bound, past Permit; the ports' `wake` is called as it falls.
        reports: what people are told.
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        pods: PodIntake,
        foreign: ForeignChanges,
        ports: Ports,
        lanes: Mapping[str, Lane],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._pods = pods
        self._foreign = foreign
        self._ports = ports
        self._lanes = lanes
        self.placed = self.binding = 0
        self.reports = Reports(ports, pods.mine)

    def step(self) -> bool:
        """Take the next entity and decide for its pods. False when nothing is ready."""
        entity = self._queue.pop()
        if entity is None:
            return False
        attempts = [
            self._begin(queued, after_flush=entity.flushed) for queued in entity.pods.values() if self._eligible(queued)
        ]
        gang = self._lanes[entity.profile].gang
        if attempts and entity.group is not None and gang is not None:
            self._run_gang(gang, entity.group, attempts)
        else:
            for attempt in attempts:
                self._lanes[attempt.profile].scheduling.run(attempt)
                self._conclude(attempt)
        return True

    def _eligible(self, queued: QueuedPod) -> bool:
        """Whether an attempt makes sense; a pod that needs none leaves the queue."""
        pod = queued.info
        if pod.terminating:
            self.reports.warn(pod, f"skip schedule deleting pod: {pod.key}")
        elif not self._cache.is_assumed(pod.uid):
            return True
        self._queue.done(pod.uid)
        return False

    def _begin(self, queued: QueuedPod, *, after_flush: bool) -> Attempt:
        lane = self._lanes[queued.info.pod.spec.scheduler_name]
        attempt = lane.scheduling.begin(queued, sampled=self._ports.random() < _SAMPLED_SHARE)
        attempt.sequence = self._foreign.sequence
        attempt.after_flush = after_flush
        return attempt

    def _run_gang(self, gang: GangCycle, group: str, attempts: Sequence[Attempt]) -> None:
        began = self._ports.clock.now()
        outcome = gang.run(group, attempts)
        if outcome.decision is None:
            for attempt in attempts:
                self._tell_followers(attempt)
        else:
            self._tell_followers_of_group(self._lanes[attempts[0].profile], outcome.decision)
        seconds = self._ports.clock.now() - began
        self._ports.observer.group_algorithm_seconds(seconds)
        result = _failure(outcome) if gang.lacks_quorum(group) or not outcome.held else "scheduled"
        self._ports.observer.group_attempt(result, profile=attempts[0].profile, seconds=seconds)
        if outcome.together:
            self._failed(outcome.failed)
        else:
            for attempt in outcome.failed:
                self._failed([attempt])
        if outcome.held:
            self.placed += len(outcome.held)
            self.reports.held(attempt.pod for attempt in outcome.held)
            self._ports.spawn(self._bind_gang(gang, group, outcome))

    def _tell_followers(self, attempt: Attempt) -> None:
        followers = self._lanes[attempt.profile].followers
        if not followers:
            return
        decision = attempt.decision()
        for follower in followers:
            try:
                follower.on_pod_decision(decision)
            except Exception:  # a plugin's bug must not lose the pod
                log.exception("A plugin failed to follow a decision", extra={"pairs": {"plugin": follower.name}})

    def _tell_followers_of_group(self, lane: Lane, decision: GroupDecision) -> None:
        for follower in lane.followers:
            try:
                follower.on_group_decision(decision)
            except Exception:  # a plugin's bug must not lose the group
                log.exception("A plugin failed to follow a decision", extra={"pairs": {"plugin": follower.name}})

    def _conclude(self, attempt: Attempt) -> None:
        self._tell_followers(attempt)
        if attempt.status is not None:
            self._failed([attempt])
        else:
            self.placed += 1
            self.reports.held([attempt.pod])
            self._ports.spawn(self._bind(attempt))

    @contextmanager
    def _binding(self) -> Iterator[None]:
        """Count a binding cycle while it is under way."""
        self._ports.observer.goroutines("binding", change=1)
        try:
            yield
        finally:
            self._ports.observer.goroutines("binding", change=-1)

    async def _bind(self, attempt: Attempt) -> None:
        with self._binding():
            await self._binding_of(attempt).permitted(attempt)
            if attempt.status is None:
                await self._finish(attempt)
            else:
                self._released([attempt])

    async def _bind_gang(self, gang: GangCycle, group: str, outcome: GangOutcome) -> None:
        with self._binding():
            await self._bind_together(gang, group, outcome)

    async def _bind_together(self, gang: GangCycle, group: str, outcome: GangOutcome) -> None:
        """Bind members that were placed in one transaction; when that loses the quorum meanwhile, none is bound."""
        attempts = outcome.held
        await asyncio.gather(*(self._binding_of(attempt).permitted(attempt) for attempt in attempts))
        for attempt in attempts:
            if attempt.status is None and not self._is_there(attempt.pod):
                self._binding_of(attempt).removed(attempt)
        lost = [attempt for attempt in attempts if attempt.status is not None]
        spoiler = outcome.spoiler or next(iter(lost), None)
        if spoiler is not None and gang.lacks_quorum(group):
            for attempt in attempts:
                if attempt.status is None:
                    self._binding_of(attempt).withdraw(attempt, spoiler)
            self._released(attempts)
            return
        for attempt in lost:
            self._released([attempt])
        await asyncio.gather(*(self._finish(attempt) for attempt in attempts if attempt.status is None))

    def _binding_of(self, attempt: Attempt) -> BindingCycle:
        return self._lanes[attempt.profile].binding

    async def _finish(self, attempt: Attempt) -> None:
        self._queue.done(attempt.pod.uid)
        self.binding += 1
        try:
            await self._binding_of(attempt).bind(attempt)
        finally:
            self.binding -= 1
            self._ports.wake()
        if attempt.status is None:
            self._bound(attempt)
            self._binding_of(attempt).follow_up(attempt)
        else:
            self._released([attempt])

    def _bound(self, attempt: Attempt) -> None:
        pod, now, observer = attempt.pod, self._ports.clock.now(), self._ports.observer
        self.reports.bound(pod, attempt.node_name)
        observer.attempt("scheduled", profile=attempt.profile, seconds=now - attempt.started)
        observer.bound(
            attempts=attempt.queued.attempts,
            sli_seconds=now - attempt.queued.first_seen,
            after_flush=attempt.after_flush,
        )
        log.log(_DECISIONS, "Bound pod", extra={"pairs": {"pod": pod.key, "node": attempt.node_name}})

    def _released(self, attempts: Sequence[Attempt]) -> None:
        """Pods that were held are not any more: they failed, and others may find room."""
        self._failed(attempts)
        for attempt in attempts:
            self._queue.move_all(ASSIGNED_POD_DELETE, attempt.pod, None, besides=attempt.pod.uid)

    def _failed(self, attempts: Sequence[Attempt]) -> None:
        """Bring pods that failed for one reason back to the queue, and say why they wait."""
        back = [attempt for attempt in attempts if self._still_waits(attempt)]
        if back:
            self._queue.requeue([attempt.queued for attempt in back], back[0].rejection())
            self._queue.activate(attempt.pod for attempt in back if attempt.displaced)
        now = self._ports.clock.now()
        for attempt in attempts:
            status = attempt.status or Status.failure()
            self._ports.observer.attempt(
                "unschedulable" if status.rejected else "error",
                profile=attempt.profile,
                seconds=now - attempt.started,
            )
            pairs = {"pod": attempt.pod.key, "reason": status.message}
            if status.code is Code.ERROR:
                log.error("Attempt failed", extra={"pairs": pairs}, exc_info=status.error)
            else:
                log.log(_DECISIONS, "Unable to schedule pod", extra={"pairs": pairs})
        self._report(back)

    def _report(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            current = self._pods.mine(attempt.pod.key)
            if current is not None and attempt.status is not None:
                self.reports.failed(current, attempt.status, attempt.nominated)

    def _still_waits(self, attempt: Attempt) -> bool:
        """Whether the pod is to come back: not when it is gone, bound by somebody else, or another one by now."""
        current = self._pods.mine(attempt.pod.key)
        if current is None or current.node_name or current.uid != attempt.pod.uid:
            self._queue.done(attempt.pod.uid)
            return False
        attempt.queued.info = current
        return True

    def _is_there(self, pod: PodInfo) -> bool:
        """Whether the pod has not been deleted."""
        current = self._pods.mine(pod.key)
        return current is not None and current.uid == pod.uid and not current.terminating


def _failure(outcome: GangOutcome) -> GroupResult:
    """What a gang's attempt that did not start it came to, as a label of metrics."""
    statuses = [attempt.status for attempt in outcome.failed if attempt.status is not None]
    return "unschedulable" if all(status.rejected for status in statuses) else "error"
