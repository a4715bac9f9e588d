"""How a decision about one pod is acted on: assume the pod on its node, reserve what it needs, ask Permit.

`Algorithm` decides. From the choice of a node until Permit has answered all is synchronous and free of I/O, so nothing
else in the process changes the cluster's picture meanwhile. Groups go the same way, see `schedule_group`.
"""

from __future__ import annotations

from functools import partial

from ..cache.cache import Cache
from ..contract.cycle_state import CycleState
from ..contract.handle import Clock
from ..contract.observer import Observer
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis
from ..runtime.nominator import PodNominator
from . import decision_log
from .algorithm import Algorithm, Feasible
from .attempt import Attempt
from .node_choice import Choose


class SchedulingCycle:
    """Acts on decisions about pods of all profiles. `algorithms` gives each profile's, by schedulerName."""

    def __init__(
        self,
        algorithms: dict[str, Algorithm],
        cache: Cache,
        nominator: PodNominator,
        clock: Clock,
        observer: Observer,
        choose: Choose,
    ) -> None:
        self._algorithms = algorithms
        self._cache = cache
        self._nominator = nominator
        self._clock = clock
        self._observer = observer
        self._choose = choose

    def algorithm(self, profile: str) -> Algorithm:
        """That of a profile, by its schedulerName."""
        return self._algorithms[profile]

    def run(self, attempt: Attempt) -> None:
        """Choose a node, reserve it and ask Permit. On failure nothing is reserved and `attempt.status` says why."""
        began = self._clock.now()
        found = self._find(attempt)
        if found.status is not None:
            algorithm = self._algorithms[attempt.profile]
            attempt.nominated, text = algorithm.post_filter(attempt.state, attempt.pod, found)
            if found.status.rejected:
                found.status = Status(found.status.code, (text,), found.status.plugin)
            self._fail(attempt, found.status, found.diagnosis)
        self._observer.algorithm_seconds(self._clock.now() - began)
        if attempt.status is None and self.reserve(attempt):
            self.permit(attempt)

    def schedule_pod(self, attempt: Attempt) -> None:
        """Set `attempt.node_name`, or its status; PostFilter is not asked. Reserves nothing."""
        self._schedule_pod(attempt)
        if self.works_out(attempt):
            self._schedule_pod(attempt)

    def _schedule_pod(self, attempt: Attempt) -> None:
        began = self._clock.now()
        found = self._find(attempt)
        if found.status is not None:
            self._fail(attempt, found.status, found.diagnosis)
        self._observer.algorithm_seconds(self._clock.now() - began)

    def _find(self, attempt: Attempt) -> Feasible:
        """Choose among the nodes that fit, if there are any."""
        algorithm, state, pod = self._algorithms[attempt.profile], attempt.state, attempt.pod
        found = algorithm.find_nodes_that_fit(state, pod)
        algorithm.next_start = found.next_start
        if found.filtered is not None:
            diagnose = partial(algorithm.diagnose, state, pod, found.pre_filtered, found.filtered)
            decision_log.rejections(pod, diagnose)
        if found.status is None:
            row = algorithm.select_host(state, pod, found, self._choose)
            if isinstance(row, Status):
                attempt.fail(row)
            else:
                attempt.node_name = algorithm.snapshot.names[row]
        return found

    def _fail(self, attempt: Attempt, status: Status, diagnosis: Diagnosis | None) -> None:
        attempt.fail(status, diagnosis)
        if attempt.nominated is None and self._nominator.nominated_node(attempt.pod.uid):
            attempt.no_node = False  # others like it are not promised that node

    def works_out(self, attempt: Attempt) -> bool:
        """Whether a Filter plugin had long work left, which is done now, so that the pod is to be tried once more."""
        if attempt.state.long_work.left is None:
            return False
        attempt.framework.work_out(attempt.state, attempt.pod)
        attempt.begin_anew()
        return True

    def reserve(self, attempt: Attempt) -> bool:
        """Assume the pod on its node and reserve what it needs there; if that fails, all is given back."""
        self._cache.assume(attempt.pod, attempt.node_name)
        attempt.leaves_room = self._nominator.nominated_node(attempt.pod.uid) not in ("", attempt.node_name)
        self._nominator.clear(attempt.pod.uid)
        attempt.assumed = True
        status = attempt.framework.run_reserve_plugins_reserve(attempt.state, attempt.pod, attempt.node_name)
        if status is not None:
            attempt.fail_on_node(status)
            self.give_back(attempt)
        return status is None

    def permit(self, attempt: Attempt) -> bool:
        """Ask Permit, which may hold the pod; if it turns the pod away, all is given back."""
        status = attempt.framework.run_permit_plugins(attempt.state, attempt.pod, attempt.node_name)
        if status is None:
            return True
        if status.code is Code.WAIT:
            attempt.waits = True
            return True
        attempt.fail_on_node(status)
        self.give_back(attempt)
        return False

    def give_back(self, attempt: Attempt) -> None:
        """Undo `reserve` of an attempt that has failed: Unreserve in reverse order, then forget the pod."""
        if attempt.assumed:
            attempt.assumed = False
            attempt.framework.run_reserve_plugins_unreserve(attempt.state, attempt.pod, attempt.node_name)
            if self._cache.is_assumed(attempt.pod.uid):
                self._cache.forget(attempt.pod)
            attempt.framework.tell_pod_released(attempt.decision())
            # Assuming ended the pod's nomination, so one that is there now was made by a plugin that heard of the loss.
            attempt.nominated = self._nominator.nominated_node(attempt.pod.uid)

    def lost_node(self, attempt: Attempt) -> Status | None:
        """Whether others changed the node since it was chosen so that the pod does not fit any more; the reason."""
        if not self._cache.changed_since(attempt.node_name, attempt.generation):
            return None
        if not self._cache.is_assumed(attempt.pod.uid):
            return None
        algorithm = self._algorithms[attempt.profile]
        with algorithm.snapshot.trial():
            algorithm.snapshot.remove_pod(attempt.pod, attempt.node_name)
            return algorithm.recheck(CycleState(), attempt.pod, attempt.node_name)
