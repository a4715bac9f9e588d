"""The scheduler: takes entities off the queue and has their pods scheduled, one by one or as a group.

The operator's loop calls `step` as long as it returns True and lets other work in between. A group is decided in as
many slices as it takes (`work`), and the picture stands still meanwhile (`runtime.standstill`). Binding runs in tasks
of its own, so a decision never waits for the API.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..cache.cache import Cache
from ..contract.cycle_state import CycleState
from ..contract.plugin import QueuedPod
from ..queue.entity import QueuedEntity, Rejection
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.framework import Framework
from ..runtime.watch import Watch
from ..work import GivenUp, Worker, at_each, checkpoint, commit
from .attempt import Attempt
from .binding_cycle import BindingCycle
from .consultations import Consultations, Consulted
from .failure import FailureHandler
from .profile_handle import Ports
from .reports import Reports
from .review import Review
from .schedule_group import GroupCycle
from .scheduling_cycle import SchedulingCycle
from .set_aside import SetAside

log = logging.getLogger(__name__)

_SAMPLED_SHARE = 0.1


class Scheduler:
    """Runs the cycles of all profiles. `frameworks` are those of the profiles, by schedulerName.

    Attributes:
        reports: what people are told.
        decided: how many decisions about pods that were ready have ended. It only grows.
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        cache: Cache,
        queue: SchedulingQueue,
        cycle: SchedulingCycle,
        groups: GroupCycle,
        bindings: BindingCycle,
        failures: FailureHandler,
        consultations: Consultations,
        review: Review,
        reports: Reports,
        ports: Ports,
        watch: Watch,
    ) -> None:
        self.reports = reports
        self.decided = 0
        self._frameworks = frameworks
        self._cache = cache
        self._queue = queue
        self._cycle = cycle
        self._groups = groups
        self._bindings = bindings
        self._failures = failures
        self._consultations = consultations
        self._review = review
        self._ports = ports
        self._set_aside = SetAside(failures.still_waits, watch)
        self._worker = Worker(watch)

    @property
    def binding(self) -> int:
        """How many pods are on their way to be bound, see `BindingCycle`; the ports' `wake` is called as it falls."""
        return self._bindings.binding

    @property
    def under_way(self) -> bool:
        """Whether a decision has begun and not ended."""
        return self._worker.busy

    @property
    def has_long_work(self) -> bool:
        """Whether pods are set aside, so that a step goes on with that if there is nothing to decide."""
        return bool(self._set_aside)

    @property
    def has_looks_due(self) -> bool:
        """Whether a step looks at pods that wait before anything else is decided."""
        return self._review.is_due

    def step(self) -> bool:
        """Take the next entity and decide for its pods, or go on with the decision under way for a slice.

        Every other step goes on with the long work of pods that are set aside.

        False when nothing is ready, or the picture stands still for something else.
        """
        standstill = self._ports.standstill
        if not self._worker.busy:
            if standstill.under_way:
                return False
            decide = None if self._set_aside.has_turn() else self._next()
            if decide is None:
                return self._set_aside.go_on(at_each)
            standstill.begin()
            self._worker.begin(decide)
        try:
            self._worker.go_on(standstill.slice_end())
        finally:
            self._end_if_decided()
        return True

    def give_up(self) -> None:
        """End the decision under way, if there is one: its pods are ready again, or were acted on already."""
        if self._worker.busy:
            try:
                self._worker.give_up()
            finally:
                self._end_if_decided()

    def _end_if_decided(self) -> None:
        if not self._worker.busy:
            self._ports.standstill.end()

    def _next(self) -> Callable[[], None] | None:
        consulted = self._consultations.next()
        if consulted is not None:
            pods = [attempt.queued for attempt in consulted.attempts]
            return self._given_back_if_given_up(pods, partial(self._decide_after_all, consulted))
        attempt = self._set_aside.next()
        if attempt is not None:
            alone = Consulted(attempt.profile, None, [attempt])
            return self._given_back_if_given_up([attempt.queued], partial(self._decide_after_all, alone))
        looks = self._review.next()
        if looks is not None:
            return looks
        entity = None if self._queue.is_unsettled else self._queue.pop()
        if entity is None:
            return self._queue.settle if self._queue.is_unsettled else None
        return self._given_back_if_given_up(tuple(entity.pods.values()), partial(self._take, entity))

    def _given_back_if_given_up(self, pods: Sequence[QueuedPod], decide: Callable[[], None]) -> Callable[[], None]:
        def decided() -> None:
            try:
                decide()
            except GivenUp:
                self._queue.requeue(pods, Rejection())
                self._queue.activate(queued.info for queued in pods)
                raise
            self.decided += 1

        return decided

    def _take(self, entity: QueuedEntity) -> None:
        attempts: list[Attempt] = []
        for queued in tuple(entity.pods.values()):
            if attempts:
                checkpoint()
            if self._eligible(queued):
                attempts.append(self._begin(queued, entity))
        if self._consultations.are_due(attempts):
            self._consultations.add(Consulted(entity.profile, entity.group, attempts))
        else:
            self._decide(entity.profile, entity.group, attempts)

    def _decide_after_all(self, consulted: Consulted) -> None:
        """Decide for those that still make sense after a while, on the pods and the cluster as they are by now."""
        attempts = consulted.attempts
        left = [each for each in attempts if self._failures.still_waits(each) and self._eligible(each.queued)]
        for attempt in left:
            attempt.generation = self._cache.generation
        self._decide(consulted.profile, consulted.group, left)

    def _decide(self, profile: str, entity_group: str | None, attempts: Sequence[Attempt]) -> None:
        if attempts and entity_group is not None:
            plugin, group = self._frameworks[profile].groups.named(entity_group)
            if self._groups.run(plugin, group, attempts):
                self._review.note(entity_group, attempts)
            else:
                self._consultations.ask_for_group(Consulted(profile, entity_group, attempts))
        else:
            for attempt in attempts:
                self._schedule_one(attempt)

    def _schedule_one(self, attempt: Attempt) -> None:
        self._cycle.run(attempt)
        if self._set_aside.takes(attempt, partial(self._cycle.works_out, attempt)):
            return
        if self._cycle.works_out(attempt):
            self._cycle.run(attempt)
        if attempt.status is not None and self._consultations.reopened(attempt):
            return
        commit()
        attempt.tell_followers()
        if attempt.status is not None:
            self._failures.failed([attempt])
            return
        self._queue.found_node(attempt.pod.uid)
        self.reports.placed(attempt)
        self._bindings.begins([attempt])
        self._ports.spawn(self._bindings.run(attempt))

    def _eligible(self, queued: QueuedPod) -> bool:
        """Whether an attempt makes sense; a pod that needs none leaves the queue."""
        pod = queued.info
        if pod.terminating:
            self.reports.warn(pod, f"skip schedule deleting pod: {pod.key}")
        elif not self._cache.is_assumed(pod.uid):
            return True
        self._queue.done(pod.uid)
        return False

    def _begin(self, queued: QueuedPod, entity: QueuedEntity) -> Attempt:
        framework = self._frameworks[queued.info.pod.spec.scheduler_name]
        state = CycleState(sampled=self._ports.random() < _SAMPLED_SHARE)
        began, generation = self._ports.measured.now(), self._cache.generation
        return Attempt(queued, framework, state, began, generation, entity.flushed, entity.group)
