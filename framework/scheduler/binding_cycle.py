"""The binding cycle: carry out an attempt that has a node, without holding up the next decision.

Runs as one task a pod, or one a group. Whatever fails, the pod's place is given back and it returns to the queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..cache.cache import Cache
from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.extender import Extender
from ..contract.handle import Clock
from ..contract.observer import Observer
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from .attempt import Attempt
from .extenders import bind
from .failure import FailureHandler
from .reports import DECISIONS, Reports
from .scheduling_cycle import SchedulingCycle

log = logging.getLogger(__name__)


class BindingCycle:
    """Binds pods of all profiles.

    Each pod that has a node is announced by `begins`, then bound in a task.
    """

    def __init__(
        self,
        cycle: SchedulingCycle,
        cache: Cache,
        queue: SchedulingQueue,
        failures: FailureHandler,
        reports: Reports,
        clock: Clock,
        observer: Observer,
        wake: Callable[[], None],
        extenders: Sequence[Extender] = (),
    ) -> None:
        self._binding = set[str]()
        self._cycle = cycle
        self._cache = cache
        self._queue = queue
        self._failures = failures
        self._reports = reports
        self._clock = clock
        self._observer = observer
        self._wake = wake
        self._binders = [extender for extender in extenders if extender.is_binder]

    @property
    def binding(self) -> int:
        """How many pods are on their way to be bound; `wake` is called as it falls. Those that Permit holds are not."""
        return len(self._binding)

    def begins(self, attempts: Sequence[Attempt]) -> None:
        """Count these, which are to be bound together, before their task has taken its first step.

        Others may have the nodes that they were promised and do not need.
        """
        for attempt in attempts:
            if attempt.leaves_room:
                self._queue.move_all(ASSIGNED_POD_DELETE, attempt.pod, None, besides=attempt.pod.uid)
        if not any(attempt.waits for attempt in attempts):
            self._binding.update(attempt.pod.uid for attempt in attempts)

    async def run(self, attempt: Attempt) -> None:
        """Bind one pod."""
        with self.counted():
            if await self.permitted(attempt):
                await self.bind(attempt)
            else:
                self._failures.released([attempt])

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a task of this cycle while it is under way."""
        self._observer.goroutines("binding", change=1)
        try:
            yield
        finally:
            self._observer.goroutines("binding", change=-1)

    async def permitted(self, attempt: Attempt) -> bool:
        """Wait for Permit, then look at the node again. On failure the place is given back."""
        unclear = self._pre_flight(attempt)
        refused: Status | None = None
        if attempt.waits and not unclear:
            with self._reports.permit.reporting(attempt):
                refused = await attempt.framework.wait_on_permit(attempt.pod)
        if unclear is not None:
            attempt.fail_to_bind(unclear)
        elif refused is not None:
            attempt.fail_on_node(refused)
        elif (lost := self._cycle.lost_node(attempt)) is not None:
            attempt.fail_on_lost_node(lost)
        if attempt.status is not None:
            self._give_back(attempt)
        return attempt.status is None

    def _pre_flight(self, attempt: Attempt) -> Status | None:
        """Find out what is to be done before the pod is bound; an ERROR if that fails.

        Where it takes time, the API is told the node, so that others, such as autoscalers, know of it
        (upstream: NominatedNodeNameForExpectation).
        """
        framework, pod = attempt.framework, attempt.pod
        status = framework.run_pre_bind_pre_flights(attempt.state, pod, attempt.node_name)
        if status is not None and status.code is not Code.SKIP:
            framework.stop_waiting(pod)
            return status
        if status is None or attempt.waits:
            self._reports.expected(pod, attempt.node_name)
        return None

    def withdraw(self, attempt: Attempt, because: Attempt) -> None:
        """Give a permitted pod's place back, because a sibling that it was placed with lost its own."""
        attempt.fail_with(because)
        self._give_back(attempt)

    def removed(self, attempt: Attempt) -> None:
        """Give a permitted pod's place back, because the pod is gone."""
        attempt.fail_on_node(Status.unschedulable("removed"))
        self._give_back(attempt)

    async def bind(self, attempt: Attempt) -> None:
        """PreBind, Bind and PostBind of a permitted pod."""
        pod, state, node_name, framework = attempt.pod, attempt.state, attempt.node_name, attempt.framework
        self._queue.done(pod.uid)
        self._binding.add(pod.uid)
        try:
            status = await framework.run_pre_bind_plugins(state, pod, node_name)
            if status is None:
                status = await bind(self._binders, pod, node_name)
                if status is not None and status.code is Code.SKIP:
                    status = await framework.run_bind_plugins(state, pod, node_name)
        finally:
            self._ended(pod)
        if status is not None:
            attempt.fail_to_bind(status)
            self._cycle.give_back(attempt)
            self._failures.released([attempt])
            return
        self._cache.finish_binding(pod)
        self._bound(attempt)
        framework.run_post_bind_plugins(state, pod, node_name)

    def _give_back(self, attempt: Attempt) -> None:
        self._ended(attempt.pod)
        self._cycle.give_back(attempt)

    def _ended(self, pod: PodInfo) -> None:
        self._binding.discard(pod.uid)
        self._wake()

    def _bound(self, attempt: Attempt) -> None:
        pod, now = attempt.pod, self._clock.now()
        self._reports.bound(pod, attempt.node_name)
        self._observer.attempt("scheduled", profile=attempt.profile, seconds=now - attempt.started)
        self._observer.bound(
            attempts=attempt.queued.attempts,
            sli_seconds=now - attempt.queued.first_seen,
            after_flush=attempt.after_flush,
        )
        log.log(DECISIONS, "Bound pod", extra={"pairs": {"pod": pod.key, "node": attempt.node_name}})
