"""Coscheduling: the extension points, each a few lines on top of `PodGroups`.

The methods that decide (PreEnqueue, PreFilter, PostFilter, `reject_group`) change nothing; the methods that follow
decisions carry out the consequences. PreEnqueue, Reserve, `missing`, `on_pod` and `on_object` are inherited from
`GangPlugin` (`framework/groups/plugin.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from muster.framework.contract import (
    ALLOW,
    LEFT_ALONE,
    QUOTA_EXCEEDED,
    REJECTED_AS_ONE,
    Code,
    CycleState,
    Diagnosis,
    EventRegistration,
    GroupDecision,
    Handle,
    NodeView,
    NoDomain,
    PermitPlugin,
    PodDecision,
    PodInfo,
    PostFilterPlugin,
    PreFilterPlugin,
    QueuedPod,
    QueueSortPlugin,
    Status,
    Topology,
    TotalCapacity,
    Wait,
    with_preemption,
    with_reservation,
)
from muster.framework.groups import GangPlugin, GroupRecord, GroupReporter, group_missing

from . import messages
from .activation import SLACK_SECONDS, GroupActivation
from .api import NAME, POD_GROUPS, PodGroup
from .args import POD_BY_POD, CoschedulingArgs
from .book import PodGroups
from .kind import POD_GROUP_KIND
from .prefilter import GroupPreFilter
from .record import PodGroupReason
from .recording_fields import RECORDED
from .reporting import PodGroupReporter
from .topology import AnnotationError

_DENY = f"{NAME}/deny"
"""PostFilter's note in an attempt's state that the pod's group is denied and releases its nodes, with the message."""

_NEVER = float("-inf")


