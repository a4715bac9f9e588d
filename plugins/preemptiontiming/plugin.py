"""PreemptionTiming: a delay before a pod or group may evict others, and a time for which victims run undisturbed.

Off until a profile enables it. It limits the evictions of the profile's preemptors, whichever plugin evicts and by
whichever rule: preemption by priority, and reclaim of borrowed quota. Both times come from annotations of the group,
else of the PriorityClass, else from the arguments; both are counted from timestamps of objects (see `moments`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from muster.framework.contract import (
    HIGHEST_USER_PRIORITY,
    CycleState,
    DecisionFollower,
    EvictionLimit,
    EvictionLimitPlugin,
    EvictionWait,
    GroupDecision,
    Handle,
    ObjectFollower,
    PodDecision,
    PodFollower,
    PodInfo,
    PostBindPlugin,
    Status,
    checkpoint,
)
from muster.framework.groups import MIN_RUN, PREEMPTION_DELAY, seconds_in

from .args import PreemptionTimingArgs
from .classes import PRIORITY_CLASSES, PriorityClass, PriorityClasses
from .groups import GroupTimes
from .moments import running_since, waiting_since
from .retries import TimedRetries


class PreemptionTiming(
    PostBindPlugin[PreemptionTimingArgs],
    EvictionLimitPlugin[PreemptionTimingArgs],
    ObjectFollower[PreemptionTimingArgs],
    PodFollower[PreemptionTimingArgs],
    DecisionFollower[PreemptionTimingArgs],
):
    """Limits when the preemptors of its profile may evict pods, and which pods."""

    name = "PreemptionTiming"
    args_model = PreemptionTimingArgs
    watches = (PRIORITY_CLASSES,)

    def __init__(self, args: PreemptionTimingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._classes = handle.shared(self.name, lambda: PriorityClasses(handle))
        self._retries = TimedRetries(handle)
        self._groups = GroupTimes(handle, self._retries.retry_all)

    # Deciding.

    def eviction_limit(
        self, members: Sequence[PodInfo], missing: int, priority: int, reason: str
    ) -> EvictionLimit | None:
        """The preemptor's delay, unless it has passed, and the protection of pods that have not run long enough.

        A group's delay has passed once those of as many members as it lacks have. A system-critical preemptor has no
        limit.
        """
        if priority > HIGHEST_USER_PRIORITY:
            return None
        now = self.handle.clock.wall()
        ends = sorted(self._delays(members, reason, now))
        not_before, seconds = ends[min(max(missing, 1), len(ends)) - 1]
        if not_before > now:
            reason = f"a preemption delay of {seconds}s"
            return EvictionLimit(not_before, reason, partial(self._protected_until, now))
        return EvictionLimit(protected_until=partial(self._protected_until, now)) if self._protects_any() else None

    def _delays(self, members: Sequence[PodInfo], reason: str, now: float) -> Iterator[tuple[float, int]]:
        """The end of each member's delay, and its length."""
        for pod in members:
            seconds = self._seconds(PREEMPTION_DELAY, pod, self.args.delay_seconds)
            yield (waiting_since(pod.pod, reason, now) + seconds, seconds) if seconds else (0.0, 0)
            checkpoint()

    def _protects_any(self) -> bool:
        """Whether any pod may be protected, as far as arguments and PriorityClasses tell; any group may set it."""
        return self.args.min_run_seconds > 0 or self._classes.any_has(MIN_RUN) or bool(self._groups)

    def _protected_until(self, now: float, pod: PodInfo) -> float:
        seconds = self._seconds(MIN_RUN, pod, self.args.min_run_seconds)
        until = running_since(pod.pod, now) + seconds if seconds else 0.0
        return until if until > now else 0.0

    def _seconds(self, key: str, pod: PodInfo, default: int) -> int:
        found = seconds_in(key, (*self._groups.of(pod), self._classes.of(pod)))
        return default if found is None else found

    # Following.

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Ends the wait of a pod that is bound."""
        self._retries.pod_left(pod.uid)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Follows PriorityClasses, and retries preemptors that wait when one of them says something else."""
        before, after = (each if isinstance(each, PriorityClass) else None for each in (old, new))
        self._classes.follow(before, after)
        if before is None or after is None or before.metadata.annotations != after.metadata.annotations:
            self._retries.retry_all()

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Ends the wait of a pod that has a node or is gone, and reports faults of its PriorityClass."""
        pod = new or old
        if pod is None:
            return
        self._classes.follow_pod(pod, gone=new is None)
        if old is not None and (new is None or new.uid != old.uid):
            self._retries.pod_left(old.uid)
        elif new is not None and (new.node_name or new.terminating):
            self._retries.pod_left(new.uid)

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Ends the wait of a pod that is kept out of the queue: it is decided again when it enters."""
        if status is not None:
            self._retries.pod_left(pod.uid)

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Sets the time of the next attempt of a pod that waits only for it."""
        self._retries.pod_decided(decision.pod, self._wait(decision.state))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Sets the time of the next attempt of a group that waits only for it."""
        wait = self._wait(decision.state)
        self._retries.group_decided(f"{decision.plugin}/{decision.group}", decision.waiting, wait)

    def _wait(self, state: CycleState) -> EvictionWait | None:
        """The wait that the plugin that preempts has noted."""
        found = state.get(EvictionWait.KEY)
        if not isinstance(found, EvictionWait):
            return None
        self._groups.follow()
        return found
