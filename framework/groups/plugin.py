"""Base classes of group plugins: the behaviour that plugins with a book of groups share, whatever the kind of groups.

`GroupBookPlugin` is the minimum: members have nodes from Reserve on, until they are unreserved or expire. `GangPlugin`
is the base of adapters that start the pods of a group together: it gates pods whose group is missing or held, and
retries waiting members when their group has changed for the better. The process finds both in every profile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from ..contract.cycle_state import CycleState
from ..contract.decision import RESERVATIONS, DecisionFollower, GroupDecision, PodDecision
from ..contract.events import Action, ClusterEvent, EventRegistration, EventResource, Hint
from ..contract.group import Disruption, DisruptionPlugin, GroupPlugin, ObjectFollower, PodFollower
from ..contract.group_tree import EntityGroup, entity_group
from ..contract.group_view import GroupKind
from ..contract.handle import Handle
from ..contract.plugin import Args, EnqueueExtensions, PostBindPlugin, PreEnqueuePlugin, ReservePlugin
from ..contract.status import Code, Status
from ..contract.topology import Topology
from ..model.node import Node
from ..model.pod_info import PodInfo
from .book import GROUP_BOOKS, GroupBook, QuorumState
from .hold_gate import HoldGate
from .holds import hold_in
from .missing_groups import MissingGroups, group_missing
from .nominations import MemberNominations
from .owned_pods import OWNED_PODS, OwnedPods
from .record import GroupRecord
from .reporting import GroupReporter

GATHERING_SECONDS = 0.5
"""The time in which further members may arrive before a group is retried for them."""


class GroupBookPlugin(GroupPlugin[Args], DisruptionPlugin[Args], ReservePlugin[Args], PodFollower[Args]):
    """A group plugin that keeps its members in the book `_groups`, which it creates."""

    _groups: GroupBook[Any, Any]

    @property
    def book(self) -> GroupBook[Any, Any]:
        """The book, the same for the plugins of all profiles."""
        return self._groups

    def reporter(self) -> GroupReporter | None:
        """A new reporter on the book's groups; None if nothing is reported about them."""
        return None

    def missing(self, group: str) -> int:
        """The number of members that still need a node for the quorum."""
        return self._groups.missing(group)

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        """Members that have a node."""
        placed: Iterable[PodInfo] = self._groups.record(group).placed_pods()
        return placed

    def uid(self, group: str) -> str:
        """The UID of the group's object."""
        found = self._groups.get(group)
        return group if found is None else found.metadata.uid

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """A member's group, and how many of its members may be evicted without the others."""
        return self._groups.disruption(pod)

    def disruption_epoch(self) -> Hashable:
        """Changes with the groups' objects and with their members."""
        return self._groups.revision

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Counts the member as placed."""
        self._groups.members.count_placed(pod)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Counts the member as not placed."""
        self._groups.members.count_released(pod)

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        """Counts a member as not placed that was bound but never reported on its node."""
        self._groups.members.count_expired(pod)


