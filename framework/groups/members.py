"""The membership book: which pods belong to which group, whichever scheduler they name.

The plugin feeds it from the pod informer and from Reserve, and the operator with pods that have ended, which the
informer leaves out. The plugin asks it for members that may be placed, the PodGroup controller for counts. Pods that
are being deleted do not count: their capacity is for their successors. Placements are kept by UID, so a pod that
changes its group or is deleted while it is being bound takes its placement along.

A pod that ends leaves the pod informer, and appears among the ended pods through another watch, in either order. In
between it is unaccounted for, and the counts of its group must not be reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..model.pod_info import PodInfo

_MOST_OWNERS = 16
"""Usually there is one. A status is not the place for a list of thousands."""

_NEVER = "Never"


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """A group's members, of which none counts that is alive and being deleted.

    Attributes:
        pods: all of them, those that have ended included.
        scheduled: who have a node and have not failed.
        running, succeeded, failed: by the phase of the pod.
        gated: who have scheduling gates.
    """

    pods: int = 0
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    gated: int = 0

    @property
    def alive(self) -> int:
        """Members that have not ended."""
        return self.pods - self.succeeded - self.failed


class MemberKind(NamedTuple):
    """What members of a group usually have in common: what pods have to agree on to be one group."""

    priority: int
    scheduler: str
    preemption_policy: str | None


class EndedMember(NamedTuple):
    """A member that has ended: the group that it is counted in, `namespace/name`, and whether it succeeded."""

    group: str
    succeeded: bool


@dataclass(slots=True)
class _Group:
    """One group's page.

    Attributes:
        pods: members that have not ended, by UID.
        placed, bound, gated: who of them hold a node, are bound, have scheduling gates.
        kinds: how many of them are of which kind.
        never_preempting: who of them may not preempt others.
        ended: members that have ended, by UID.
        unaccounted: UIDs of members of which it is not known yet whether they ended or were deleted.
    """

    pods: dict[str, PodInfo] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    gated: set[str] = field(default_factory=set)
    kinds: Counter[MemberKind] = field(default_factory=Counter)
    never_preempting: set[str] = field(default_factory=set)
    ended: dict[str, EndedMember] = field(default_factory=dict)
    unaccounted: set[str] = field(default_factory=set)


_NOBODY = _Group()


class Members:
    """The members of all groups, by `namespace/name` of the group and by UID.

    `group_of` reads from a pod alone which group it wants to belong to.
    """

    def __init__(self, group_of: Callable[[PodInfo], str | None]) -> None:
        self._wanted = group_of
        self._groups: dict[str, _Group] = {}
        self._group_of: dict[str, str] = {}

    # What happens.

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> bool:
        """A pod that has not ended came, changed or went. Whether anything changed that counts."""
        gone = old is not None and (new is None or new.uid != old.uid) and self._leave(old, vanished=True)
        if new is None:
            return gone
        group = None if new.terminating else self._wanted(new)
        known_in, held, known = self._group_of.get(new.uid), False, None
        if known_in is not None:
            known = self._groups[known_in].pods[new.uid]
            if known_in != group:
                held = new.uid in self._groups[known_in].placed
                self._leave(known, vanished=False)
        if group is None:
            return gone or known_in is not None
        self._enter(group, new, held=held)
        return gone or known_in != group or known is None or _counted(known) != _counted(new)

    def follow_ended(self, uid: str, old: EndedMember | None, new: EndedMember | None) -> None:
        """A pod is known to have ended (`old` is None), changed its group, or was deleted after it (`new` is None)."""
        if old is not None:
            page = self._groups[old.group]
            del page.ended[uid]
            self._discard_empty(old.group)
        if new is not None:
            page = self._groups.setdefault(new.group, _Group())
            page.ended[uid] = new
            page.unaccounted.discard(uid)

    def write_off(self, group: str, uid: str) -> None:
        """The member that was unaccounted for has not ended: it was deleted."""
        page = self._groups.get(group)
        if page is not None:
            page.unaccounted.discard(uid)
            self._discard_empty(group)

    def place(self, pod: PodInfo) -> None:
        """The member was reserved on a node."""
        self._page(pod).placed.add(pod.uid)

    def displace(self, pod: PodInfo) -> None:
        """The member's reservation was given up. One that is bound by now keeps its place."""
        page = self._page(pod)
        if pod.uid not in page.bound:
            page.placed.discard(pod.uid)

    def bind(self, pod: PodInfo) -> None:
        """The API accepted the member's binding."""
        self._page(pod).bound.add(pod.uid)

    def expire(self, pod: PodInfo) -> None:
        """The API accepted the member's binding and never reported it: it has no node any more."""
        page = self._page(pod)
        known = page.pods.get(pod.uid)
        if known is not None and not known.node_name:
            page.placed.discard(pod.uid)
            page.bound.discard(pod.uid)

    # Who is there.

    def __contains__(self, group: object) -> bool:
        """Whether the group has any members, be it ended ones."""
        return group in self._groups

    def group_of(self, pod: PodInfo) -> str | None:
        """The group that the pod is counted in; it may be another than the pod's version says."""
        return self._group_of.get(pod.uid)

    def of(self, group: str) -> Collection[PodInfo]:
        """All members that have not ended."""
        return self._groups.get(group, _NOBODY).pods.values()

    def ready(self, group: str) -> int:
        """How many members have no scheduling gates."""
        page = self._groups.get(group, _NOBODY)
        return len(page.pods) - len(page.gated)

    def placed(self, group: str) -> int:
        """How many members hold a node, reserved or bound."""
        return len(self._groups.get(group, _NOBODY).placed)

    def succeeded(self, group: str) -> int:
        """How many members have ended well."""
        return sum(member.succeeded for member in self._groups.get(group, _NOBODY).ended.values())

    def bound(self, group: str) -> int:
        """How many members are bound."""
        return len(self._groups.get(group, _NOBODY).bound)

    def placed_pods(self, group: str) -> Iterator[PodInfo]:
        """Members that hold a node."""
        page = self._groups.get(group, _NOBODY)
        return (pod for uid, pod in page.pods.items() if uid in page.placed)

    def bound_pods(self, group: str) -> Iterator[PodInfo]:
        """Members that are bound."""
        page = self._groups.get(group, _NOBODY)
        return (pod for uid, pod in page.pods.items() if uid in page.bound)

    def succeeded_uids(self, group: str) -> set[str]:
        """Members that have ended well."""
        return {uid for uid, member in self._groups.get(group, _NOBODY).ended.items() if member.succeeded}

    def unplaced_pods(self, group: str) -> Iterator[PodInfo]:
        """Members that hold no node."""
        page = self._groups.get(group, _NOBODY)
        return (pod for uid, pod in page.pods.items() if uid not in page.placed)

    def gated(self, group: str) -> list[PodInfo]:
        """Members with scheduling gates."""
        page = self._groups.get(group, _NOBODY)
        return [page.pods[uid] for uid in page.gated]

    def priority(self, group: str) -> int:
        """The group's priority: the highest of its members', 0 for a group without any."""
        return max((kind.priority for kind in self.kinds(group)), default=0)

    def kinds(self, group: str) -> Collection[MemberKind]:
        """The kinds of its members that have not ended, each once."""
        return self._groups.get(group, _NOBODY).kinds

    def may_preempt(self, group: str) -> bool:
        """Whether pods may be evicted for the group: `preemptionPolicy: Never` of any member means never."""
        return not self._groups.get(group, _NOBODY).never_preempting

    # In numbers.

    def unaccounted(self, group: str) -> Collection[str]:
        """UIDs of members of which it is not known yet whether they ended; until it is, counts say too little."""
        return self._groups.get(group, _NOBODY).unaccounted

    def counts(self, group: str) -> MemberCounts:
        """All members in numbers, those that have ended included."""
        page = self._groups.get(group, _NOBODY)
        alive = page.pods.keys() - page.ended.keys()
        succeeded = self.succeeded(group)
        return MemberCounts(
            pods=len(alive) + len(page.ended),
            scheduled=len(alive & page.bound) + succeeded,
            running=sum(page.pods[uid].pod.status.phase == "Running" for uid in alive),
            succeeded=succeeded,
            failed=len(page.ended) - succeeded,
            gated=len(alive & page.gated),
        )

    def owners(self, group: str) -> str:
        """Owners of members that have not ended, `namespace/name`, sorted and joined by commas; at most 16 of them."""
        page = self._groups.get(group, _NOBODY)
        found = {
            f"{pod.namespace}/{owner.name}"
            for uid, pod in page.pods.items()
            if uid not in page.ended
            for owner in pod.pod.metadata.owner_references
        }
        return ",".join(sorted(found)[:_MOST_OWNERS])

    def _page(self, pod: PodInfo) -> _Group:
        """The group the pod is counted in; for one that is no member (any more), one that nobody reads."""
        group = self._group_of.get(pod.uid)
        return self._groups[group] if group is not None else _Group()

    def _enter(self, group: str, pod: PodInfo, *, held: bool) -> None:
        """Count this version of the pod in, which may be in already."""
        page, uid = self._groups.setdefault(group, _Group()), pod.uid
        known = page.pods.get(uid)
        if known is not None:
            _count_kind(page, known, -1)
        self._group_of[uid] = group
        page.pods[uid] = pod
        _count_kind(page, pod, +1)
        if held or pod.node_name:
            page.placed.add(uid)
        if pod.node_name:
            page.bound.add(uid)
        _keep(page.gated, uid, bool(pod.pod.spec.scheduling_gates))
        _keep(page.never_preempting, uid, pod.pod.spec.preemption_policy == _NEVER)

    def _leave(self, pod: PodInfo, *, vanished: bool) -> bool:
        """Take a pod out of its group; whether it was in one. One that `vanished` may have ended."""
        uid = pod.uid
        group = self._group_of.pop(uid, None)
        if group is None:
            return False
        page = self._groups[group]
        _count_kind(page, page.pods.pop(uid), -1)
        for uids in (page.placed, page.bound, page.gated, page.never_preempting):
            uids.discard(uid)
        if vanished and not pod.terminating and uid not in page.ended:
            page.unaccounted.add(uid)
        self._discard_empty(group)
        return True

    def _discard_empty(self, group: str) -> None:
        page = self._groups[group]
        if not (page.pods or page.ended or page.unaccounted):
            del self._groups[group]


def _counted(pod: PodInfo) -> tuple[object, ...]:
    """What of a member counts and owners go by."""
    return pod.node_name, pod.pod.status.phase, pod.pod.metadata.owner_references, bool(pod.pod.spec.scheduling_gates)


def _count_kind(page: _Group, pod: PodInfo, by: int) -> None:
    kind = MemberKind(pod.priority, pod.pod.spec.scheduler_name, pod.pod.spec.preemption_policy)
    page.kinds[kind] += by
    if not page.kinds[kind]:
        del page.kinds[kind]


def _keep(uids: set[str], uid: str, wanted: bool) -> None:
    if wanted:
        uids.add(uid)
    else:
        uids.discard(uid)
