"""The book of the PodGroups of scheduling.x-k8s.io: everything that the scheduler knows about them now.

One object serves the plugins of all profiles, because the members of a group may belong to any profile, and the
operator's controller of PodGroups. It knows which pods are members and which of them have nodes, when and how often
each group failed, and which groups were denied recently. Members and their nodes are rebuilt from the API after a
restart. Failures and denials are lost: they only order groups of the same age and save work.

What is known of one group is in its record. Denials, backoffs, and checks that found minResources free expire, so they
are in three TTL caches instead, which need no timer per group.
"""

from __future__ import annotations

from collections import Counter

from cachetools import TTLCache

from muster.framework.contract import MAX_WAIT_SECONDS, Clock, Disruption, WaitingPods
from muster.framework.groups import GroupBook, HealingPolicy, QuorumState, healing_policy, hold_in
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import parse_time

from . import messages
from .api import PodGroup, group_key
from .args import DEFAULT_WAIT_SECONDS, CoschedulingArgs
from .disruption import PodGroupDisruptionMode, mode_of
from .members_at_permit import MembersAtPermit
from .min_resources import MinResourcesGuard
from .record import GroupState, PodGroupReason, PodGroupRecord

_FIRST = float("-inf")
_GROUPS_CACHED = 100_000


class PodGroups(GroupBook[PodGroup, PodGroupRecord]):
    """The book of all PodGroups.

    Attributes:
        args: the plugin's arguments, the same in all profiles.
        at_permit: members that wait at Permit.
        min_resources: the capacity that is kept free for members that do not exist yet.
    """

    counting = frozenset(
        {PodGroupReason.UNSCHEDULABLE, PodGroupReason.NOT_ENOUGH_RESOURCES, PodGroupReason.QUOTA_EXCEEDED}
    )
    recurring = frozenset({PodGroupReason.TIMEOUT})

    def __init__(self, args: CoschedulingArgs, clock: Clock, waiting: WaitingPods) -> None:
        super().__init__(group_key, clock, PodGroupRecord)
        self.args = args
        self.at_permit = MembersAtPermit(waiting, self.members)
        self.min_resources = MinResourcesGuard(self.members, self.holds, self.wait_seconds, clock)
        self._epoch = clock.now() - clock.wall()
        self._denied = _cache(args.denied_pg_expiration_time_seconds, clock)
        self._backed_off = _cache(args.pod_group_backoff_seconds, clock)
        self._min_resources_free = _cache(self._default_wait(), clock)

    # What the watches saw.

    def follow_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended was added, changed or removed."""
        pod = old or new
        left = self.members.record_of(pod) if pod is not None else None
        if left is not None and (new is None or new.terminating or self.members.named_by(new) != left.key):
            self.min_resources.member_leaves(left)
        super().follow_pod(old, new)

    def _member_changed(self, record: PodGroupRecord, old: PodInfo | None, new: PodInfo | None) -> None:
        if new is None:
            if not record.pods:
                record.state = None
            elif record.state is not None and old is not None:
                record.state.refused.pop(old.key, None)
            return
        if record.state is None:
            record.state, record.left_out_members = GroupState(), False
        if old is None and new.node_name:
            self.min_resources.found_bound(record, new)
            record.state.quorum_announced = record.state.quorum_announced or record.quorum_is_bound
        elif not record.quorum_is_bound:
            record.state.quorum_announced = False

    def _group_changed(self, record: PodGroupRecord, known: PodGroup | None, *, another: bool) -> None:
        """Drop the results for an earlier spec or object, or from before a hold, which no longer apply."""
        new = record.group
        if another:
            if record.state is not None:
                record.state, record.first_seen = GroupState(), self._clock.now()
            self.min_resources.follow(record, None)
        hold_changed = known is not None and new is not None and hold_in(known.annotations) != hold_in(new.annotations)
        if hold_changed:
            self._announcements.forget(record)
        if another or hold_changed or (known is not None and new is not None and new.spec != known.spec):
            for cache in (self._denied, self._backed_off, self._min_resources_free):
                cache.pop(record.key, None)
        self.min_resources.follow(record, new)
        if new is None:
            return
        if another or known is None:
            stamp = new.metadata.creation_timestamp
            record.created = self._clock.now() if stamp is None else parse_time(stamp) + self._epoch
        if record.state is not None:
            record.state.quorum_announced = record.quorum_is_bound

    # What they are.

    def quorum(self, group: str) -> int:
        """The group's minMember; 0 for a group that does not exist."""
        return self.record(group).quorum

    def missing(self, group: str) -> int:
        """The number of members that still need a node for the quorum; 0 or less when the group has it."""
        return self.record(group).missing

    def quorum_state(self, group: str) -> QuorumState:
        """A group may be tried if it exists and enough members for the quorum are ready."""
        record = self.record(group)
        may_be_tried = record.group is not None and record.ready >= record.quorum
        return QuorumState(may_be_tried, max(0, record.missing), record.may_preempt)

    def wait_seconds(self, group: str) -> float:
        """How many seconds a member waits at Permit: the group's value, else the argument's, else 60; 0 means unset."""
        found = self.get(group)
        own = found.spec.schedule_timeout_seconds if found is not None else None
        return min(MAX_WAIT_SECONDS, float(own)) if own is not None and own > 0 else self._default_wait()

    def order(self, group: str) -> tuple[float, float]:
        """The group's position among groups of its priority, smaller first: by creation, then by the last failure.

        The creation time is the same for every process, so a group keeps its position when another process takes over.
        A partly bound group goes first, because the bound members are of no use without the others.
        """
        record = self.record(group)
        failed_at = None if record.state is None else record.state.failed_at
        created = _FIRST if 0 < len(record.bound) < record.quorum else record.created
        return created, _FIRST if failed_at is None else failed_at

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The pod's group with the members that have nodes, and how many of these may be evicted without the others.

        None for a pod without a group, and if the PodGroup allows evicting its pods one by one. A group that restarts
        when it loses a pod can spare none.
        """
        record = self.members.record_of(pod)
        found = record.group if record is not None else None
        if record is None or found is None:
            return None
        mode = mode_of(found.metadata.annotations)
        if mode is PodGroupDisruptionMode.SINGLE:
            return None
        pods = [*record.placed_pods()]
        restarts = healing_policy(found.metadata.annotations) is HealingPolicy.RESTART
        spares = mode is not PodGroupDisruptionMode.ALL and not restarts
        spare = max(0, len(pods) - found.spec.min_member) if spares else 0
        return Disruption(record.key, pods, record.priority, spare)

    def left_to_others(self, group: str) -> Counter[str]:
        """The number of members without a node that name another scheduler than Muster's profiles, by its name."""
        names = (pod.pod.spec.scheduler_name for pod in self.record(group).unplaced_pods())
        return Counter(name for name in names if name not in self.profiles)

    def state(self, group: str) -> GroupState:
        """The state of the group's attempts. A group without members has none: it gets a new one that is not stored, so
        what a caller notes about such a group is dropped, as it should be, because the group has nothing to retry.
        """
        return self.record(group).state or GroupState()

    # Who gets a node.

    def bound(self, pod: PodInfo) -> str | None:
        """The API accepted a member's binding. Returns the group if this completed its bound quorum."""
        record = self.members.record_of(pod)
        if record is None:
            return None
        self.members.count_bound(pod)
        self.mark_changed(record.key)
        state = self.state(record.key)
        if state.refused:
            state.refused.pop(pod.key, None)
            self._announce_refused(record.key)
        if state.quorum_announced or not record.quorum_is_bound:
            return None
        state.quorum_announced = True
        return record.key

    # What was decided about them.

    def failed(self, group: str) -> None:
        """The group did not fit: groups of the same age go first now, and it backs off if a backoff is configured."""
        self.state(group).fail(self._clock.now())
        self._min_resources_free.pop(group, None)
        self._backed_off[group] = True

    def deny(self, group: str) -> None:
        """Reject the group without a trial for a while."""
        self._min_resources_free.pop(group, None)
        self._denied[group] = True

    def note_min_resources_missing(self, group: str) -> None:
        """Less than minResources is free, but the group has a reservation: capacity that becomes free retries it."""
        self._denied.pop(group, None)
        self.state(group).lacks_min_resources = True

    def note_min_resources_free(self, group: str) -> None:
        """minResources is free; it is not checked again for other members for a while."""
        self._min_resources_free[group] = True
        self.state(group).lacks_min_resources = False

    def is_denied(self, group: str) -> bool:
        """Whether the group was denied within deniedPGExpirationTimeSeconds."""
        return group in self._denied

    def is_backed_off(self, group: str) -> bool:
        """Whether the group failed within podGroupBackoffSeconds."""
        return group in self._backed_off

    def has_min_resources(self, group: str) -> bool:
        """Whether minResources was free within permitWaitingTimeSeconds."""
        return group in self._min_resources_free

    def binding_refused(self, group: str, pod: PodInfo, reason: str) -> None:
        """The API refused to bind a member that had a node; the group is partly bound until it accepts the binding."""
        self.state(group).refused[pod.key] = reason
        self._announce_refused(group)

    def _announce_refused(self, group: str) -> None:
        refused = self.state(group).refused
        if refused:
            record = self.record(group)
            text = messages.not_bound(len(record.bound), record.quorum, refused)
            self.announce(group, PodGroupReason.BINDING_FAILED, text)

    def _default_wait(self) -> float:
        return min(MAX_WAIT_SECONDS, float(self.args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS))


def _cache(seconds: float, clock: Clock) -> TTLCache[str, bool]:
    return TTLCache(_GROUPS_CACHED, seconds, clock.now)
