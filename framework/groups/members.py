"""The membership book: which pods belong to which group, whichever scheduler they name, and one record for each group.

The plugin feeds it from the pod informer and from Reserve, and the operator with pods that have ended, which the
informer leaves out. Pods that are being deleted do not count: their capacity is for their successors. Placements are
kept by UID, so a pod that changes its group or is deleted while it is being bound takes its placement along.

A pod that ends leaves the pod informer, and appears among the ended pods through another watch, in either order. In
between it is unaccounted for, and the counts of its group must not be reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from ..contract.group_view import JoiningPod
from ..model.pod_info import PodInfo
from .owners import GroupOwner, pod_owner
from .record import EndedMember, GroupRecord

R = TypeVar("R", bound=GroupRecord[Any])


class _Records(dict[str, R]):
    """Records by the key of their group. A group without a record gets an empty one, which is not stored."""

    def __init__(self, new: Callable[[str], R]) -> None:
        super().__init__()
        self._new = new

    def __missing__(self, group: str) -> R:
        return self._new(group)


class Members(Generic[R]):
    """The records of all groups, by `namespace/name` of the group, and the record of each pod's group, by its UID.

    Two groups of a pod are known: the group that its latest version names (`named_by`), and the group in which it is
    counted (`counted_in`), which is an earlier version's until `follow` is called. `group_key` reads the group that a
    pod names from the pod alone; `new` creates the record of a group.

    Attributes:
        record: returns a group's record; an empty one, which is not stored, for a group with neither object nor
            members. It is the lookup in the dict itself, because each decision on a group makes many of them.
    """

    def __init__(self, group_key: Callable[[PodInfo], str | None], new: Callable[[str], R]) -> None:
        self._group_key = group_key
        self._of_owner: dict[GroupOwner, str] = {}
        self._records = _Records(new)
        self._counted_in: dict[str, R] = {}
        self.record: Callable[[str], R] = self._records.__getitem__

    # The records.

    def records(self) -> Iterable[R]:
        """The records of all groups that have an object or members."""
        return self._records.values()

    def follow_group(self, group: str, found: Any) -> R:
        """The group has this object now, or none (None); its record."""
        record = self._listed(group)
        record.group = found
        self._discard_empty(record)
        return record

    def named_by(self, pod: PodInfo) -> str | None:
        """The group that this version of the pod names, or else the group of its owner; None for a pod in no group."""
        named = self._group_key(pod)
        return named if named is not None or not self._of_owner else self.owned(pod.pod)

    def owned(self, pod: JoiningPod) -> str | None:
        """The group of the pod's owner; None for a pod that names a group itself."""
        owner = pod_owner(pod) if self._of_owner else None
        return None if owner is None else self._of_owner.get(owner)

    def group_of_owner(self, owner: GroupOwner) -> str | None:
        """The group of an owner's pods."""
        return self._of_owner.get(owner)

    def own(self, owner: GroupOwner, group: str) -> None:
        """The owner's pods belong to this group from now on; those that are seen already have to be followed again."""
        self._of_owner[owner] = group

    def disown(self, owner: GroupOwner, group: str) -> None:
        """This is no longer the group of the owner's pods."""
        if self._of_owner.get(owner) == group:
            del self._of_owner[owner]

    def counted_in(self, pod: PodInfo) -> str | None:
        """The group in which the pod is counted; the pod's latest version may name another one."""
        record = self._counted_in.get(pod.uid)
        return None if record is None else record.key

    def record_of(self, pod: PodInfo) -> R | None:
        """The record of the group in which the pod is counted."""
        return self._counted_in.get(pod.uid)

    # What happens to members.

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> bool:
        """A pod that has not ended was added, changed or removed. Returns whether anything changed that counts."""
        gone = old is not None and (new is None or new.uid != old.uid) and self._leave(old, vanished=True)
        if new is None:
            return gone
        group = None if new.terminating else self.named_by(new)
        known_in, had_node, known = self._counted_in.get(new.uid), False, None
        if known_in is not None:
            known = known_in.pods[new.uid]
            if known_in.key != group:
                had_node = new.uid in known_in.placed
                self._leave(known, vanished=False)
        if group is None:
            return gone or known_in is not None
        record = self._counted_in[new.uid] = self._listed(group)
        record.enter(new, had_node=had_node)
        return gone or record is not known_in or known is None or _counted(known) != _counted(new)

    def follow_ended(self, uid: str, old: EndedMember | None, new: EndedMember | None) -> None:
        """A pod is known to have ended (`old` is None), changed its group, or was deleted after it (`new` is None)."""
        if old is not None:
            record = self._records[old.group]
            del record.ended[uid]
            self._discard_empty(record)
        if new is not None:
            record = self._listed(new.group)
            record.ended[uid] = new
            record.unaccounted.discard(uid)

    def write_off(self, group: str, uid: str) -> None:
        """The unaccounted member has not ended: it was deleted."""
        record = self.record(group)
        record.unaccounted.discard(uid)
        self._discard_empty(record)

    def count_placed(self, pod: PodInfo) -> None:
        """The member was reserved on a node."""
        record = self._counted_in.get(pod.uid)
        if record is not None:
            record.placed.add(pod.uid)

    def count_released(self, pod: PodInfo) -> None:
        """The member's reservation was released. A bound member keeps its node."""
        record = self._counted_in.get(pod.uid)
        if record is not None and pod.uid not in record.bound:
            record.placed.discard(pod.uid)

    def count_bound(self, pod: PodInfo) -> None:
        """The API accepted the member's binding."""
        record = self._counted_in.get(pod.uid)
        if record is not None:
            record.bound.add(pod.uid)

    def count_expired(self, pod: PodInfo) -> None:
        """The API accepted the member's binding but never reported it: the member has no node any more."""
        record = self._counted_in.get(pod.uid)
        if record is not None and not record.pods[pod.uid].node_name:
            record.placed.discard(pod.uid)
            record.bound.discard(pod.uid)

    def _listed(self, group: str) -> R:
        return self._records.setdefault(group, self.record(group))

    def _leave(self, pod: PodInfo, *, vanished: bool) -> bool:
        """Remove a pod from its group; returns whether it was in one. A pod that `vanished` may have ended."""
        record = self._counted_in.pop(pod.uid, None)
        if record is None:
            return False
        record.leave(pod.uid)
        if vanished and not pod.terminating and pod.uid not in record.ended:
            record.unaccounted.add(pod.uid)
        self._discard_empty(record)
        return True

    def _discard_empty(self, record: GroupRecord[Any]) -> None:
        if record.group is None and not record.has_members:
            self._records.pop(record.key, None)


def _counted(pod: PodInfo) -> tuple[object, ...]:
    """The data of a member that affect counts and owners."""
    return pod.node_name, pod.pod.status.phase, pod.pod.metadata.owner_references, bool(pod.pod.spec.scheduling_gates)
