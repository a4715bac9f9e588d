"""The scheduler: takes entities off the queue and has their pods scheduled, one by one or as a group.

The operator's loop calls `step` as long as it returns True and lets other work in between. Binding runs in tasks of its
own, so a decision never waits for the API.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..cache.cache import Cache
from ..contract.cycle_state import CycleState
from ..contract.plugin import QueuedPod
from ..queue.entity import QueuedEntity
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.framework import Framework
from .attempt import Attempt
from .binding_cycle import BindingCycle
from .failure import FailureHandler
from .profile_handle import Ports
from .reports import Reports
from .schedule_group import GroupCycle
from .schedule_one import SchedulingCycle

log = logging.getLogger(__name__)

_SAMPLED_SHARE = 0.1


class Scheduler:
    """Runs the cycles of all profiles. `frameworks` are those of the profiles, by schedulerName.

    Attributes:
        placed: how many pods were given a node so far.
        reports: what people are told.
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
        reports: Reports,
        ports: Ports,
    ) -> None:
        self.placed = 0
        self.reports = reports
        self._frameworks = frameworks
        self._cache = cache
        self._queue = queue
        self._cycle = cycle
        self._groups = groups
        self._bindings = bindings
        self._failures = failures
        self._ports = ports

    @property
    def binding(self) -> int:
        """How many pods are on their way to be bound, past Permit; the ports' `wake` is called as it falls."""
        return self._bindings.binding

    def step(self) -> bool:
        """Take the next entity and decide for its pods. False when nothing is ready."""
        entity = self._queue.pop()
        if entity is None:
            return False
        attempts = [self._begin(queued, entity) for queued in entity.pods.values() if self._eligible(queued)]
        plugin = self._frameworks[entity.profile].plugins.group
        if attempts and entity.group is not None and plugin is not None:
            self.placed += self._groups.run(plugin, entity.group, attempts)
        else:
            for attempt in attempts:
                self._schedule_one(attempt)
        return True

    def _schedule_one(self, attempt: Attempt) -> None:
        self._cycle.run(attempt)
        attempt.tell_followers()
        if attempt.status is not None:
            self._failures.failed([attempt])
            return
        self.placed += 1
        self._queue.found_node(attempt.pod.uid)
        self.reports.placed(attempt)
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
        began, generation = self._ports.clock.now(), self._cache.generation
        return Attempt(queued, framework, state, began, generation, entity.flushed, entity.group)
