"""Activation: when a rejected group is retried. One object serves the groups of all profiles.

The plugin itself sees changes of the group's members and of its PodGroup, and activates the one group that is
concerned; asking every group about every pod would cost more than scheduling them. Hints report capacity on nodes: this
plugin's for minResources, and those of the plugins that found no node for the members. A waiting group has no capacity,
so activating it never takes capacity that is reserved for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from muster.framework.contract import Action, ClusterEvent, EventRegistration, EventResource, Handle, Hint, Timer
from muster.framework.groups import GATHERING_SECONDS
from muster.framework.model.pod_info import PodInfo

from .args import POD_BY_POD
from .book import PodGroups
from .record import PodGroupRecord

SLACK_SECONDS = 0.01
"""Timers of event loops may fire a millisecond early; this delay makes sure that the period is over."""

_MEMBERS_PER_RETRY_DELAY = 100
"""The number of members beyond which a group is retried less often, in proportion to its size, because an attempt costs
as much as the group has members. The member that completes the quorum activates the group at once in any case."""

_RELABELLED = ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_LABEL)
_CAPACITY_EVENTS = (
    ClusterEvent(
        EventResource.NODE,
        Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
    ),
    ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
)


class GroupActivation:
    """Activates groups. `handle` may be the handle of any profile: what is used of it is the same in all."""

    def __init__(self, groups: PodGroups, handle: Handle) -> None:
        self._groups = groups
        self._handle = handle
        self._freed_at: tuple[float, Timer] | None = None

    def registrations(self) -> Sequence[EventRegistration]:
        """The events that may help members, each with its hint."""
        return EventRegistration(_RELABELLED), *(
            EventRegistration(event, self._capacity_hint, by_group=True, of_gated=False) for event in _CAPACITY_EVENTS
        )

    def activate(self, group: str) -> None:
        """Retry the members without a node; if the group is denied, once more when the denial is over."""
        record = self._groups.record(group)
        if record.state is not None:
            record.state.may_fit_now = True
        self._handle.activate({pod.key: pod for pod in record.unplaced_pods()})

    def member_came(self, group: str) -> None:
        """A member arrived; the quorum may still be incomplete. Retry the group soon unless it is tried before."""
        record = self._groups.record(group)
        if record.state is not None:
            record.state.has_newcomer = True
        if not record.is_gathering:
            record.is_gathering = True
            times = max(1.0, len(record.pods) / _MEMBERS_PER_RETRY_DELAY)
            self._handle.clock.call_later(GATHERING_SECONDS * times, partial(self._gathered, record))

    def first_placed(self, group: str) -> None:
        """With PodByPod, the first member has a node: retry its siblings, unless they failed together recently."""
        if not self._groups.state(group).backs_off_siblings(self._handle.clock.now()):
            self.activate(group)

    def failed(self, group: str) -> None:
        """The group was not placed: retry it when its backoff is over.

        With PodByPod, members do not fail together. They are retried together, later the more often they failed.
        """
        self._groups.failed(group)
        args = self._groups.args
        backoff = self._groups.state(group).sibling_backoff_seconds if args.placement == POD_BY_POD else 0.0
        self._retry_in(group, max(backoff, float(args.pod_group_backoff_seconds)))

    def deny(self, group: str) -> None:
        """Deny the group for a while, and retry it afterwards if an event may have helped it by then."""
        self._groups.deny(group)
        self._retry_in(group, float(self._groups.args.denied_pg_expiration_time_seconds))

    def deny_and_retry(self, group: str) -> None:
        """The group was not placed: deny it, so that other pods may use the capacity meanwhile."""
        self.failed(group)
        self.deny(group)

    def min_resources_missing(self, group: str, *, kept_until: float | None) -> None:
        """Less than minResources is free: deny the group, and retry it when capacity has become free after the denial.

        Capacity that is kept for other groups becomes free at `kept_until`, seconds on the engine's clock.
        """
        state = self._groups.state(group)
        state.lacks_min_resources, state.may_fit_now = True, False
        self.deny(group)
        if kept_until is not None:
            self._await_freed_min_resources(kept_until)

    def min_resources_released(self) -> None:
        """Capacity kept for a group has become free: retry groups for whose minResources too little was free."""
        records = self._groups.members.records()
        for record in [each for each in records if each.state is not None and each.state.lacks_min_resources]:
            self._groups.state(record.key).may_fit_now = True
            if not self._groups.is_denied(record.key):
                self.activate(record.key)

    def _retry_in(self, group: str, seconds: float) -> None:
        """Retry the group after `seconds` if an event may have helped it by then. The latest time counts."""
        if not seconds:
            return
        record, clock = self._groups.record(group), self._handle.clock
        due = clock.now() + seconds
        if record.retry is not None:
            pending, timer = record.retry
            if pending >= due:
                return
            timer.cancel()
        record.retry = due, clock.call_later(seconds + SLACK_SECONDS, partial(self._retry, record))

    def _retry(self, record: PodGroupRecord) -> None:
        record.retry = None
        if record.state is not None and record.state.may_fit_now:
            self.activate(record.key)

    def _await_freed_min_resources(self, moment: float) -> None:
        if self._freed_at is not None:
            pending, timer = self._freed_at
            if pending <= moment:
                return
            timer.cancel()
        clock = self._handle.clock
        self._freed_at = moment, clock.call_later(moment - clock.now() + SLACK_SECONDS, self._min_resources_freed)

    def _min_resources_freed(self) -> None:
        self._freed_at = None
        self.min_resources_released()

    def _gathered(self, record: PodGroupRecord) -> None:
        record.is_gathering = False
        if record.state is not None and record.state.has_newcomer and self._groups.missing(record.key) > 0:
            self.activate(record.key)

    def _capacity_hint(self, pod: PodInfo, old: object, new: object) -> Hint:
        """QUEUE if the group lacked minResources at the last attempt; a denied group waits until its denial ends."""
        group = self._groups.members.named_by(pod)
        if group is None or not self._groups.state(group).lacks_min_resources:
            return Hint.SKIP
        if self._groups.is_denied(group):
            self._groups.state(group).may_fit_now = True
            return Hint.SKIP
        return Hint.QUEUE
