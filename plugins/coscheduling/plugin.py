"""Coscheduling: the extension points, each a few lines over what `Gangs` knows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pydantic import BaseModel

from muster.framework.contract import (
    Code,
    CycleState,
    Diagnosis,
    EnqueueExtensions,
    EventRegistration,
    GroupPlugin,
    Handle,
    NodeView,
    ObjectFollower,
    PermitPlugin,
    PodFollower,
    PostBindPlugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueueSortPlugin,
    ReservePlugin,
    Status,
)
from muster.framework.contract.queued_pod import QueuedPod
from muster.framework.model.pod_info import PodInfo

from . import messages
from .api import NAME, POD_GROUPS, PodGroup, PodGroupSpec, group_key
from .args import POD_BY_POD, CoschedulingArgs
from .board import Reason
from .gangs import Gangs
from .screening import Screening
from .unseen import Unseen
from .waking import SLACK_SECONDS, Waking

SHARED = NAME
"""The key under which the plugins of all profiles, whose arguments are the same, share one `Gangs`."""


class Coscheduling(
    QueueSortPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PostFilterPlugin,
    ReservePlugin,
    PermitPlugin,
    PostBindPlugin,
    EnqueueExtensions,
    GroupPlugin,
    PodFollower,
    ObjectFollower,
):
    """Places the pods of a PodGroup together or not at all."""

    name = NAME
    args_model = CoschedulingArgs
    watches = (POD_GROUPS,)

    def __init__(self, args: BaseModel | None, handle: Handle) -> None:
        super().__init__(args, handle)
        own = args if isinstance(args, CoschedulingArgs) else CoschedulingArgs()
        self._gangs = handle.shared(SHARED, lambda: Gangs(own, handle.clock, handle.waiting_pods))
        self._gangs.profiles.add(handle.profile_name)
        self._waking = handle.shared(f"{SHARED}.waking", lambda: Waking(self._gangs, handle))
        self._pod_by_pod = self._gangs.args.placement == POD_BY_POD
        self._screening = Screening(self._gangs, handle, self._waking)
        self._unseen = Unseen(self._gangs, handle)

    # The queue.

    def sort_key(self, queued: QueuedPod) -> tuple[Hashable, ...]:
        """Priority, then the PodGroup's age, then the time it last failed: members of a group are never parted.

        A pod of no group is as old as its entry into the queue.
        """
        pod = queued.info
        group = self._group(pod)
        if group is None:
            return -pod.priority, queued.timestamp, float("-inf"), "", queued.timestamp, pod.key, pod.uid
        return -pod.priority, *self._gangs.place_in_queue(group), group, queued.timestamp, pod.key, pod.uid

    def group_of(self, pod: PodInfo) -> str | None:
        """The group, as long as it lacks its quorum; later members are scheduled one by one."""
        if self._pod_by_pod:
            return None
        group = self._group(pod)
        return group if group is not None and self._gangs.missing(group) > 0 else None

    def missing(self, group: str) -> int:
        """How many members must get a node at once."""
        return self._gangs.missing(group)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Holds a pod back whose label names no PodGroup. One that is let in may complete its group."""
        group = group_key(pod)
        if group is not None and group not in self._gangs.groups:
            self._unseen.held_back(pod, group)
            return Status.unresolvable(messages.group_unseen(group))
        self._unseen.let_in(pod.uid)
        if group is not None and self._gangs.life(group).incomplete:
            self._waking.member_came(group)
        return None

    def events_to_register(self) -> Sequence[EventRegistration]:
        """See `Waking`."""
        return self._waking.registrations()

    # What the informers saw.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Keeps the members. One that changes its group while Permit holds it is tried again as what it is now."""
        pod = new or old
        if pod is None:
            return
        counted_in = self._gangs.members.group_of(pod)
        groups = {group for group in (counted_in, group_key(pod)) if group is not None}
        before = {group: self._standing(group) for group in groups}
        self._gangs.follow_pod(old, new)
        left = counted_in if new is not None and counted_in != group_key(new) else None
        if left is not None and self._gangs.holds.reject_one(left, pod.uid, messages.LEFT):
            self.handle.activate({pod.key: pod})
        for group, standing in before.items():
            self._standing_changed(group, standing)
        if new is None:
            self._unseen.let_in(pod.uid)
        elif old is None and not new.node_name and (joined := self._group(new)) is not None:
            self._waking.member_came(joined)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Keeps the groups. Whoever waits for a group is tried when it comes or asks for something else."""
        group = new if isinstance(new, PodGroup) else old
        if not isinstance(group, PodGroup):
            return
        key = f"{group.metadata.namespace}/{group.metadata.name}"
        known = self._gangs.groups.get(key)
        if known is not None and new is not None and _essence(known) == _essence(group):
            return
        if known is not None and (new is None or known.metadata.uid != group.metadata.uid):
            self._gangs.holds.reject(key, messages.NOT_FOUND)
        kept = self._gangs.reservations.of(key)
        self._gangs.follow_group(key, group if new is not None else None)
        if kept is not None:
            self._waking.room_made()
        if new is None:
            return
        if self._gangs.missing(key) <= 0:
            self._gangs.holds.allow(key)
        self._waking.activate(key)

    # The scheduling cycle.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """See `Screening`. A group that went while its members were about to be tried is waited for."""
        group = group_key(pod)
        if group is None:
            return None
        if group not in self._gangs.groups:
            return Status.pending(messages.group_unseen(group))
        return self._screening.check(group, pod)

    def reject_group(self, group: str, cause: Status, *, placed: int, missing: int) -> Status:
        """One reason for all members. PreFilter's own reasons stand as they are.

        A PENDING cause that names no plugin is that too few members are there to be tried.
        """
        if cause.plugin == self.name:
            return cause
        life, text = self._gangs.life(group), messages.group_unschedulable(group, placed, missing, cause.message)
        if cause.code is Code.PENDING:
            life.incomplete = True
            if cause.plugin:
                self._gangs.post(group, Reason.UNSCHEDULABLE, text)
            else:
                self._gangs.post(group, Reason.WAITING_FOR_PODS, self._too_few_tried(group, placed, missing))
            return Status.pending(*cause.reasons or (messages.NOT_ENOUGH_WAITING,))
        self._waking.failed(group)
        self._gangs.post(group, Reason.UNSCHEDULABLE, text)
        return Status.unschedulable(text) if cause.rejected else Status.failure(text)

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """PodByPod only: a member found no node. The group is given up, unless it is nearly there.

        Its waiting siblings are rejected and the others denied, so that others may use the room in the meantime.
        """
        group = self._group(pod)
        turned_away_here = self.name in diagnosis.unschedulable_plugins
        if group is None or turned_away_here or not self._pod_by_pod:
            return None, Status.unschedulable()
        min_member, missing = self._gangs.min_member(group), self._gangs.missing(group)
        if missing <= 0 or missing * 100 <= min_member * self._gangs.args.pod_group_reject_percentage:
            return None, Status.unschedulable()
        self._gangs.holds.reject(group, messages.OPTIMISTIC)
        self._give_up(group)
        text = messages.rejected_after_post_filter(group, pod)
        self._gangs.post(group, Reason.UNSCHEDULABLE, text)
        return None, Status.unschedulable(text)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Counts the member in."""
        self._gangs.place(pod)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Counts the member out and turns away the siblings that waited for it. After a timeout the group is denied."""
        group = group_key(pod)
        if group is None:
            return
        self._gangs.displace(pod)
        waited_until = self._gangs.holds.end(group, pod.uid)
        timed_out = waited_until is not None and self.handle.clock.now() + SLACK_SECONDS >= waited_until
        if timed_out and group in self._gangs.groups:
            self._give_up(group)
            self._gangs.post(group, Reason.TIMEOUT, messages.timed_out(group, self._gangs.wait_seconds(group)))
        if self._gangs.holds.reject(group, messages.UNRESERVED) and self._pod_by_pod:
            self._waking.failed(group)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        """Lets the member and all that wait go when the quorum holds nodes, else holds it."""
        group = self._group(pod)
        if group is None:
            return None, 0.0
        if self._gangs.missing(group) <= 0:
            self._gangs.holds.discount_rejected(group)
        if self._gangs.missing(group) <= 0:
            self._gangs.life(group).settle()
            self._gangs.holds.allow(group)
            return None, 0.0
        seconds = self._gangs.wait_seconds(group)
        self._gangs.holds.add(group, pod.uid, self.handle.clock.now() + seconds)
        placed, min_member = self._gangs.members.placed(group), self._gangs.min_member(group)
        if placed == 1 and self._pod_by_pod:
            self._waking.first_placed(group)
        return Status.wait(messages.waits_at_permit(placed, min_member)), seconds

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Says that the group is scheduled once its quorum is bound."""
        group = self._gangs.bound(pod)
        if group is not None:
            quorum = self._gangs.min_member(group)
            self._gangs.post(group, Reason.SCHEDULED, messages.scheduled(quorum, quorum))
            self.handle.observer.group_bound(self._gangs.age(group))

    def _standing(self, group: str) -> tuple[bool, int]:
        """Whether enough members are ready to be tried, and how many lack a node."""
        enough = self._gangs.members.ready(group) >= self._gangs.min_member(group)
        return enough, max(0, self._gangs.missing(group))

    def _standing_changed(self, group: str, before: tuple[bool, int]) -> None:
        """Members came or went, or others placed them. See whether that helps those that wait."""
        if group not in self._gangs.groups:
            return
        (enough, missing), (was_enough, was_missing) = self._standing(group), before
        if missing == 0:
            self._gangs.holds.allow(group)
        if (enough and not was_enough) or missing < was_missing:
            self._waking.activate(group)

    def _too_few_tried(self, group: str, tried: int, missing: int) -> str:
        elsewhere = self._gangs.left_to_others(group)
        here = sum(1 for _ in self._gangs.members.unplaced_pods(group)) - elsewhere.total()
        return messages.too_few_tried(tried, missing, elsewhere, max(0, here - tried))

    def _group(self, pod: PodInfo) -> str | None:
        """The pod's group, if it exists."""
        group = group_key(pod)
        return group if group in self._gangs.groups else None

    def _give_up(self, group: str) -> None:
        self._waking.failed(group)
        self._waking.denied(group)


def _essence(group: PodGroup) -> tuple[str, PodGroupSpec]:
    """What of a PodGroup decides; its status is written all the time."""
    return group.metadata.uid, group.spec
