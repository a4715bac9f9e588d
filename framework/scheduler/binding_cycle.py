"""The binding cycle: carry out an attempt that has a node, without holding up the next decision.

Runs as one task a pod, or one a group. Whatever fails, the pod's place is given back and it returns to the queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..cache.cache import Cache
from ..contract.handle import Clock
from ..contract.observer import Observer
from ..contract.status import Status
from ..queue.scheduling_queue import SchedulingQueue
from .attempt import Attempt
from .failure import FailureHandler
from .reports import DECISIONS, Reports
from .schedule_one import SchedulingCycle

log = logging.getLogger(__name__)


class BindingCycle:
    """Binds pods of all profiles.

    Attributes:
        binding: how many pods are on their way to be bound, past Permit; `wake` is called as it falls.
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
    ) -> None:
        self.binding = 0
        self._cycle = cycle
        self._cache = cache
        self._queue = queue
        self._failures = failures
        self._reports = reports
        self._clock = clock
        self._observer = observer
        self._wake = wake

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
        refused = await attempt.framework.wait_on_permit(attempt.pod) if attempt.waits else None
        if refused is not None:
            attempt.fail_on_node(refused)
        elif (lost := self._cycle.lost_node(attempt)) is not None:
            attempt.fail_on_lost_node(lost)
        if attempt.status is not None:
            self._cycle.give_back(attempt)
        return attempt.status is None

    def withdraw(self, attempts: Sequence[Attempt], because: Attempt) -> None:
        """Give the places of permitted pods back, last first, because a sibling they were placed with lost its own."""
        for attempt in reversed(attempts):
            attempt.fail_with(because)
            self._cycle.give_back(attempt)

    def removed(self, attempt: Attempt) -> None:
        """Give a permitted pod's place back, because the pod is gone."""
        attempt.fail_on_node(Status.unschedulable("removed"))
        self._cycle.give_back(attempt)

    async def bind(self, attempt: Attempt) -> None:
        """PreBind, Bind and PostBind of a permitted pod."""
        pod, state, node_name, framework = attempt.pod, attempt.state, attempt.node_name, attempt.framework
        self._queue.done(pod.uid)
        self.binding += 1
        try:
            status = await framework.run_pre_bind_plugins(state, pod, node_name)
            if status is None:
                status = await framework.run_bind_plugins(state, pod, node_name)
        finally:
            self.binding -= 1
            self._wake()
        if status is not None:
            attempt.fail_to_bind(status)
            self._cycle.give_back(attempt)
            self._failures.released([attempt])
            return
        self._cache.finish_binding(pod)
        self._bound(attempt)
        framework.run_post_bind_plugins(state, pod, node_name)

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
