"""VolumeRestrictions: disks that pods cannot share on a node, and claims that only one pod may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Handle,
    Hint,
    NodeView,
    PreFilterExtensions,
    PreFilterPlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.model.claims import READ_WRITE_ONCE_POD
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import claims_named_by, disks_of

from .hints import named_claim
from .storage import CLAIMS, Storage, no_claim

TAKEN = Status.unschedulable("node(s) had no available disk")
IN_USE = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


@dataclass(slots=True)
class _Conflicts:
    """The pod's ReadWriteOncePod claims, and how many pods on nodes use them."""

    claims: frozenset[str]
    uses: int

    def clone(self) -> _Conflicts:
        return replace(self)


class VolumeRestrictions(PreFilterPlugin[None], PreFilterExtensions[None], FilterPlugin[None], EnqueueExtensions[None]):
    """Filters by disks on the node and by ReadWriteOncePod claims anywhere."""

    name = "VolumeRestrictions"
    watches = (CLAIMS,)

    _table = StatusTable([TAKEN, IN_USE])

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._storage = Storage(handle)

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the pod has volumes."""
        return bool(pod.pod.spec.volumes)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips the filter for pods whose volumes cannot conflict with others. A missing claim rejects the pod."""
        claims = set()
        for name in claims_named_by(pod.pod):
            claim = self._storage.claim(f"{pod.namespace}/{name}")
            if claim is None:
                return Status.unresolvable(no_claim(name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                claims.add(name)
        volumes = self.handle.snapshot.volumes
        uses = sum(volumes.in_use(f"{pod.namespace}/{name}") for name in claims)
        if not uses and not disks_of(pod.pod):
            return Status.skip()
        state.write(self.name, _Conflicts(frozenset(claims), uses))
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> None:
        """Count one more pod that uses the claims."""
        self._count(state, added, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> None:
        """Count one pod less that uses the claims."""
        self._count(state, removed, -1)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Rejects nodes for disks first, then for claims."""
        conflicts = state.get(self.name)
        in_use = isinstance(conflicts, _Conflicts) and conflicts.uses > 0
        codes = np.full(len(nodes), self._table.number(IN_USE) if in_use else 0, np.int32)
        taken = nodes.snapshot.volumes.conflicting_rows(disks_of(pod.pod))
        if taken:
            codes[nodes.mask_of(taken)] = self._table.number(TAKEN)
        return Verdicts(codes, self._table)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Removed pods with a disk or claim, new nodes, and claims that were missing."""
        return [
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), _gave_back),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),
            EventRegistration(ClusterEvent(CLAIMS, Action.ADD), named_claim),
        ]

    def _count(self, state: CycleState, other: PodInfo, sign: int) -> None:
        conflicts = state.get(self.name)
        if isinstance(conflicts, _Conflicts):
            conflicts.uses += sign * sum(name in conflicts.claims for name in claims_named_by(other.pod))


def _gave_back(pod: PodInfo, old: PodInfo, new: None) -> Hint:
    if old.namespace != pod.namespace:
        return Hint.SKIP
    given_back = disks_of(old.pod)
    clash = any(
        wanted.disk == used.disk and (wanted.exclusive or used.exclusive)
        for wanted in disks_of(pod.pod)
        for used in given_back
    )
    same = not set(claims_named_by(pod.pod)).isdisjoint(claims_named_by(old.pod))
    return Hint.queue_if(clash or same)