class Coscheduling(
    QueueSortPlugin[CoschedulingArgs],
    PreFilterPlugin[CoschedulingArgs],
    PostFilterPlugin[CoschedulingArgs],
    PermitPlugin[CoschedulingArgs],
    GangPlugin[CoschedulingArgs],
):
    """Places the pods of a PodGroup together or not at all."""

    name = NAME
    kind = POD_GROUP_KIND
    recorded = RECORDED
    terse = True
    args_model = CoschedulingArgs
    watches = (POD_GROUPS,)

    _groups: PodGroups

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._activation = handle.shared(f"{NAME}.activation", lambda: GroupActivation(self._groups, handle))
        self._pod_by_pod = self._groups.args.placement == POD_BY_POD
        self._pre_filter = GroupPreFilter(self._groups, handle, self._activation, self)

    def _new_book(self) -> PodGroups:
        return PodGroups(self.args, self.handle.clock, self.handle.waiting_pods)

    # The queue.

    def sort_key(self, queued: QueuedPod) -> tuple[Hashable, ...]:
        """Priority, creation, last failure, group, pod. For a pod without a group, creation is its queue entry.

        All members have the highest priority among them, so that nothing comes between members.
        """
        pod, record = queued.info, self._groups.existing_group_of(queued.info)
        if record is None:
            return -queued.priority, queued.timestamp, _NEVER, "", queued.timestamp, pod.key, pod.uid
        created, failed = self._groups.order(record.key)
        return -record.priority, created, failed, record.key, queued.timestamp, pod.key, pod.uid

    def group_of(self, pod: PodInfo) -> str | None:
        """The group with which a waiting pod is tried: its group as long as that lacks its quorum; later members are
        scheduled one by one.

        A group with a topology is returned even then, because its placed members determine the domain of later ones.
        """
        if self._pod_by_pod:
            return None
        record = self._groups.existing_group_of(pod)
        if record is None:
            return None
        return record.key if record.missing > 0 or self.topology(record.key) is not None else None

    def topology(self, group: str) -> Topology | None:
        """The topology that the PodGroup's annotations require; PreFilter rejects members while they are invalid."""
        try:
            return self._groups.record(group).topology()
        except AnnotationError:
            return None

    def preemption_priority(self, group: str, waiting: Sequence[PodInfo]) -> int:
        """The highest priority of all members, including running ones."""
        return self._groups.record(group).priority

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """Whether no member has `preemptionPolicy: Never`."""
        return self._groups.record(group).may_preempt

    def reporter(self) -> GroupReporter:
        """See `PodGroupReporter`."""
        return PodGroupReporter(self._groups, self.handle.clock)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """See `GangPlugin` and `GroupActivation`."""
        return (*super().events_to_register(), *self._activation.registrations())

    # What the informers saw.

    def _retry_group(self, group: str) -> None:
        self._activation.activate(group)

    def _on_member_admitted(self, record: GroupRecord[Any]) -> None:
        self._on_member_added(record.key)

    def _on_member_added(self, group: str) -> None:
        self._activation.member_came(group)

    def _on_member_left(self, group: str, pod: PodInfo) -> None:
        """Retry a member that waits at Permit and has left this group."""
        if self._groups.at_permit.reject_one(group, pod.uid, messages.LEFT):
            self.handle.activate({pod.key: pod})

    def _on_quorum_placed(self, group: str) -> None:
        self._groups.at_permit.allow(group)

    def _on_quorum_lost(self, group: str) -> None:
        """Retry members that have reserved capacity or a nomination, so that they release it."""
        if self.reservation_text(group) is not None or any(self._nominations.of(group)):
            self._activation.activate(group)

    def _decision_inputs(self, group: PodGroup) -> object:
        return super()._decision_inputs(group), group.metadata.annotations

    def _update_book(self, group: str, new: PodGroup | None) -> None:
        """Update the book. Members of a deleted group are rejected at Permit and gated before the queue."""
        known = self._groups.get(group)
        if known is not None and (new is None or known.metadata.uid != new.metadata.uid):
            self._groups.at_permit.reject(group, messages.NOT_FOUND)
        unclaimed = self._groups.min_resources.of(group)
        super()._update_book(group, new)
        if unclaimed is not None:
            self._activation.min_resources_released()
        if new is None:
            self._activate_members(group)

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """See `GroupPreFilter`. PENDING if the group was deleted or held after its members were admitted."""
        group = self._groups.members.named_by(pod)
        if group is None:
            return None
        record = self._groups.record(group)
        if record.group is None:
            return Status.pending(group_missing(group))
        hold = self._groups.holds.text(group)
        if hold is not None:
            return Status.pending(hold)
        finding = self._pre_filter.examine(record, pod)
        state.write(NAME, finding)
        if finding.in_all is not None:
            state.write(TotalCapacity.KEY, finding.in_all)
        if finding.left_alone:
            state.write(LEFT_ALONE, True)
        if finding.status is not None and finding.status.code is not Code.PENDING:
            state.write(REJECTED_AS_ONE, True)
        return finding.status

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """With PodByPod, a member found no node: the group is denied, unless nearly all of its quorum has nodes.

        A member of a group with too few members gives up its nomination, because they may never come.
        """
        record = self._groups.existing_group_of(pod)
        if record is None or not self._pod_by_pod:
            return None, Status.unschedulable()
        if self.name in diagnosis.unschedulable_plugins:
            may_be_tried = self._groups.quorum_state(record.key).may_be_tried
            return None if may_be_tried else "", Status.unschedulable()
        missing = record.missing
        if missing <= 0 or missing * 100 <= record.quorum * self._groups.args.pod_group_reject_percentage:
            return None, Status.unschedulable()
        text = messages.rejected_after_post_filter(record.key, pod)
        state.write(_DENY, text)
        return None, Status.unschedulable(text)

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """The status for all members. Statuses of this plugin's PreFilter are kept."""
        if cause.plugin == self.name:
            if cause.code is not Code.UNSCHEDULABLE:
                return cause
            text = with_reservation(cause.message, self.reservation_text(group))
            return Status(cause.code, (text,), cause.plugin)
        if cause.code is Code.PENDING:
            status = Status.pending(*cause.reasons or (messages.NOT_ENOUGH_WAITING,))
            return status if cause.plugin else status.with_condition_reason(PodGroupReason.WAITING_FOR_PODS.value)
        text = messages.group_unschedulable(group, placed, missing, cause.message, no_domain=no_domain)
        text = with_reservation(text, self.reservation_text(group))
        return Status.unschedulable(text) if cause.rejected else Status.failure(text)

    # Following decisions.

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Acts on PreFilter's finding. With PodByPod, denies the group if PostFilter decided so.

        Then siblings at Permit are rejected too, so that other pods may use the capacity meanwhile.
        """
        super().on_pod_decision(decision)
        record = self._groups.existing_group_of(decision.pod)
        if record is None:
            return
        group = record.key
        record.tried()
        self._pre_filter.follow_up(group, (decision,))
        if decision.status is None:
            self._groups.min_resources.placed(group)
            return
        denied = decision.state.get(_DENY)
        if isinstance(denied, str):
            self._groups.at_permit.reject(group, messages.OPTIMISTIC)
            if not record.bound:
                self._nominations.withdraw_kept(group)
            self._activation.deny_and_retry(group)
            self._groups.announce(group, PodGroupReason.UNSCHEDULABLE, denied)

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Acts on PreFilter's finding, and announces why the group was rejected if PreFilter did not reject it."""
        super().on_group_decision(decision)
        if decision.plugin != self.name:
            return
        group, cause = decision.group, decision.cause
        record = self._groups.record(group)
        record.tried()
        self._pre_filter.follow_up(group, decision.members, decision)
        if decision.status is None:
            self._groups.min_resources.placed(group)
        elif cause is None or cause.plugin == self.name:
            return
        elif cause.code is Code.PENDING and not cause.plugin:
            record.left_out_members = True
            elsewhere = self._groups.left_to_others(group)
            unqueued = sum(1 for _ in record.unplaced_pods()) - elsewhere.total() - decision.placed
            text = messages.too_few_tried(decision.placed, decision.missing, elsewhere, max(0, unqueued))
            self._groups.announce(group, PodGroupReason.WAITING_FOR_PODS, text)
        else:
            if cause.code is Code.PENDING:
                record.left_out_members = True
            elif decision.evictions is None and not cause.condition_reason:
                self._activation.failed(group)
            text = messages.group_failed(group, cause.message)
            if decision.members:
                text = messages.group_unschedulable(
                    group, decision.placed, decision.missing, cause.message, no_domain=decision.no_domain
                )
                text = with_reservation(text, self.reservation_text(group))
            over_quota = cause.condition_reason == QUOTA_EXCEEDED
            reason = PodGroupReason.QUOTA_EXCEEDED if over_quota else PodGroupReason.UNSCHEDULABLE
            self._groups.announce(group, reason, with_preemption(text, decision.post_filter))

    def on_pod_released(self, decision: PodDecision) -> None:
        """Rejects siblings at Permit of a member that released its node. After a timeout, the group is denied.

        If the API refused to bind the member while others were bound, the member is nominated to its node.
        """
        pod, status = decision.pod, decision.status
        group = self._groups.members.named_by(pod)
        if group is None:
            return
        self._groups.min_resources.released(group)
        if self._keep_node_if_binding_failed(decision) and status is not None:
            self._groups.binding_refused(group, pod, status.message)
        waited_until = self._groups.at_permit.end(group, pod.uid)
        timed_out = waited_until is not None and self.handle.clock.now() + SLACK_SECONDS >= waited_until
        if timed_out and group in self._groups:
            if not self._groups.record(group).bound:
                self._nominations.withdraw_kept(group)
            self._activation.deny_and_retry(group)
            self._groups.announce(
                group, PodGroupReason.TIMEOUT, messages.timed_out(group, self._groups.wait_seconds(group))
            )
        if self._groups.at_permit.reject(group, messages.UNRESERVED) and self._pod_by_pod:
            self._activation.failed(group)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        """Allows the member and its siblings at Permit if the quorum has nodes; otherwise lets the member wait.

        With the placement `Transaction`, the whole quorum is reserved before Permit, so no member waits.
        """
        record = self._groups.existing_group_of(pod)
        if record is None:
            return ALLOW
        group = record.key
        if record.missing <= 0:
            # A sibling whose wait timed out in this turn of the loop counts as placed until its task releases its node.
            self._groups.at_permit.discount_rejected(group)
        if record.missing <= 0:
            self._groups.state(group).forget_failures()
            self._groups.at_permit.allow(group)
            return ALLOW
        seconds = self._groups.wait_seconds(group)
        self._groups.at_permit.add(group, pod.uid, self.handle.clock.now() + seconds)
        placed = len(record.placed)
        if placed == 1 and self._pod_by_pod:
            self._activation.first_placed(group)
        return Wait(seconds, (messages.waits_at_permit(placed, record.quorum),))

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Announces that the group is scheduled once its quorum is bound."""
        group = self._groups.bound(pod)
        if group is not None:
            quorum = self._groups.quorum(group)
            self._groups.announce(group, PodGroupReason.SCHEDULED, messages.scheduled(quorum, quorum))
            self.handle.metrics.quorum_bound(self._groups.age(group), members=quorum)
