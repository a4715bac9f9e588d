"""Crews: pods with the same label `example.com/crew` start together; `example.com/crew-size` is their number."""

from collections.abc import Iterable, Sequence
from typing import Any

from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    GroupPlugin,
    Handle,
    Hint,
    NoDomain,
    PodFollower,
    PodInfo,
    ReservePlugin,
    Status,
)
from muster.framework.groups import GroupRecord, Members

CREW = "example.com/crew"
SIZE = "example.com/crew-size"


def crew_of(pod: PodInfo) -> str | None:
    """`namespace/name` of the pod's crew; None for a pod without one."""
    name = pod.labels.get(CREW)
    return f"{pod.namespace}/{name}" if name else None


class Crews(GroupPlugin, ReservePlugin, PodFollower, EnqueueExtensions):
    """A group plugin whose groups have no object in the API: labels of pods define them.

    `Members` knows the pods of each crew and which of them have nodes. The plugins of all profiles share it, so members
    may name different schedulers. Muster tries the waiting members of a crew together, and binds all or none.
    """

    name = "Crews"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._members: Members[GroupRecord[Any]] = handle.shared(self.name, lambda: Members(crew_of, GroupRecord))

    # The members, and which of them have nodes.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        self._members.follow(old, new)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        self._members.count_placed(pod)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._members.count_released(pod)

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        self._members.count_expired(pod)

    # The group: which it is, what it lacks, and why it does not fit.

    def group_of(self, pod: PodInfo) -> str | None:
        crew = crew_of(pod)
        return crew if crew is not None and self.missing(crew) > 0 else None

    def missing(self, group: str) -> int:
        return self._size(group) - len(self._members.record(group).placed)

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        return self._members.record(group).placed_pods()

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        return Status.unschedulable(f"{placed} of {missing} pods of crew {group} fit: {cause.message}")

    def events_to_register(self) -> Sequence[EventRegistration]:
        """A new or larger node, the end of a pod, and a further member may help a crew."""
        return [
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)),
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)),
            EventRegistration(ClusterEvent(EventResource.UNSCHEDULED_POD, Action.ADD), is_of_the_crew),
        ]

    def _size(self, group: str) -> int:
        return max((int(pod.labels.get(SIZE, "1")) for pod in self._members.record(group).pods.values()), default=0)


def is_of_the_crew(pod: PodInfo, old: PodInfo | None, new: PodInfo) -> Hint:
    """Whether the added pod belongs to the waiting pod's crew."""
    return Hint.queue_if(crew_of(pod) == crew_of(new))
