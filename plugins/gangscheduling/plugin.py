"""GangScheduling: the extension points, each a few lines on top of `NativePodGroups`.

The methods that decide (PreEnqueue, PreFilter, `reject_group`) change nothing; the methods that follow decisions carry
out the consequences. PreEnqueue, Reserve and `on_pod` are inherited from `GangPlugin` (`framework/groups/plugin.py`),
`reject_group` from `NativeGangPlugin` (`base`). kube-scheduler's plugin also lets pods wait at Permit until their group
has its quorum: here `GroupScheduler` places all of them in one decision, and binds none if the quorum is lost before
binding.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.contract import (
    COMPOSITE_PREFIX,
    Code,
    CycleState,
    GroupDecision,
    Handle,
    NodeView,
    Part,
    PodDecision,
    PodInfo,
    PreFilterPlugin,
    Status,
    Topology,
)
from muster.framework.groups import GroupReporter, group_missing

from . import messages
from .api import NAME, NEVER, POD_GROUPS, NativePodGroup
from .base import NativeGangPlugin
from .book import NativePodGroups
from .composite_api import COMPOSITE_POD_GROUPS, CompositePodGroup
from .kind import NATIVE_POD_GROUP_KIND
from .record import NativePodGroupReason, reason_of
from .recording_fields import RECORDED
from .reporting import NativePodGroupReporter
from .trees import is_composite
from .validation import fault


class GangScheduling(
    PreFilterPlugin,
    NativeGangPlugin,
):
    """Places the pods of a PodGroup of scheduling.k8s.io as its policy says. Its base extends `GangPlugin`."""

    name = NAME
    kind = NATIVE_POD_GROUP_KIND
    recorded = RECORDED
    watches = (POD_GROUPS, COMPOSITE_POD_GROUPS)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._trees = self._groups.trees

    def _new_book(self) -> NativePodGroups:
        return NativePodGroups(self.handle.clock, self)

    # The queue.

    def _why_not_ready(self, group: str) -> str | None:
        """The reason why the group, or its tree, is not ready."""
        return self._groups.why_not_ready(group)

    def group_of(self, pod: PodInfo) -> str | None:
        """The group with which a waiting pod is tried: its group as long as that lacks its quorum; later members are
        scheduled one by one.

        For a part of a tree, always the root. A group with a topology is returned even after its quorum has nodes,
        because its placed members determine the domain of later ones. So is a group whose validation fails for this
        pod, so that the error is reported.
        """
        group = self._groups.members.named_by(pod)
        if group is None:
            return None
        record = self._groups.record(group)
        if record.group is None:
            return None
        if self._trees.is_part(group):
            return self._trees.root_of(group)
        together = record.missing > 0 or record.topology is not None
        return group if together or fault(record.group.spec, [pod], ()) is not None else None

    def fault(self, group: str) -> str | None:
        """The problem that `validation` finds with the group."""
        return self._groups.faults.of(group)

    def topology(self, group: str) -> Topology | None:
        """The domain that `spec.schedulingConstraints` asks for."""
        return self._groups.record(group).topology

    def priority(self, group: str) -> int | None:
        """The priority in the group's spec."""
        return None if self._groups.object_of(group) is None else self._groups.priority(group)

    def missing(self, group: str) -> int:
        """The number of members that must get a node at once; for a tree, the least number."""
        trees = self._trees
        return super().missing(group) if trees.get(group) is None else trees.least(group)

    def uid(self, group: str) -> str:
        """The UID of the group's object."""
        found = self._trees.get(group)
        return super().uid(group) if found is None else found.metadata.uid

    def tree(self, group: str) -> Part | None:
        """The tree of a CompositePodGroup."""
        return self._trees.tree_of(group)

    def part_of(self, pod: PodInfo) -> str:
        """The pod's PodGroup."""
        return self._groups.members.named_by(pod) or ""

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """Whether the group may evict pods: its own policy decides, or else the policy that all its pods share."""
        found = self._groups.object_of(group)
        policy = None if found is None else found.spec.preemption_policy
        return super().may_preempt(group, waiting) if policy is None else policy != NEVER

    def reporter(self) -> GroupReporter:
        """See `NativePodGroupReporter`."""
        return NativePodGroupReporter(self._groups, self.handle.clock)

    # Reports of the informers.

    def _on_member_added(self, group: str) -> None:
        tree = self._trees.tree_key(group)
        record = self._groups.record_of(tree)
        if record.was_unfit:
            record.was_unfit = False
            self._retry_soon(tree)

    def _on_quorum_lost(self, group: str) -> None:
        """Wake waiting members, so that they report what their group lacks, and withdraw nominations."""
        self._activate_members(*self._trees.leaves(self._trees.tree_key(group)))
        self._nominations.withdraw(group)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Follows PodGroups, see `GangPlugin`, and CompositePodGroups, whose minimum may change from 1.38 on."""
        composite = new or old
        if not isinstance(composite, CompositePodGroup):
            super().on_object(resource, old, new)
            return
        name = f"{COMPOSITE_PREFIX}{composite.key}"
        tree, known = self._trees.tree_key(name), self._trees.get(name)
        hold = self._groups.holds.own(name)
        self._groups.follow_composite(composite.key, composite if new is not None else None)
        if self._groups.holds.own(name) != hold:
            for leaf in self._trees.leaves(name):
                self._held.begin(leaf)
            self._activate_members(*self._trees.leaves(tree), *self._trees.leaves(name))
        if known is None:
            self._retry_group(name)
        elif known.spec != composite.spec:
            self._activate_members(*self._trees.leaves(tree))
        if new is None:
            self._activate_members(*self._trees.leaves(name), *self._trees.leaves(tree))

    def _update_book(self, group: str, new: NativePodGroup | None) -> None:
        tree = self._trees.tree_key(group)
        before = self._groups.quorum_state(group)
        super()._update_book(group, new)
        if before.may_be_tried and not self._groups.quorum_state(group).may_be_tried:
            self._activate_members(group, *self._trees.leaves(tree))

    def _on_group_changed(self, group: str) -> None:
        super()._on_group_changed(group)
        self._announce_too_few(group)

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Rejects members of held groups and of gangs with too few of them, and pods that may not form one group."""
        group = self._groups.members.named_by(pod)
        if group is None:
            return None
        record = self._groups.record(group)
        if record.group is None:
            return Status.pending(group_missing(group))
        hold = self._groups.holds.text(group)
        if hold is not None:
            return Status.pending(hold)
        fault = self.fault(self._trees.tree_key(group))
        if fault is not None:
            return Status.failure(fault)
        if self._trees.is_part(group):
            reason = self._groups.why_not_ready(group)
            return None if reason is None else Status.pending(reason)
        remaining = self._groups.remaining_count(group)
        if record.missing > remaining:
            return Status.pending(messages.too_few(record.quorum, record.placed_or_succeeded, remaining))
        return None

    # What follows from decisions.

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Announces why the group was rejected."""
        super().on_group_decision(decision)
        if decision.plugin != self.name:
            return
        if is_composite(decision.group):
            self._on_tree_decision(decision)
            return
        if decision.status is None or self._groups.holds.text(decision.group) is not None:
            return
        status = decision.status
        record = self._groups.record(decision.group)
        if record.group is not None:
            record.left_out_members |= status.code is Code.PENDING
            record.was_unfit |= status.code is not Code.PENDING
        reason = reason_of(status)
        note = "" if decision.no_domain is None else messages.closest(decision.no_domain)
        self._groups.announce_until_scheduled(decision.group, reason, status.message, note)

    def _on_tree_decision(self, decision: GroupDecision) -> None:
        """Announce why each part was rejected. Members that the others leave behind are retried soon."""
        note = "" if decision.no_domain is None else messages.closest(decision.no_domain)
        parts = decision.parts or dict.fromkeys(self._trees.leaves(decision.group), decision.status)
        for part, status in parts.items():
            if status is not None and self._groups.holds.text(part) is None:
                self._groups.announce_until_scheduled(part, reason_of(status), status.message, note)
        if decision.placed < len(decision.waiting):
            self._groups.record_of(decision.group).was_unfit = True
            if decision.status is None:
                self._retry_soon(decision.group)

    def on_pod_released(self, decision: PodDecision) -> None:
        """Nominates a pod to its node if the API refused to bind it while other members were bound."""
        self._keep_node_if_binding_failed(decision)

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Announces that the group is scheduled once its quorum is bound."""
        self._groups.bound(pod)

    def _announce_too_few(self, group: str) -> None:
        """Announce that a group now needs more pods than exist, because its earlier announcement no longer holds."""
        record = self._groups.record(group)
        if record.announced is None or record.has_enough or record.reports_hold:
            return
        text = messages.too_few(
            self._groups.quorum(group), record.placed_or_succeeded, self._groups.remaining_count(group)
        )
        self._groups.announce_until_scheduled(group, NativePodGroupReason.UNSCHEDULABLE, text)

    def _retry_group(self, group: str) -> None:
        """Retry the group, or its whole tree once the tree is ready. PreEnqueue gates members that are not ready."""
        leaves = [*self._trees.leaves(self._trees.tree_key(group))]
        if len(leaves) > 1 and not self._groups.is_ready(leaves[0]):
            leaves = [] if is_composite(group) else [group]
        self._activate_members(*leaves)
