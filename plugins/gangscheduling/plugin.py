"""GangScheduling: the extension points, each a few lines on top of `NativePodGroups`.

The methods that decide (PreEnqueue, PreFilter, `reject_group`) change nothing; the methods that follow decisions carry
out the consequences. kube-scheduler's plugin also holds pods at Permit until their group has its quorum: here the group
cycle places all of them in one step, and binds none if the quorum is lost before binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from muster.framework.contract import (
    COMPOSITE_PREFIX,
    RESERVATIONS,
    Code,
    CycleState,
    DecisionFollower,
    EnqueueExtensions,
    EventRegistration,
    GroupDecision,
    Handle,
    NodeView,
    NoDomain,
    ObjectFollower,
    Part,
    PodDecision,
    PodInfo,
    PostBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    Shortage,
    Status,
    Topology,
)
from muster.framework.groups import GroupBookPlugin, GroupReporter, MemberNominations, MissingGroups

from . import messages
from .api import NAME, NEVER, POD_GROUPS, NativePodGroup, group_key
from .composite_api import COMPOSITE_POD_GROUPS, CompositePodGroup
from .conditions import NativePodGroupReason
from .groups import NativePodGroups
from .hierarchy import is_root
from .kind import NATIVE_POD_GROUP_KIND
from .recorded import RECORDED
from .reporting import NativePodGroupReporter
from .validation import fault

SHARED = NAME
"""The key under which the plugins of all profiles share one `NativePodGroups`."""

_GATHERING_SECONDS = 0.5
"""How often a group that was refused is tried again while others of its pods come into the queue."""


class GangScheduling(
    PreEnqueuePlugin,
    PreFilterPlugin,
    PostBindPlugin,
    EnqueueExtensions,
    GroupBookPlugin,
    ObjectFollower,
    DecisionFollower,
):
    """Places the pods of a PodGroup of scheduling.k8s.io as its policy says."""

    name = NAME
    kind = NATIVE_POD_GROUP_KIND
    recorded = RECORDED
    watches = (POD_GROUPS, COMPOSITE_POD_GROUPS)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups: NativePodGroups = handle.shared(SHARED, lambda: NativePodGroups(handle.clock))
        self._groups.profiles.add(handle.profile_name)
        self._groups.on_standing = self._standing_changed
        self._incomplete: set[str] = set()
        self._unfit: set[str] = set()
        self._missing = MissingGroups(self._groups, messages.group_missing, handle)
        self._nominations = MemberNominations(self._groups.members, handle)
        self._promises: dict[str, str] = handle.shared(RESERVATIONS, dict)

    # The queue.

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keeps a pod out until its PodGroup exists, those that it is a part of, and as many pods as they need."""
        group = group_key(pod)
        if group is None:
            return None
        if group not in self._groups:
            return Status.unresolvable(messages.group_missing(group))
        lack = self._groups.lack(group)
        return None if lack is None else Status.unresolvable(lack)

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Tells a pod that it waits for its group. One that is let in may be what its group lacked before."""
        group = group_key(pod)
        if group is not None and group not in self._groups:
            self._missing.waits_for(pod, group)
            return
        self._missing.waits_no_more(pod.uid)
        if status is None and group in self._incomplete:
            self._incomplete.discard(group)
            self.handle.clock.call_later(_GATHERING_SECONDS, partial(self._activate, group))

    def group_of(self, pod: PodInfo) -> str | None:
        """The group, as long as it lacks its quorum; later members are scheduled one by one. Of parts the whole, ever.

        A group that has to be together in a topology domain is named also then: its place says where they may go. So is
        that of a pod that does not go with it.
        """
        group = group_key(pod)
        found = None if group is None else self._groups.get(group)
        if group is None or found is None:
            return None
        if self._groups.hierarchy.is_part(group):
            return self._groups.hierarchy.root_of(group)
        together = self._groups.missing(group) > 0 or self._groups.topology(group) is not None
        return group if together or fault(found.spec, [pod], ()) is not None else None

    def fault(self, group: str) -> str | None:
        """What `validation` finds."""
        return self._groups.fault(group)

    def topology(self, group: str) -> Topology | None:
        """The domain that `spec.schedulingConstraints` asks for."""
        return self._groups.topology(group)

    def priority(self, group: str) -> int | None:
        """The group's own."""
        return None if self._groups.object_of(group) is None else self._groups.priority(group)

    def missing(self, group: str) -> int:
        """How many members must get a node at once; of a hierarchy, how many at least."""
        hierarchy = self._groups.hierarchy
        return super().missing(group) if hierarchy.get(group) is None else hierarchy.least(group)

    def uid(self, group: str) -> str:
        """The UID of the group's object."""
        found = self._groups.hierarchy.get(group)
        return super().uid(group) if found is None else found.metadata.uid

    def tree(self, group: str) -> Part | None:
        """The hierarchy of a CompositePodGroup."""
        return self._groups.tree(group)

    def part_of(self, pod: PodInfo) -> str:
        """The pod's PodGroup."""
        return group_key(pod) or ""

    def may_preempt(self, group: str, waiting: Sequence[PodInfo]) -> bool:
        """As the group says, else as its pods do, which agree."""
        found = self._groups.object_of(group)
        policy = None if found is None else found.spec.preemption_policy
        return super().may_preempt(group, waiting) if policy is None else policy != NEVER

    def reporter(self) -> GroupReporter:
        """See `NativePodGroupReporter`."""
        return NativePodGroupReporter(self._groups, self.handle.clock)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """None: the plugin sees what happens to a group and its pods itself, and activates the one that it concerns."""
        return ()

    # What the informers saw.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Keeps the members."""
        pod = new or old
        group = group_key(pod) if pod is not None else None
        if group is None:
            return
        before = self._groups.standing(group)
        self._groups.follow_pod(old, new)
        self._standing_changed(group, before)
        if new is None and old is not None:
            self._missing.waits_no_more(old.uid)
        whole = self._groups.whole(group)
        if old is None and new is not None and not new.node_name and whole in self._unfit:
            self._unfit.discard(whole)
            self.handle.clock.call_later(_GATHERING_SECONDS, partial(self._activate, whole))

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Keeps the groups. Whoever waits for a group is tried when it comes, or asks for something else."""
        group = new or old
        if isinstance(group, CompositePodGroup):
            name = f"{COMPOSITE_PREFIX}{group.key}"
            whole = self._groups.whole(name)
            self._groups.follow_composite(group.key, group if new is not None else None)
            if old is None:
                self._activate(name)
            if new is None:
                self._ask_again([*self._groups.leaves(name), *self._groups.leaves(whole)])
                self._forget(name)
            return
        if not isinstance(group, NativePodGroup):
            return
        known, whole = self._groups.get(group.key), self._groups.whole(group.key)
        was_enough, _ = self._groups.standing(group.key)
        self._groups.follow_group(group.key, group if new is not None else None)
        if was_enough and not self._groups.standing(group.key)[0]:
            self._ask_again([group.key, *self._groups.leaves(whole)])
        if new is not None and (known is None or _essence(known) != _essence(group)):
            self._activate(group.key)
            self._say_too_few(group.key)
        if new is None:
            self._nominations.take_back(group.key)
            self._forget(group.key)

    def _forget(self, group: str) -> None:
        """What was decided about a group that is gone is of no account."""
        self._incomplete.discard(group)
        self._unfit.discard(group)

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Turns away pods that cannot be one group, and those of a gang of which too few are there to be tried."""
        group = group_key(pod)
        if group is None:
            return None
        found = self._groups.get(group)
        if found is None:
            return Status.pending(messages.group_missing(group))
        wrong = self._groups.fault(self._groups.whole(group))
        if wrong is not None:
            return Status.failure(wrong)
        if self._groups.hierarchy.is_part(group):
            lack = self._groups.lack(group)
            return None if lack is None else Status.pending(lack)
        missing, remaining = self._groups.missing(group), self._groups.remaining_count(group)
        if missing > remaining:
            scheduled = self._groups.record(group).scheduled
            return Status.pending(messages.too_few(found.spec.min_count, scheduled, remaining))
        return None

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """What the group is told: what became of the trial, and what it is promised, if it is."""
        status = self.reject_trial(group, cause, placed=placed, missing=missing, no_domain=no_domain)
        return Status(status.code, (self._with_promise(group, status.message),)) if status.rejected else status

    def reject_trial(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        """An error of a pod is one of all; what is wrong with the group is said as it is."""
        found = self._groups.get(group)
        if found is None:
            return cause
        if not cause.rejected:
            return Status.failure(messages.member_error(cause.message))
        min_count, scheduled = self._groups.quorum(group), self._groups.record(group).scheduled
        if cause.code is Code.PENDING and cause.plugin in ("", self.name):
            remaining = self._groups.remaining_count(group) if cause.plugin else placed
            return Status.pending(messages.too_few(min_count, scheduled, remaining))
        text = messages.unsatisfied(min_count, scheduled + placed, missing - placed - 1)
        if no_domain is not None:
            text = messages.no_domain(no_domain, text)
        return Status.pending(text) if cause.code is Code.PENDING else Status.unschedulable(text)

    def reject_part(self, part: Part, cause: Shortage | Status | None) -> Status:
        """What a part of a hierarchy is told, or the whole of it."""
        if cause is None:
            return Status.unschedulable(messages.UNSCHEDULABLE)
        if isinstance(cause, Status):
            told = messages.member_error if part.parts is None else messages.part_error
            return Status.failure(told(cause.message))
        if part.parts is not None:
            text = messages.unsatisfied(part.needed, cause.fitting, cause.left)
        else:
            counts = messages.unsatisfied if cause.tried else messages.too_few
            scheduled = self._groups.record(part.key).scheduled + cause.fitting
            text = counts(self._groups.quorum(part.key), scheduled, cause.left)
        if cause.no_domain is not None:
            text = messages.no_domain(cause.no_domain, text)
        return Status.unschedulable(self._with_promise(part.key, text))

    def _with_promise(self, group: str, text: str) -> str:
        """What a group is told, and what it is promised, if it is."""
        promise = self._promises.get(f"{self.name}/{group}")
        return text if promise is None else f"{text}. {promise}"

    def reject_member(self, status: Status, own: Status | None, *, placed: bool) -> Status:
        """A pod that found no node is told so; one that found one, that it is of no use."""
        if own is not None:
            return status if own.plugin == self.name or own.rejected is not status.rejected else own
        return Status.unschedulable(messages.of_no_use(status.message)) if placed else status

    # What follows from decisions.

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Says why the group was refused."""
        if decision.plugin != self.name:
            return
        if is_root(decision.group):
            self._on_tree_decision(decision)
            return
        if decision.status is None:
            return
        status = decision.status
        if decision.group in self._groups:
            (self._incomplete if status.code is Code.PENDING else self._unfit).add(decision.group)
        reason = NativePodGroupReason.UNSCHEDULABLE if status.rejected else NativePodGroupReason.SCHEDULER_ERROR
        note = "" if decision.no_domain is None else messages.closest(decision.no_domain)
        self._groups.say(decision.group, reason, status.message, note)

    def _on_tree_decision(self, decision: GroupDecision) -> None:
        """Says of each part why it was refused. Those that the others leave behind are tried again at once."""
        note = "" if decision.no_domain is None else messages.closest(decision.no_domain)
        parts = decision.parts or dict.fromkeys(self._groups.leaves(decision.group), decision.status)
        for part, status in parts.items():
            if status is not None:
                reason = NativePodGroupReason.UNSCHEDULABLE if status.rejected else NativePodGroupReason.SCHEDULER_ERROR
                self._groups.say(part, reason, status.message, note)
        if decision.placed < len(decision.waiting):
            self._unfit.add(decision.group)
            if decision.status is None:
                self.handle.clock.call_later(_GATHERING_SECONDS, partial(self._activate, decision.group))

    def on_pod_released(self, decision: PodDecision) -> None:
        """A pod that the API refused to bind while others of its gang were bound keeps its node."""
        group, status = group_key(decision.pod), decision.status
        if group is not None and status is not None and status.code is Code.ERROR and self._groups.missing(group) > 0:
            self._nominations.keep(decision.pod, decision.node_name)

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Says that the group is scheduled once its quorum is bound."""
        self._groups.bound(pod)

    def _standing_changed(self, group: str, before: tuple[bool, int]) -> None:
        """Members came or went, or others placed them. See whether that helps those that wait."""
        (enough, missing), (was_enough, was_missing) = self._groups.standing(group), before
        if (enough and not was_enough) or missing < was_missing:
            self._activate(group)
        if was_enough and not enough:
            self._ask_again(self._groups.leaves(self._groups.whole(group)))
            self._nominations.take_back(group)

    def _say_too_few(self, group: str) -> None:
        """What was said of a group that asks for more pods by now than there are is true no more."""
        if self._groups.record(group).said is None or self._groups.has_enough(group):
            return
        scheduled, remaining = self._groups.record(group).scheduled, self._groups.remaining_count(group)
        text = messages.too_few(self._groups.quorum(group), scheduled, remaining)
        self._groups.say(group, NativePodGroupReason.UNSCHEDULABLE, text)

    def _activate(self, group: str) -> None:
        """Have those that wait tried, all of a hierarchy together once it can be."""
        leaves = self._groups.leaves(self._groups.whole(group))
        if len(leaves) > 1 and not self._groups.is_ready(leaves[0]):
            leaves = [] if is_root(group) else [group]
        self._ask_again(leaves)

    def _ask_again(self, leaves: Sequence[str]) -> None:
        """Have the pods of these groups that wait tried; PreEnqueue keeps those out that are not ready any more."""
        self.handle.activate({pod.key: pod for leaf in leaves for pod in self._groups.record(leaf).unplaced_pods()})


def _essence(group: NativePodGroup) -> tuple[object, ...]:
    """What of a PodGroup decides; its status is written all the time."""
    return group.metadata.uid, group.spec
