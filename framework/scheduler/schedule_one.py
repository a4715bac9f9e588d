"""One pod's path, from the queue to its node or back (upstream: schedule_one.go).

    pop ─► scheduling cycle: find nodes ─► score ─► assume ─► reserve ─► permit ─► binding cycle ─► bound
                 │                            │        │          │           (a task of its own)
                 └── PostFilter ◄── no node ──┘        └──────────┴── unreserve, forget ──┐        │
                          └──────────────► failure: back to the queue, reported ◄─────────┴────────┘

`Scheduler` pops a pod and calls `schedule_one`; `schedule_group` takes members of a group through the same steps.
Guarantees:

1. The scheduling cycle does no I/O, and nothing else changes the snapshot while it runs.
2. A pod whose attempt fails has nothing reserved, and is back in the queue unless it was deleted, bound or recreated.
3. The binding cycle never delays the next decision. Before it binds, it checks the node again, because another
   scheduler may have used the capacity meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.plugin import QueuedPod
from ..contract.status import SKIP, Code, Status
from ..model.pod_info import PodInfo
from ..queue.entity import QueuedEntity
from ..runtime.answers import Failed
from ..runtime.attempt_state import AttemptState
from ..runtime.group_calls import GroupCalls
from ..work import checkpoint, commit
from . import decision_log
from .algorithm import Feasible
from .attempt import Attempt
from .consultations import Consultations
from .engine_services import EngineServices
from .extenders import bind_by_extender
from .group_post_filter import GroupPostFilter
from .later_members import LaterMembers, preempting_group
from .preemption_trial import Tried
from .progress import AttemptObserver, PodsBeingBound
from .review import Review
from .set_aside import SetAside

_SAMPLED_SHARE = 0.1
"""The share of attempts in which the time of each plugin is measured."""
MEMBERS_AT_ONCE = 24
"""Members of one group that are bound at a time: fewer than the writes that the API client has in flight, so that a
large group does not delay the Bindings of other pods by its own."""


class PodScheduler:
    """Schedules pods of all profiles, one by one.

    Attributes:
        observer: counts, measures and logs attempts.
        being_bound: pods whose bindings are in flight.
        failures: handles failed attempts.
        scheduling_cycle: decides.
        binding_cycle: binds.
        set_aside: pods whose long work is done before they are decided.
    """

    def __init__(self, services: EngineServices, consultations: Consultations, review: Review) -> None:
        self.observer = observer = AttemptObserver(services.ports)
        self.being_bound = PodsBeingBound(services.ports.wake)
        self.failures = FailureHandler(services, review, observer)
        self.scheduling_cycle = SchedulingCycle(services, self.being_bound, observer)
        self.binding_cycle = BindingCycle(
            services, self.scheduling_cycle, self.failures, self.being_bound, observer=observer
        )
        self.set_aside = SetAside(self.failures.refresh, services.call_watch)
        self._services = services
        self._consultations = consultations
        self._clock = services.ports.measured

    def begin(self, queued: QueuedPod, entity: QueuedEntity) -> Attempt | None:
        """Begin an attempt; None for a pod that needs none, which leaves the queue."""
        pod = queued.info
        if self._skip_pod_schedule(pod):
            return None
        algorithm = self._services.algorithms[pod.pod.spec.scheduler_name]
        state = AttemptState(sampled=self._services.ports.random() < _SAMPLED_SHARE)
        generation = self._services.cache.generation
        began = self._clock.now()
        return Attempt(queued, pod, algorithm.framework, state, began, generation, entity.flushed, entity.group)

    def resume(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """The attempts to continue, with the current pods and cluster; pods that no longer wait are dropped."""
        left = [each for each in attempts if self.failures.refresh(each) and not self._skip_pod_schedule(each.pod)]
        for attempt in left:
            attempt.generation = self._services.cache.generation
        return left

    def _skip_pod_schedule(self, pod: PodInfo) -> bool:
        """Take a pod that is being deleted or is assumed out of the queue; False for any other."""
        if pod.terminating:
            self._services.reports.warn(pod, f"skip schedule deleting pod: {pod.key}")
        elif not self._services.cache.is_assumed(pod.uid):
            return False
        self._services.queue.done(pod.uid)
        return True

    def schedule_one(self, attempt: Attempt) -> None:
        """Find a node for the pod and start its binding, or handle the failure."""
        cycle = self.scheduling_cycle
        cycle.run(attempt)
        # If a Filter left long work, this run ended before any node was chosen. The pod is set aside until the work is
        # done; if it was set aside before, the work is done here, and the second run has all verdicts.
        if self.set_aside.add_if_long(attempt, partial(cycle.finish_long_work, attempt)):
            return
        if cycle.finish_long_work(attempt):
            cycle.run(attempt)
        if attempt.status is not None and self._consultations.reopen_if_needed(attempt):
            return
        # What follows has effects outside the decision. If the lease is lost now, the decision is carried through,
        # because a reserved pod must be either bound or given back.
        commit()
        attempt.notify_followers()
        if attempt.status is not None:
            # Not `handle_release`: what Reserve or Permit gave back was taken only within this decision, so no other
            # pod was rejected for it.
            self.failures.handle_failure([attempt])
            return
        self._services.queue.found_node(attempt.pod.uid)
        self._services.reports.placed(attempt)
        self.binding_cycle.prepare([attempt])
        self._services.ports.spawn(self.binding_cycle.run(attempt))


class SchedulingCycle:
    """Decides: finds a node for a pod and reserves it there. Its errors are statuses of the attempt.

    Attributes:
        later_members: asks PodGroupPostFilter about members beyond the quorum of their group.
    """

    def __init__(self, services: EngineServices, being_bound: PodsBeingBound, observer: AttemptObserver) -> None:
        self.later_members = LaterMembers(services.algorithms, GroupPostFilter(services))
        self._services = services
        self._being_bound = being_bound
        self._observer = observer
        self._clock = services.ports.measured

    def run(self, attempt: Attempt, *, post_filter: bool = True) -> None:
        """Choose a node, reserve it and ask Permit. On failure nothing is reserved and `attempt.status` says why."""
        self._search(attempt, post_filter=post_filter)
        if attempt.status is None and self.assume_and_reserve(attempt):
            self.permit(attempt)

    def schedule_pod(self, attempt: Attempt) -> None:
        """Set `attempt.node_name`, or its status, without PostFilter. Reserves nothing."""
        self._search(attempt, post_filter=False)
        if self.finish_long_work(attempt):
            self._search(attempt, post_filter=False)

    def _search(self, attempt: Attempt, *, post_filter: bool) -> None:
        began = self._clock.now()
        found = self._find_host(attempt)
        if found.status is not None:
            status = self._post_filtered(attempt, found, found.status) if post_filter else found.status
            attempt.fail(status, found.diagnosis)
            if attempt.nominated is None and self._services.nominator.nominated_node(attempt.pod.uid):
                attempt.no_node = False  # equal pods are not nominated to that node, so one is not tried for all
        self._observer.searched(began)

    def _post_filtered(self, attempt: Attempt, found: Feasible, status: Status) -> Status:
        """The status after PostFilter, which may nominate the pod. A later member may preempt as its group."""
        if found.diagnosis is not None and status.rejected:
            try:
                as_group = preempting_group(attempt)
            except Failed as failed:
                return failed.status
            if as_group is not None:
                return self._preempt_as_group(attempt, found, status, as_group)
        algorithm = self._services.algorithms[attempt.profile]
        attempt.nominated, text = algorithm.post_filter(attempt.state, attempt.pod, found)
        return status.with_reasons(text) if status.rejected else status

    def _preempt_as_group(
        self, attempt: Attempt, found: Feasible, status: Status, as_group: tuple[GroupCalls, str]
    ) -> Status:
        """Nominate a later member if evictions help it. Its message does not mention preemption."""
        if not self.later_members.may_be_helped(attempt, found):
            attempt.nominated = ""
            return status
        try:
            self.later_members.preempt(*as_group, [attempt], self._try_copy, reason=status.condition_reason)
        except Failed as failed:
            return failed.status
        return status

    def _try_copy(self, copies: Sequence[Attempt]) -> Tried:
        [copy] = copies
        self.schedule_pod(copy)
        return copy.status or copies

    def _find_host(self, attempt: Attempt) -> Feasible:
        """Choose among the feasible nodes, if there are any."""
        algorithm, state, pod = self._services.algorithms[attempt.profile], attempt.state, attempt.pod
        found = algorithm.find_nodes_that_fit(state, pod)
        algorithm.next_start = found.next_start
        if found.filtered is not None:
            diagnose = partial(algorithm.diagnose, state, pod, found.pre_filtered, found.filtered)
            decision_log.rejections(pod, diagnose)
        if found.status is None:
            row = algorithm.select_host(state, pod, found, self._services.ports.choose)
            if isinstance(row, Status):
                attempt.fail(row)
            else:
                attempt.node_name = algorithm.snapshot.names[row]
        return found

    def finish_long_work(self, attempt: Attempt) -> bool:
        """Do the long work of a Filter plugin; False if there is none, True if the pod has to be tried again."""
        if attempt.state.long_work.left is None:
            return False
        attempt.framework.filtering.finish_long_work(attempt.state, attempt.pod)
        attempt.reset()
        return True

    def assume_and_reserve(self, attempt: Attempt) -> bool:
        """Assume the pod on its node and run Reserve; whether that succeeded. On failure everything is released."""
        pod, nominator = attempt.pod, self._services.nominator
        # The pod is assumed before its nomination ends, so its capacity is counted at every moment.
        self._services.cache.assume(pod, attempt.node_name)
        attempt.leaves_nomination = nominator.nominated_node(pod.uid) not in ("", attempt.node_name)
        nominator.clear(pod.uid)
        attempt.assumed = True
        status = attempt.framework.reserving.reserve(attempt.state, pod, attempt.node_name)
        if status is not None:
            attempt.fail_on_node(status)
            self.unreserve_and_forget(attempt)
        return status is None

    def permit(self, attempt: Attempt) -> bool:
        """Run Permit, at which the pod may have to wait; False if it rejects the pod, and everything is released."""
        status = attempt.framework.permitting.run(attempt.state, attempt.pod, attempt.node_name)
        if status is None or status.code is Code.WAIT:
            attempt.waits_at_permit = status is not None
            return True
        attempt.fail_on_node(status)
        self.unreserve_and_forget(attempt)
        return False

    def unreserve_and_forget(self, attempt: Attempt) -> None:
        """Undo `assume_and_reserve` of a failed attempt: Unreserve in reverse order, then forget the pod."""
        self._being_bound.end(attempt.pod.uid)
        if attempt.assumed:
            attempt.assumed = False
            # The reverse order of assume and Reserve: plugins give up their part while the pod is still counted on the
            # node.
            attempt.framework.reserving.unreserve(attempt.state, attempt.pod, attempt.node_name)
            # The watch may have confirmed a Binding whose answer was lost: such a pod is bound and stays counted.
            if self._services.cache.is_assumed(attempt.pod.uid):
                self._services.cache.forget(attempt.pod)
            attempt.framework.followers.notify_pod_released(attempt.decision())
            # Assuming the pod ended its nomination, so a nomination that exists now was made by a plugin that followed
            # the release.
            attempt.nominated = self._services.nominator.nominated_node(attempt.pod.uid)


class BindingCycle:
    """Binds pods that have a node: each in a task of its own, members of a group in one task together."""

    def __init__(
        self,
        services: EngineServices,
        scheduling_cycle: SchedulingCycle,
        failures: FailureHandler,
        being_bound: PodsBeingBound,
        *,
        observer: AttemptObserver,
    ) -> None:
        self._services = services
        self._scheduling_cycle = scheduling_cycle
        self._failures = failures
        self._being_bound = being_bound
        self._observer = observer
        self._binders = [extender for extender in services.ports.extenders if extender.is_binder]

    def prepare(self, attempts: Sequence[Attempt]) -> None:
        """Count pods that are bound together, before their task takes its first step: as many as are bound at a time.

        If a pod leaves its nomination for another node, the pods that wait for the nominated node are retried.
        """
        for attempt in attempts:
            if attempt.leaves_nomination:
                self._services.queue.move_all(ASSIGNED_POD_DELETE, attempt.pod, None, except_uid=attempt.pod.uid)
        if not any([attempt.waits_at_permit for attempt in attempts]):
            self._being_bound.begin([attempt.pod.uid for attempt in attempts[:MEMBERS_AT_ONCE]])

    async def run(self, attempt: Attempt) -> None:
        """Bind a pod that has a node, once Permit lets it, or handle that it cannot be bound."""
        with self._observer.binding():
            if await self.await_clearance(attempt):
                await self.bind(attempt)
            else:
                self._failures.handle_release([attempt])

    async def await_clearance(self, attempt: Attempt) -> bool:
        """Whether the pod may be bound: run PreBindPreFlight, wait for Permit, and check the node again.

        On failure everything is released.
        """
        error = self._pre_flight(attempt)
        rejection: Status | None = None
        if attempt.waits_at_permit and error is None:
            with self._services.reports.permit.reporting(attempt):
                rejection = await attempt.framework.permitting.wait_on_permit(attempt.pod)
        if error is not None:
            attempt.fail_to_bind(error)
        elif rejection is not None:
            attempt.fail_on_node(rejection)
        # Checked after the wait for Permit, during which another scheduler may have bound pods to the node.
        elif (lost := self._lost_node(attempt)) is not None:
            attempt.fail_on_lost_node(lost)
        if attempt.status is not None:
            self._scheduling_cycle.unreserve_and_forget(attempt)
        return attempt.status is None

    def _pre_flight(self, attempt: Attempt) -> Status | None:
        """Ask whether PreBind has work to do; an ERROR if that fails.

        If binding will take time, the expected node is reported to the API, so that autoscalers and other clients know
        it (upstream: NominatedNodeNameForExpectation).
        """
        framework, pod = attempt.framework, attempt.pod
        status = framework.binding.pre_flight(attempt.state, pod, attempt.node_name)
        if status is not None and status.code is not Code.SKIP:
            framework.permitting.stop_waiting(pod)
            return status
        if status is None or attempt.waits_at_permit:
            self._services.reports.expected(pod, attempt.node_name)
        return None

    def _lost_node(self, attempt: Attempt) -> Status | None:
        """The reason why the pod no longer fits on its node, after changes by other clients; None if it fits."""
        cache, pod = self._services.cache, attempt.pod
        if not cache.changed_since(attempt.node_name, attempt.generation) or not cache.is_assumed(pod.uid):
            return None
        algorithm = self._services.algorithms[attempt.profile]
        with algorithm.snapshot.trial():
            algorithm.snapshot.remove_pod(pod, attempt.node_name)
            return algorithm.recheck(AttemptState(), pod, attempt.node_name)

    async def bind(self, attempt: Attempt) -> None:
        """PreBind, Bind and PostBind of a permitted pod."""
        pod, state, node_name, framework = attempt.pod, attempt.state, attempt.node_name, attempt.framework
        # The pod has its node, so no event can help it any more, and the queue need not record events for it while
        # requests are in flight (upstream: Done before PreBind).
        self._services.queue.done(pod.uid)
        self._being_bound.begin((pod.uid,))
        try:
            status = await framework.binding.pre_bind(state, pod, node_name)
            if status is None:
                status = await bind_by_extender(self._binders, pod, node_name) if self._binders else SKIP
                if status is not None and status.code is Code.SKIP:
                    status = await framework.binding.bind(state, pod, node_name)
        finally:
            # Also when the task is cancelled: a pod that stayed counted would take a place in the loop's limit of
            # bindings forever.
            self._being_bound.end(pod.uid)
        if status is not None:
            attempt.fail_to_bind(status)
            self._scheduling_cycle.unreserve_and_forget(attempt)
            self._failures.handle_release([attempt])
            return
        # The watch may have reported the Binding, or the pod's deletion, before this answer; the cache ignores it then.
        self._services.cache.finish_binding(pod)
        self._services.reports.bound(pod, node_name)
        self._observer.bound(attempt)
        framework.binding.post_bind(state, pod, node_name)


class FailureHandler:
    """Returns pods whose attempts failed to the queue, and reports why (upstream: handleSchedulingFailure)."""

    def __init__(self, services: EngineServices, review: Review, observer: AttemptObserver) -> None:
        self._services = services
        self._review = review
        self._observer = observer

    def handle_failure(self, attempts: Sequence[Attempt]) -> None:
        """Return pods that failed for one reason to the queue, and report why they wait."""
        back: list[Attempt] = []
        for attempt in attempts:
            if self.refresh(attempt):
                back.append(attempt)
            checkpoint()
        if back:
            self._services.queue.requeue([attempt.queued for attempt in back], back[0].rejection())
            self._services.queue.activate(attempt.pod for attempt in back if attempt.displaced)
            self._review.begin()
        self._observer.failed(attempts)
        # Only now, although the pods may be ready already: no decision begins before this call ends (`Standstill`), so
        # none sees the pods without their nominations.
        for attempt in back:
            self._nominate(attempt)
            status = attempt.status or Status.failure()
            self._services.reports.failed(attempt.queued.info, status, attempt.nominated, attempt.group)
            checkpoint()

    def handle_release(self, attempts: Sequence[Attempt]) -> None:
        """Handle the failure of pods that had a node reserved: its capacity may help other pods."""
        self.handle_failure(attempts)
        for attempt in attempts:
            self._services.queue.move_all(ASSIGNED_POD_DELETE, attempt.pod, None, except_uid=attempt.pod.uid)
            checkpoint()

    def refresh(self, attempt: Attempt) -> bool:
        """Update the attempt's pod; False, and out of the queue, if it was deleted, bound or recreated meanwhile."""
        current = self._services.known.get(attempt.pod.key)
        if current is None or current.node_name or current.uid != attempt.pod.uid:
            self._services.queue.done(attempt.pod.uid)
            self._services.nominator.clear(attempt.pod.uid)  # a follower may have nominated it to the node that it lost
            return False
        attempt.pod = attempt.queued.info = current
        return True

    def _nominate(self, attempt: Attempt) -> None:
        nominator, pod = self._services.nominator, attempt.pod
        if attempt.nominated:
            nominator.nominate(attempt.queued.info, attempt.nominated)
        elif attempt.nominated == "" and nominator.clear(pod.uid):
            self._services.queue.move_all(ASSIGNED_POD_DELETE, pod, None, except_uid=pod.uid)
