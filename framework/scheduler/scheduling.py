"""The scheduling cycle: choose a node for one pod, then hold it there.

Synchronous and free of I/O: between its first and last line nothing else in the process changes the cluster's picture.
The scheduler runs it for single pods; the gang cycle uses `place` and `hold` for each member.
"""

from __future__ import annotations

import logging

from ..cache.cache import Cache
from ..contract.cycle_state import CycleState
from ..contract.handle import Clock
from ..contract.observer import Observer
from ..contract.queued_pod import QueuedPod
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from ..runtime.errors import error_in
from ..runtime.profile import Profile
from ..runtime.timing import Timing
from ..runtime.waiting import WaitingPod, WaitingPods
from .attempt import Attempt
from .fit_error import with_post_filter
from .search import Search

log = logging.getLogger(__name__)

ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


class SchedulingCycle:
    """Decides for the pods of one profile."""

    def __init__(self, search: Search, cache: Cache, waiting: WaitingPods, clock: Clock, observer: Observer) -> None:
        self.search = search
        self._cache = cache
        self._waiting = waiting
        self._clock = clock
        self._observer = observer
        self._timing = Timing(observer, clock.now, self._profile.name)

    @property
    def _profile(self) -> Profile:
        return self.search.profile

    def begin(self, queued: QueuedPod, *, sampled: bool) -> Attempt:
        """A fresh attempt for the pod."""
        return Attempt(queued, CycleState(sampled=sampled), self._clock.now())

    def run(self, attempt: Attempt) -> None:
        """Choose a node and hold the pod there; on failure nothing is held and `attempt.status` says why."""
        self.place(attempt, rescue=True)
        if attempt.status is None:
            self.hold(attempt)

    def place(self, attempt: Attempt, *, rescue: bool) -> None:
        """Set `attempt.node_name`, or its status. Without `rescue` PostFilter is left out. Holds nothing."""
        began = self._clock.now()
        try:
            self._place(attempt, rescue=rescue)
        except Exception as error:  # a plugin's bug must not lose the pod
            attempt.fail(Status.failure(error=error))
        self._observer.algorithm_seconds(self._clock.now() - began)

    def hold(self, attempt: Attempt) -> None:
        """Assume, reserve and ask Permit; on failure everything is given back and `attempt.status` says why."""
        try:
            self._hold(attempt)
        except Exception as error:  # a plugin's bug must not lose the pod
            give_back(self._profile, self._cache, self._timing, attempt)
            attempt.fail(Status.failure(error=error))

    def _place(self, attempt: Attempt, *, rescue: bool) -> None:
        found = self.search.find(attempt.state, attempt.pod)
        if found.status is not None:
            if found.diagnosis is not None and found.status.rejected and rescue:
                self._post_filter(attempt, found.diagnosis)
                text = with_post_filter(found.status.message, found.diagnosis.postfilter_message)
                found.status = Status(found.status.code, (text,), found.status.plugin)
            attempt.fail(found.status, found.diagnosis)
            return
        row = self.search.choose(attempt.state, attempt.pod, found)
        if isinstance(row, Status):
            attempt.fail(row)
        else:
            attempt.node_name = self._cache.snapshot.names[row]

    def _hold(self, attempt: Attempt) -> None:
        pod, node_name, state = attempt.pod, attempt.node_name, attempt.state
        self._cache.assume(pod, node_name)
        attempt.assumed = True
        status = self._reserve(state, pod, node_name) or self._permit(state, pod, node_name)
        if status is not None and status.code is not Code.WAIT:
            give_back(self._profile, self._cache, self._timing, attempt)
            attempt.fail_on_node(status)

    def _post_filter(self, attempt: Attempt, diagnosis: Diagnosis) -> None:
        if not self._profile.post_filter:
            attempt.nominated = ""
            return
        since = self._clock.now()
        messages: list[str] = []
        outcome: Status | None = Status.unschedulable()
        for plugin in self._profile.post_filter:
            sampled = self._timing.sample(attempt.state)
            nominated, outcome = plugin.post_filter(attempt.state, attempt.pod, diagnosis)
            self._timing.plugin(plugin.name, "PostFilter", outcome, sampled)
            if nominated is not None:
                attempt.nominated = nominated
            if outcome is None or outcome.code is not Code.UNSCHEDULABLE:
                messages = [outcome.message] if outcome is not None else []
                break
            messages.extend(outcome.reasons)
        diagnosis.postfilter_message = ", ".join(message for message in messages if message)
        self._timing.point("PostFilter", outcome, since)

    def _reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        since = self._clock.now()
        status: Status | None = None
        for plugin in self._profile.reserve:
            sampled = self._timing.sample(state)
            status = plugin.reserve(state, pod, node_name)
            self._timing.plugin(plugin.name, "Reserve", status, sampled)
            if status is not None and status.code is not Code.SUCCESS:
                status = _refusal(status.by(plugin.name), "Reserve")
                break
            status = None
        self._timing.point("Reserve", status, since)
        return status

    def _permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        since = self._clock.now()
        timeouts: dict[str, float] = {}
        status: Status | None = None
        for plugin in self._profile.permit:
            sampled = self._timing.sample(state)
            answer, seconds = plugin.permit(state, pod, node_name)
            self._timing.plugin(plugin.name, "Permit", answer, sampled)
            if answer is None or answer.code is Code.SUCCESS:
                continue
            if answer.code is not Code.WAIT:
                status = _refusal(answer.by(plugin.name), "Permit")
                break
            timeouts[plugin.name] = seconds
        if status is None and timeouts:
            self._waiting.add(WaitingPod(pod, node_name, timeouts, self._clock))
            status = Status.wait(ASKED_TO_WAIT)
        self._timing.point("Permit", status, since)
        return status


def give_back(profile: Profile, cache: Cache, timing: Timing, attempt: Attempt) -> None:
    """Undo what `hold` did: Unreserve in reverse order, then forget the pod. Does nothing for a pod not held.

    A plugin that fails keeps nobody else from giving back.
    """
    if not attempt.assumed:
        return
    attempt.assumed = False
    since = timing.now()
    for plugin in reversed(profile.reserve):
        try:
            plugin.unreserve(attempt.state, attempt.pod, attempt.node_name)
        except Exception:
            log.exception("Unreserve failed", extra={"pairs": {"pod": attempt.pod.key, "plugin": plugin.name}})
    timing.point("Unreserve", None, since)
    if cache.is_assumed(attempt.pod.uid):
        cache.forget(attempt.pod)


def _refusal(status: Status, point: str) -> Status:
    """A plugin's word as it is; an error gets the context that kube-scheduler gives it."""
    if status.rejected:
        return status
    return error_in(f'running {point} plugin "{status.plugin}"', status)
