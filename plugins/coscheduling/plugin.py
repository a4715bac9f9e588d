"""Coscheduling: the extension points, each a few lines on top of `PodGroups`.

The methods that decide (PreEnqueue, PreFilter, PostFilter, `reject_group`) change nothing; the methods that follow
decisions carry out the consequences.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from muster.framework.contract import (
    ALLOW,
    LEFT_ALONE,
    REFUSED_AS_ONE,
    Code,
    CycleState,
    DecisionFollower,
    Diagnosis,
    EnqueueExtensions,
    EventRegistration,
    GroupDecision,
    Handle,
    NodeView,
    NoDomain,
    ObjectFollower,
    PermitPlugin,
    PodDecision,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueuedPod,
    QueueSortPlugin,
    Status,
    Topology,
    TotalCapacity,
    Wait,
    with_preemption,
)
from muster.framework.groups import GroupBookPlugin, GroupReporter, MemberNominations, MissingGroups

from . import messages
from .activation import SLACK_SECONDS, GroupActivation
from .api import NAME, POD_GROUPS, PodGroup, PodGroupSpec, group_key
from .args import POD_BY_POD, CoschedulingArgs
from .groups import PodGroups
from .kind import POD_GROUP_KIND
from .prefilter import Finding, GroupPreFilter
from .record import PodGroupReason
from .recorded import RECORDED
from .reporting import PodGroupReporter
from .topology import AnnotationError

SHARED = NAME
"""The key under which the plugins of all profiles, whose arguments are the same, share one `PodGroups`."""

_GIVEN_UP = f"{NAME}/given-up"
"""Where PostFilter notes, in an attempt's state, that the pod's group is to be given up."""

_NEVER = float("-inf")


class Coscheduling(
    QueueSortPlugin[CoschedulingArgs],
    PreEnqueuePlugin[CoschedulingArgs],
    PreFilterPlugin[CoschedulingArgs],
    PostFilterPlugin[CoschedulingArgs],
    PermitPlugin[CoschedulingArgs],
    PostBindPlugin[CoschedulingArgs],
    EnqueueExtensions[CoschedulingArgs],
    GroupBookPlugin[CoschedulingArgs],
    ObjectFollower[CoschedulingArgs],
    DecisionFollower[CoschedulingArgs],
):
    """Places the pods of a PodGroup together or not at all."""

    name = NAME
    kind = POD_GROUP_KIND
    recorded = RECORDED
    terse = True
    args_model = CoschedulingArgs
    watches = (POD_GROUPS,)

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups: PodGroups = handle.shared(SHARED, lambda: PodGroups(args, handle.clock, handle.waiting_pods))
        self._groups.profiles.add(handle.profile_name)
        self._activation = handle.shared(f"{SHARED}.activation", lambda: GroupActivation(self._groups, handle))
        self._pod_by_pod = self._groups.args.placement == POD_BY_POD
        self._pre_filter = GroupPreFilter(self._groups, handle)
        self._missing = MissingGroups(self._groups, messages.group_missing, handle)
        self._nominations = MemberNominations(self._groups.members, handle)

    # The queue.

    def sort_key(self, queued: QueuedPod) -> tuple[Hashable, ...]:
        """Priority, creation, last failure, group, pod. A pod by itself was created when it came to the queue.

        A group has one priority, the highest of its members', so that they are never parted.
        """
        pod, group = queued.info, self._group(queued.info)
        if group is None:
            return -queued.priority, queued.timestamp, _NEVER, "", queued.timestamp, pod.key, pod.uid
        created, failed = self._groups.order(group)
        return -self._groups.record(group).priority, created, failed, group, queued.timestamp, pod.key, pod.uid

    def group_of(self, pod: PodInfo) -> str | None:
        """The group, as long as it lacks its quorum; later members are scheduled one by one.

        A group that has to be together in a topology domain is named also then: its place says where they may go.
        """
        if self._pod_by_pod:
            return None
        group = self._group(pod)
        if group is None:
            return None
        return group if self._groups.missing(group) > 0 or self.topology(group) is not None else None

    def topology(self, group: str) -> Topology | None:
        """As the annotations of the PodGroup say; PreFilter turns members away while they cannot be read."""
        try:
            return self._groups.topology(group)
        except AnnotationError:
            return None

    def preemption_priority(self, group: str, waiting: Sequence[PodInfo]) -> int:
        """The highest of all its members', those that run included."""
        return self._groups.record(group).priority

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """Whether no member has `preemptionPolicy: Never`."""
        return self._groups.record(group).may_preempt

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keeps a pod out whose label names no PodGroup."""
        group = group_key(pod)
        if group is not None and group not in self._groups:
            return Status.unresolvable(messages.group_missing(group))
        return None

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Tells a pod that it waits for its group. One that is let in may complete its group."""
        group = group_key(pod)
        if group is not None and group not in self._groups:
            self._missing.waits_for(pod, group)
            return
        self._missing.waits_no_more(pod.uid)
        if status is None and group is not None and self._groups.state(group).was_incomplete:
            self._activation.member_came(group)

    def reporter(self) -> GroupReporter:
        """See `PodGroupReporter`."""
        return PodGroupReporter(self._groups, self.handle.clock)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """See `GroupActivation`."""
        return self._activation.registrations()

    # What the informers saw.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Keeps the members. One that changes its group while Permit makes it wait is tried again as what it is now."""
        pod = new or old
        if pod is None:
            return
        counted_in = self._groups.members.group_of(pod)
        wanted = group_key(pod)
        if old is None and counted_in is None and wanted is None:
            return  # as most of the pods that are listed when a scheduler starts
        concerned = {group for group in (counted_in, wanted) if group is not None}
        before = {group: self._standing(group) for group in concerned}
        self._groups.follow_pod(old, new)
        left = counted_in if new is not None and counted_in != group_key(new) else None
        if left is not None and self._groups.waiting.reject_one(left, pod.uid, messages.LEFT):
            self.handle.activate({pod.key: pod})
        for group, standing in before.items():
            self._standing_changed(group, standing)
        if new is None:
            self._missing.waits_no_more(pod.uid)
        elif old is None and not new.node_name and (joined := self._group(new)) is not None:
            self._activation.member_came(joined)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Keeps the groups. Whoever waits for one is tried when it comes or changes, and is kept out when it goes."""
        group = new if isinstance(new, PodGroup) else old
        if not isinstance(group, PodGroup):
            return
        key = group.key
        known = self._groups.get(key)
        if new is not None and known is not None and _essence(known) == _essence(group):
            self._groups.refresh(group)
            return
        if known is not None and (new is None or known.metadata.uid != group.metadata.uid):
            self._groups.waiting.reject(key, messages.NOT_FOUND)
        reserved = self._groups.reservations.of(key)
        self._groups.follow_group(key, group if new is not None else None)
        if reserved is not None:
            self._activation.room_made()
        if new is None:
            self._nominations.take_back(key)
            self.handle.activate({pod.key: pod for pod in self._groups.record(key).unplaced_pods()})
            return
        if self._groups.missing(key) <= 0:
            self._groups.waiting.allow(key)
        self._activation.activate(key)

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """See `GroupPreFilter`. A group that went while its members were about to be tried is waited for."""
        group = group_key(pod)
        if group is None:
            return None
        if group not in self._groups:
            return Status.pending(messages.group_missing(group))
        finding = self._pre_filter.examine(group, pod)
        state.write(NAME, finding)
        if finding.in_all is not None:
            state.write(TotalCapacity.KEY, finding.in_all)
        if finding.left_alone:
            state.write(LEFT_ALONE, True)
        if finding.status is not None and finding.status.code is not Code.PENDING:
            state.write(REFUSED_AS_ONE, True)
        return finding.status

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """PodByPod only: a member found no node. The group is to be given up, unless it is nearly there."""
        group = self._group(pod)
        turned_away_here = self.name in diagnosis.unschedulable_plugins
        if group is None or turned_away_here or not self._pod_by_pod:
            return None, Status.unschedulable()
        min_member, missing = self._groups.quorum(group), self._groups.missing(group)
        if missing <= 0 or missing * 100 <= min_member * self._groups.args.pod_group_reject_percentage:
            return None, Status.unschedulable()
        text = messages.rejected_after_post_filter(group, pod)
        state.write(_GIVEN_UP, text)
        return None, Status.unschedulable(text)

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """One reason for all members. PreFilter's own reasons stand as they are."""
        if cause.plugin == self.name:
            if cause.code is not Code.UNSCHEDULABLE:
                return cause
            text = messages.with_promise(cause.message, self._pre_filter.promise(group))
            return Status(cause.code, (text,), cause.plugin)
        if cause.code is Code.PENDING:
            return Status.pending(*cause.reasons or (messages.NOT_ENOUGH_WAITING,))
        text = self._unschedulable(group, placed, missing, cause, no_domain=no_domain)
        return Status.unschedulable(text) if cause.rejected else Status.failure(text)

    # What follows from decisions.

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Acts on PreFilter's finding, and PodByPod gives the group up as PostFilter said.

        Waiting siblings are rejected then and the others denied, so that others may use the room in the meantime.
        """
        group = self._group(decision.pod)
        if group is None:
            return
        self._groups.state(group).tried()
        self._act_on_findings(group, (decision,))
        if decision.status is None:
            self._groups.reservations.placed(group)
            return
        given_up = decision.state.get(_GIVEN_UP)
        if isinstance(given_up, str):
            self._groups.waiting.reject(group, messages.OPTIMISTIC)
            self._give_up(group)
            self._groups.announce(group, PodGroupReason.UNSCHEDULABLE, given_up)

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Acts on what PreFilter found out, and says why the group was refused if that was not by PreFilter."""
        if decision.plugin != self.name:
            return
        group, cause = decision.group, decision.cause
        state = self._groups.state(group)
        state.tried()
        self._act_on_findings(group, decision.members, decision)
        if decision.status is None:
            self._groups.reservations.placed(group)
        elif cause is None or cause.plugin == self.name:
            return
        elif cause.code is Code.PENDING and not cause.plugin:
            state.was_incomplete = True
            text = self._too_few_tried(group, decision.placed, decision.missing)
            self._groups.announce(group, PodGroupReason.WAITING_FOR_PODS, text)
        else:
            if cause.code is Code.PENDING:
                state.was_incomplete = True
            elif decision.evictions is None:
                self._activation.failed(group)
            text = messages.group_failed(group, cause.message)
            if decision.members:
                text = self._unschedulable(
                    group, decision.placed, decision.missing, cause, no_domain=decision.no_domain
                )
            self._groups.announce(group, PodGroupReason.UNSCHEDULABLE, with_preemption(text, decision.post_filter))

    def on_pod_released(self, decision: PodDecision) -> None:
        """Turns away the siblings that waited for the member. After a timeout the group is denied.

        When the API refused to bind it while others were bound, its node stays promised to it.
        """
        pod, status = decision.pod, decision.status
        group = group_key(pod)
        if group is None:
            return
        self._groups.reservations.given_up(group)
        if status is not None and status.code is Code.ERROR and self._groups.missing(group) > 0:
            self._nominations.keep(pod, decision.node_name)
            self._groups.binding_refused(group, pod, status.message)
        waited_until = self._groups.waiting.end(group, pod.uid)
        timed_out = waited_until is not None and self.handle.clock.now() + SLACK_SECONDS >= waited_until
        if timed_out and group in self._groups:
            self._give_up(group)
            self._groups.announce(
                group, PodGroupReason.TIMEOUT, messages.timed_out(group, self._groups.wait_seconds(group))
            )
        if self._groups.waiting.reject(group, messages.UNRESERVED) and self._pod_by_pod:
            self._activation.failed(group)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        """Lets the member and all that wait go when the quorum holds nodes, else makes it wait."""
        group = self._group(pod)
        if group is None:
            return ALLOW
        if self._groups.missing(group) <= 0:
            self._groups.waiting.discount_rejected(group)
        if self._groups.missing(group) <= 0:
            self._groups.state(group).settle()
            self._groups.waiting.allow(group)
            return ALLOW
        seconds = self._groups.wait_seconds(group)
        self._groups.waiting.add(group, pod.uid, self.handle.clock.now() + seconds)
        placed, min_member = len(self._groups.record(group).placed), self._groups.quorum(group)
        if placed == 1 and self._pod_by_pod:
            self._activation.first_placed(group)
        return Wait(seconds, (messages.waits_at_permit(placed, min_member),))

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Says that the group is scheduled once its quorum is bound."""
        group = self._groups.bound(pod)
        if group is not None:
            quorum = self._groups.quorum(group)
            self._groups.announce(group, PodGroupReason.SCHEDULED, messages.scheduled(quorum, quorum))
            self.handle.metrics.quorum_bound(self._groups.age(group), members=self._groups.quorum(group))

    def _act_on_findings(
        self, group: str, decisions: Iterable[PodDecision], of_group: GroupDecision | None = None
    ) -> None:
        found = [note for decision in decisions if isinstance(note := decision.state.get(NAME), Finding)]
        if any(finding.denied for finding in found):
            self.handle.metrics.podgroups_denied.add(())
            self._groups.state(group).is_promising = True
        helped = of_group.post_filter if of_group is not None else ""
        promise = self._pre_filter.promise(group)
        for finding in found:
            looked = finding.has_resources is not None
            if finding.reason is not None:
                text = with_preemption(finding.message, helped)
                self._groups.announce(group, finding.reason, messages.with_promise(text, promise) if looked else text)
            if not looked:
                continue
            if finding.has_resources:
                self._groups.permit(group)
            elif of_group is not None and of_group.evictions is not None:
                self._groups.state(group).is_short = True
            elif promise is not None:
                self._groups.let_in(group)
            else:
                self._activation.short_of_resources(group, reserved_until=finding.reserved_until)

    def _standing(self, group: str) -> tuple[bool, int]:
        """Whether enough members are ready to be tried, and how many lack a node."""
        enough = self._groups.record(group).ready >= self._groups.quorum(group)
        return enough, max(0, self._groups.missing(group))

    def _standing_changed(self, group: str, before: tuple[bool, int]) -> None:
        """Members came or went, or others placed them. See whether that helps those that wait."""
        if group not in self._groups:
            return
        (enough, missing), (was_enough, was_missing) = self._standing(group), before
        if missing == 0:
            self._groups.waiting.allow(group)
        lost = was_enough and not enough
        if (enough and not was_enough) or missing < was_missing or (lost and self._keeps_room(group)):
            self._activation.activate(group)

    def _keeps_room(self, group: str) -> bool:
        return self._pre_filter.promise(group) is not None or any(self._nominations.of(group))

    def _unschedulable(
        self, group: str, placed: int, missing: int, cause: Status, *, no_domain: NoDomain | None
    ) -> str:
        text = messages.group_unschedulable(group, placed, missing, cause.message, no_domain=no_domain)
        return messages.with_promise(text, self._pre_filter.promise(group))

    def _too_few_tried(self, group: str, tried: int, missing: int) -> str:
        elsewhere = self._groups.left_to_others(group)
        here = sum(1 for _ in self._groups.record(group).unplaced_pods()) - elsewhere.total()
        return messages.too_few_tried(tried, missing, elsewhere, max(0, here - tried))

    def _group(self, pod: PodInfo) -> str | None:
        """The pod's group, if it exists."""
        group = group_key(pod)
        return group if group in self._groups else None

    def _give_up(self, group: str) -> None:
        self._activation.failed(group)
        self._activation.denied(group)


def _essence(group: PodGroup) -> tuple[str, PodGroupSpec, Mapping[str, str]]:
    """What of a PodGroup decides; its status is written all the time."""
    return group.metadata.uid, group.spec, group.metadata.annotations
