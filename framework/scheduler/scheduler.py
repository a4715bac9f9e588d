"""The scheduler: pops entities from the queue and has their pods scheduled, one by one or as a group.

The operator's loop calls `step` as long as it returns True, and lets other work run in between. A group is decided in
as many slices as it takes (`work`), and the snapshot does not change meanwhile (`runtime.standstill`). Binding runs in
tasks of its own, so a decision never waits for the API.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..contract.plugin import QueuedPod
from ..queue.entity import QueuedEntity, Rejection
from ..work import Aborted, Worker, at_each, checkpoint
from .attempt import Attempt
from .consultations import Consultations, SetAsideAttempts
from .engine_services import EngineServices
from .review import Review
from .schedule_group import GroupScheduler
from .schedule_one import PodScheduler


class Scheduler:
    """Runs the cycles of all profiles.

    Attributes:
        reports: writes Events and conditions.
        decided: the number of ended decisions about ready pods. It only grows.
    """

    def __init__(
        self,
        services: EngineServices,
        pods: PodScheduler,
        groups: GroupScheduler,
        consultations: Consultations,
        *,
        review: Review,
    ) -> None:
        self.reports = services.reports
        self.decided = 0
        self._services = services
        self._queue = services.queue
        self._standstill = services.ports.standstill
        self._pods = pods
        self._groups = groups
        self._consultations = consultations
        self._review = review
        self._worker = Worker(services.call_watch)

    @property
    def bindings_in_flight(self) -> int:
        """How many pods are on their way to be bound, see `PodsBeingBound`; the ports' `wake` is called as it falls."""
        return len(self._pods.being_bound)

    @property
    def under_way(self) -> bool:
        """Whether a decision is in progress."""
        return self._worker.busy

    @property
    def has_long_work(self) -> bool:
        """Whether pods are set aside, so that a step continues their work if there is nothing to decide."""
        return bool(self._pods.set_aside)

    @property
    def has_review_due(self) -> bool:
        """Whether a step reviews waiting pods before anything else is decided."""
        return self._review.is_due

    def step(self) -> bool:
        """Take the next decision, such as that on a popped entity, or continue the decision in progress for a slice.

        The decision runs on the worker's stack (`Worker.begin`, then `go_on` in each step until it has ended). Every
        other step continues the long work of pods that are set aside.

        False when nothing is ready, or another standstill is in progress.
        """
        if not self._worker.busy:
            if self._standstill.under_way:
                return False
            set_aside = self._pods.set_aside
            decide = None if set_aside.working and set_aside.has_turn() else self._pop_next_decision()
            if decide is None:
                if not set_aside.working:
                    return False
                set_aside.go_on(at_each)
                return True
            self._standstill.begin()
            self._worker.begin(decide)
        try:
            self._worker.go_on(self._standstill.slice_end())
        finally:
            self._end_if_decided()
        return True

    def abort(self) -> None:
        """End the decision in progress, if there is one: its pods are ready again, unless it had committed."""
        if self._worker.busy:
            try:
                self._worker.abort()
            finally:
                self._end_if_decided()

    def _end_if_decided(self) -> None:
        if not self._worker.busy:
            self._standstill.end()

    def _pop_next_decision(self) -> Callable[[], None] | None:
        """Take the next decision out of its queue: the first of the following that is due; None if nothing is.

        1. Pods whose extenders have answered.
        2. A pod that was set aside and whose long work is done.
        3. A review of waiting pods.
        4. `settle`, if the queue has unfinished moves of many pods.
        5. The entity that the queue pops.
        """
        kept = self._consultations.next()
        if kept is not None:
            pods = [attempt.queued for attempt in kept.attempts]
            return self._requeue_if_aborted(pods, partial(self._resume, kept))
        if self._pods.set_aside.ready:
            attempt = self._pods.set_aside.ready.popleft()
            alone = SetAsideAttempts(attempt.profile, None, [attempt])
            return self._requeue_if_aborted([attempt.queued], partial(self._resume, alone))
        if self._review.is_due:
            return self._review.review_some
        if self._queue.is_exhausted:
            return None
        entity = None if self._queue.is_unsettled else self._queue.pop()
        if entity is None:
            return self._queue.settle if self._queue.is_unsettled else None
        return self._requeue_if_aborted(tuple(entity.pods.values()), partial(self._decide_entity, entity))

    def _requeue_if_aborted(self, pods: Sequence[QueuedPod], decide: Callable[[], None]) -> Callable[[], None]:
        """The decision as a function that makes these pods ready again if it is aborted."""

        def decided() -> None:
            try:
                decide()
            except Aborted:
                self._queue.requeue(pods, Rejection())
                self._queue.activate(queued.info for queued in pods)
                raise
            self.decided += 1

        return decided

    def _decide_entity(self, entity: QueuedEntity) -> None:
        """Begin an attempt for each pod, and decide them, unless extenders have to be asked first."""
        attempts: list[Attempt] = []
        for queued in tuple(entity.pods.values()):
            if attempts:
                checkpoint()
            attempt = self._pods.begin(queued, entity)
            if attempt is not None:
                attempts.append(attempt)
        if self._consultations.are_due(attempts):
            self._consultations.add(SetAsideAttempts(entity.profile, entity.group, attempts))
        else:
            self._decide_attempts(entity.profile, entity.group, attempts)

    def _resume(self, kept: SetAsideAttempts) -> None:
        self._decide_attempts(kept.profile, kept.group, self._pods.resume(kept.attempts))

    def _decide_attempts(self, profile: str, entity_group: str | None, attempts: Sequence[Attempt]) -> None:
        if not attempts or entity_group is None:
            for attempt in attempts:
                self._pods.schedule_one(attempt)
            return
        plugin, group = self._services.algorithms[profile].framework.groups.named(entity_group)
        if self._groups.schedule_group(plugin, group, attempts):
            self._review.note(entity_group, attempts)
        else:
            self._consultations.ask_for_group(SetAsideAttempts(profile, entity_group, attempts))
