"""The binding cycle: carry out an attempt that has a node, without holding up the next decision.

Runs as one task a pod. Whatever fails, the pod's place is given back and the status tells the scheduler why.
"""

from __future__ import annotations

import logging

from ..cache.cache import Cache
from ..contract.cycle_state import CycleState
from ..contract.handle import Clock
from ..contract.observer import Observer
from ..contract.plugin import PreBindPlugin
from ..contract.status import Code, Status
from ..runtime.errors import error_in
from ..runtime.profile import Profile
from ..runtime.timing import Timing
from ..runtime.waiting import WaitingPods
from .attempt import Attempt
from .foreign import ForeignChanges
from .scheduling import give_back
from .search import Search

log = logging.getLogger(__name__)


class BindingCycle:
    """Binds the pods of one profile."""

    def __init__(
        self,
        search: Search,
        cache: Cache,
        waiting: WaitingPods,
        foreign: ForeignChanges,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self._search = search
        self._cache = cache
        self._waiting = waiting
        self._foreign = foreign
        self._clock = clock
        self._observer = observer
        self._timing = Timing(observer, clock.now, search.profile.name)

    @property
    def _profile(self) -> Profile:
        return self._search.profile

    async def permitted(self, attempt: Attempt) -> Attempt:
        """Wait for Permit, then look at the node again. On failure the place is given back."""
        try:
            refused = await self._wait_on_permit(attempt)
            lost = self._recheck(attempt) if refused is None else None
        except Exception as error:  # a plugin's bug must not lose the pod
            refused, lost = Status.failure(error=error), None
        if refused is not None:
            self._give_back(attempt)
            attempt.fail_on_node(refused)
        elif lost is not None:
            self._give_back(attempt)
            attempt.lose_node(lost)
        return attempt

    def withdraw(self, attempt: Attempt, because: Attempt) -> None:
        """Give a permitted pod's place back, because a sibling it was placed with lost its own."""
        self._give_back(attempt)
        attempt.follow(because)

    def removed(self, attempt: Attempt) -> None:
        """Give a permitted pod's place back, because the pod is gone."""
        self._give_back(attempt)
        attempt.fail_on_node(Status.unschedulable("removed"))

    async def bind(self, attempt: Attempt) -> Attempt:
        """PreBind and Bind. On failure the place is given back."""
        try:
            status = await self._pre_bind(attempt) or await self._bind(attempt)
        except Exception as error:  # a plugin's bug must not lose the pod
            status = Status.failure(error=error)
        if status is not None:
            self._give_back(attempt)
            return attempt.fail_to_bind(status)
        self._cache.finish_binding(attempt.pod)
        return attempt

    def follow_up(self, attempt: Attempt) -> None:
        """PostBind of a pod that was bound: nothing that goes wrong here changes that."""
        since = self._clock.now()
        for plugin in self._profile.post_bind:
            try:
                plugin.post_bind(attempt.state, attempt.pod, attempt.node_name)
            except Exception:
                log.exception("PostBind failed", extra={"pairs": {"pod": attempt.pod.key, "plugin": plugin.name}})
        self._timing.point("PostBind", None, since)

    def _give_back(self, attempt: Attempt) -> None:
        give_back(self._profile, self._cache, self._timing, attempt)

    async def _wait_on_permit(self, attempt: Attempt) -> Status | None:
        waiting = self._waiting.get(attempt.pod.uid)
        if waiting is None:
            return None
        since = self._clock.now()
        try:
            status = await waiting.wait()
        finally:
            self._waiting.discard(attempt.pod.uid)
        self._observer.permit_wait(Code.SUCCESS if status is None else status.code, seconds=self._clock.now() - since)
        return status if status is None or status.rejected else error_in("waiting on permit for pod", status)

    def _recheck(self, attempt: Attempt) -> Status | None:
        """Other schedulers may have used the node since: filter it once more, but only when something did change."""
        pod, node_name = attempt.pod, attempt.node_name
        if not self._foreign.since(node_name, attempt.sequence):
            return None
        if not self._cache.is_assumed(pod.uid):
            return None
        snapshot = self._cache.snapshot
        with snapshot.trial():
            snapshot.remove_pod(pod, node_name)
            return self._search.recheck(CycleState(), pod, node_name)

    async def _pre_bind(self, attempt: Attempt) -> Status | None:
        since = self._clock.now()
        status: Status | None = None
        for plugin in self._profile.pre_bind:
            status = await self._pre_bind_one(plugin, attempt)
            if status is not None:
                break
        self._timing.point("PreBind", status, since)
        return status

    async def _pre_bind_one(self, plugin: PreBindPlugin, attempt: Attempt) -> Status | None:
        ahead = plugin.pre_bind_pre_flight(attempt.state, attempt.pod, attempt.node_name)
        if ahead is not None and ahead.code is Code.SKIP:
            return None
        if ahead is not None and ahead.code is not Code.SUCCESS:
            return _not_cleared(ahead.by(plugin.name))
        sampled = self._timing.sample(attempt.state)
        status = await plugin.pre_bind(attempt.state, attempt.pod, attempt.node_name)
        self._timing.plugin(plugin.name, "PreBind", status, sampled)
        if status is None or status.code is Code.SUCCESS:
            return None
        if status.rejected:
            return status.by(plugin.name)
        return error_in(f'running PreBind plugin "{plugin.name}"', status.by(plugin.name))

    async def _bind(self, attempt: Attempt) -> Status | None:
        since = self._clock.now()
        status: Status | None = Status.failure("no Bind plugin took the pod")
        for plugin in self._profile.bind:
            sampled = self._timing.sample(attempt.state)
            answer = await plugin.bind(attempt.state, attempt.pod, attempt.node_name)
            self._timing.plugin(plugin.name, "Bind", answer, sampled)
            if answer is not None and answer.code is Code.SKIP:
                continue
            if answer is None or answer.code is Code.SUCCESS:
                status = None
            elif answer.rejected:
                status = answer.by(plugin.name)
            else:
                status = error_in(f'running Bind plugin "{plugin.name}"', answer.by(plugin.name))
            break
        self._timing.point("Bind", status, since)
        return status


def _not_cleared(status: Status) -> Status:
    """What becomes of a pre-flight answer that is neither success nor SKIP."""
    if status.code is Code.ERROR:
        return error_in(f'running PreBindPreFlight "{status.plugin}"', status)
    wrong = f'PreBindPreFlight {status.plugin} returned "{status.code.wire_name}", which is unsupported'
    return Status.failure(f"{wrong}. It is supposed to return Success, Skip, or Error status").by(status.plugin)