class GangPlugin(
    GroupBookPlugin[Args],
    PreEnqueuePlugin[Args],
    PostBindPlugin[Args],
    EnqueueExtensions[Args],
    ObjectFollower[Args],
    DecisionFollower[Args],
):
    """A group plugin that adapts one kind of group: it decodes the objects, and adds rules and messages of its own."""

    kind: ClassVar[GroupKind[Any]]

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = handle.shared(self.name, self._new_book)
        self._groups.profiles.add(handle.profile_name)
        handle.shared(GROUP_BOOKS, dict[str, GroupBook[Any, Any]])[self.name] = self._groups
        self._owned = handle.shared(OWNED_PODS, OwnedPods)
        self._owned.add_book(self.name, self._groups)
        self._missing = MissingGroups(self._groups, handle)
        self._nominations = MemberNominations(self._groups.members, handle)
        self._held = HoldGate(self._groups.holds, self._groups.members, self._nominations, handle, plugin=self.name)
        self._reserved: dict[EntityGroup, str] = handle.shared(RESERVATIONS, dict)

    @abstractmethod
    def _new_book(self) -> GroupBook[Any, Any]:
        """The book that the plugins of all profiles share."""

    @abstractmethod
    def _retry_group(self, group: str) -> None:
        """Retry the waiting members."""

    # Hooks, each with the moment at which it is called.

    def _why_not_ready(self, group: str) -> str | None:
        """PreEnqueue asks about an existing group that is not held: why its members are gated; None if they are not."""
        return None

    def _on_member_admitted(self, record: GroupRecord[Any]) -> None:
        """PreEnqueue admitted a member of a group whose last attempt left out members that exist, such as gated ones.

        The group may be complete now: it is retried in a moment, with all members that arrive until then. A member
        that did not exist is reported by `_on_member_added`.
        """
        record.left_out_members = False
        self._retry_soon(record.key)

    def _on_member_added(self, group: str) -> None:
        """The informer reported a new member without a node; the quorum may still be incomplete."""

    def _on_member_left(self, group: str, pod: PodInfo) -> None:
        """A pod that exists is no longer a member."""

    def _on_quorum_placed(self, group: str) -> None:
        """Members or the object changed, and as many members have nodes as the group needs."""

    def _on_quorum_lost(self, group: str) -> None:
        """A member left, and too few remain for the group to be tried."""

    def _decision_inputs(self, group: Any) -> object:
        """The parts of a group's object on which decisions depend, which its frequently changing status is not."""
        return group.metadata.uid, group.spec, hold_in(group.annotations)

    def _update_book(self, group: str, new: Any) -> None:
        """Update the book: the informer reported that the group has this object now, or none (None)."""
        self._groups.follow_group(group, new)

    def _on_group_changed(self, group: str) -> None:
        """The group's object was added, or its decision inputs changed; the book is up to date."""
        if not self._held.begin(group) and self._groups.missing(group) <= 0:
            self._on_quorum_placed(group)
        self._retry_group(group)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """A label that moves a node to another topology domain.

        The plugin sees changes of a group and its pods itself, and activates the group in question.
        """
        event = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL)
        return (EventRegistration(event, self._node_joins_domain, by_group=True, of_gated=False),)

    def _node_joins_domain(self, pod: PodInfo, old: Node, new: Node) -> Hint:
        """QUEUE if the node may now be in a domain that the members lack."""
        before = old.metadata.labels
        joined = {key for key, value in new.metadata.labels.items() if before.get(key) != value}
        topologies = _topologies(self, pod) if joined else ()
        return Hint.queue_if(any(not joined.isdisjoint(each.labels) for each in topologies))

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Gates a pod until its group exists, is not held, and may be tried."""
        group = self._groups.members.named_by(pod)
        if group is None:
            return None
        if self._groups.record(group).group is None:
            return Status.unresolvable(group_missing(group))
        reason = self._groups.holds.text(group) or self._why_not_ready(group)
        return None if reason is None else Status.unresolvable(reason)

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Reports a pod that waits for its group, or whose group is held. An admitted pod may complete its group."""
        group = self._groups.members.named_by(pod)
        if group is None:
            return
        record = self._groups.record(group)
        if record.group is None:
            self._missing.waits_for(pod, group)
            return
        self._missing.waits_no_more(pod.uid)
        if status is not None:
            self._held.report(pod, status)
        elif record.left_out_members:
            self._on_member_admitted(record)

    def on_pod_decision(self, decision: PodDecision) -> None:
        """If the pod's group was held during the attempt, activates the pod, so that PreEnqueue gates it."""
        self._held.gate((decision.pod,))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """If the group was held during the attempt, activates its members, so that PreEnqueue gates them."""
        if decision.plugin == self.name:
            self._held.gate(decision.waiting)

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Updates the members, and retries waiting members that the change may help."""
        pod = new or old
        if pod is None:
            return
        members = self._groups.members
        counted_in, named = members.counted_in(pod), members.named_by(pod)
        removed = old is not None and (new is None or new.uid != old.uid)
        if counted_in is None and named is None and not removed:
            return  # as with most pods
        joins = new is not None and not new.node_name and (old is None or counted_in != named)
        groups = {group for group in (counted_in, named) if group is not None}
        before = {group: self._groups.quorum_state(group) for group in groups}
        placed = {group: len(self._groups.record(group).placed) for group in groups}
        self._groups.follow_pod(old, new)
        if new is not None and counted_in is not None and counted_in != named:
            self._on_member_left(counted_in, pod)
        for group, state in before.items():
            self.quorum_changed(group, state)
            record = self._groups.record(group)
            if len(record.placed) < placed[group] and _has_other_nodes(self, record, pod):
                self._retry_soon(group)
        if new is None or named is None:
            self._missing.waits_no_more(pod.uid)
        elif joins and named in self._groups:
            self._on_member_added(named)
        if joins and named is not None and (named not in self._groups or self._groups.holds.text(named) is not None):
            self._nominations.withdraw(named)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Follows the groups' objects. Members are retried when their group is added or its decision inputs change."""
        found: Any = new or old
        if not isinstance(found, self.kind.objects.type):
            return
        group = found.metadata.key
        known = self._groups.get(group)
        for pod in self._owned.follow_group(self._groups, known, None if new is None else found):
            self.on_pod(None if self._groups.members.counted_in(pod) is None else pod, pod)
        if new is None:
            self._update_book(group, None)
            self._nominations.withdraw(group)
        elif known is not None and self._decision_inputs(known) == self._decision_inputs(new):
            self._groups.refresh(group, new)
        else:
            self._update_book(group, new)
            self._on_group_changed(group)

    def quorum_changed(self, group: str, before: QuorumState) -> None:
        """Members were added or removed, have ended, or got nodes elsewhere; `before` is the previous state."""
        if self._groups.record(group).group is None:
            return
        state = self._groups.quorum_state(group)
        if not state.missing:
            self._on_quorum_placed(group)
        gains = (state.may_be_tried and not before.may_be_tried) or (state.may_preempt and not before.may_preempt)
        if gains or state.missing < before.missing:
            self._retry_group(group)
        if before.may_be_tried and not state.may_be_tried:
            self._on_quorum_lost(group)

    def _activate_members(self, *groups: str) -> None:
        """Retry the members of these groups that have no node."""
        self.handle.activate({pod.key: pod for group in groups for pod in self._groups.record(group).unplaced_pods()})

    def _retry_soon(self, group: str) -> None:
        """Retry the group in a moment."""
        self.handle.clock.call_later(GATHERING_SECONDS, partial(self._retry_group, group))

    def reservation_text(self, group: str) -> str | None:
        """The sentence about the group's reservation; None without one."""
        return self._reserved.get(entity_group(self.name, group))

    def _keep_node_if_binding_failed(self, decision: PodDecision) -> bool:
        """Nominate a member whose binding failed to its node unless its group's quorum is bound; whether it did.

        Members whose Bindings are in flight do not count as bound: these may fail as well, and the bound members may be
        enough for the quorum but not in the domains that the group needs.
        """
        group, status = self._groups.members.named_by(decision.pod), decision.status
        if group is None or status is None or status.code is not Code.ERROR:
            return False
        if self._groups.missing(group) + self._groups.record(group).placed_unbound <= 0:
            return False
        self._nominations.keep(decision.pod, decision.node_name)
        return True


def _topologies(plugin: GroupPlugin[Any], pod: PodInfo) -> Iterable[Topology]:
    """The topologies of the group with which the pod is tried, and of all groups in it."""
    group = plugin.group_of(pod)
    if group is None:
        return ()
    tree, topology = plugin.tree(group), plugin.topology(group)
    return tree.topologies() if tree is not None else () if topology is None else (topology,)


def _has_other_nodes(plugin: GroupPlugin[Any], record: GroupRecord[Any], lost: PodInfo) -> bool:
    """Whether members may use other nodes than before, now that their group has lost this placed member."""
    if record.placed:
        topology = plugin.topology(record.key)
        return topology is not None and topology.slice_size > 0
    return any(True for _ in _topologies(plugin, lost))
