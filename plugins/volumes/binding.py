"""VolumeBinding: binds claims that wait for their first consumer to volumes; bound claims restrict the nodes.

Filter searches, Reserve assumes in the ledger, Unreserve reverts, and PreBind writes and waits until the volume
controllers are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from muster.framework.contract import (
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    FilterPlugin,
    Handle,
    Mask,
    NodeView,
    ObjectFollower,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Scores,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.arguments import VolumeBindingArgs
from muster.framework.model.claims import (
    LOST,
    WAIT_FOR_FIRST_CONSUMER,
    class_of_claim,
    fully_bound,
    made_for,
    not_made_for,
)
from muster.framework.model.label_selector import LabelSelector
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import mounts_of
from muster.framework.model.volumes import PersistentVolumeClaim, StorageClass

from .accessible import Numbers
from .assume_cache import OutOfSync
from .binding_hints import REGISTRATIONS
from .finding import REASONS, Finder, FoundVolumes, PodClaims
from .ledger import VolumeLedger
from .prebinding import VolumeBinder, VolumeBindingFailed
from .reserving import VolumeReservation, assume, give_back
from .scoring import StorageScore
from .storage import CAPACITIES, CLAIMS, CLASSES, CSI_DRIVERS, CSI_NODES, VOLUMES, Storage, no_claim
from .wakeups import Wakeups

MOST_PARTS = 2_000
"""The maximal size of selectors of a pod's claims that wait for their first consumer: each attempt reads them."""
_PARTS = "labels and values in selectors of persistent volume claims"
UNBOUND = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")


def _parts(selector: LabelSelector | None) -> int:
    if selector is None:
        return 0
    return len(selector.match_labels) + sum(1 + len(each.values) for each in selector.match_expressions)


@dataclass(slots=True)
class _Attempt:
    """The knowledge of an attempt about the pod's volumes.

    Attributes:
        claims: the pod's claims.
        rows: intp, shape (nodes,): the nodes that were asked about last, ascending.
        found: what was found for them.
        reservation: what Reserve assumed.
    """

    claims: PodClaims
    rows: Numbers = field(default_factory=lambda: np.zeros(0, np.intp))
    found: FoundVolumes | None = None
    reservation: VolumeReservation | None = None

    def found_for(self, nodes: NodeView) -> FoundVolumes | None:
        """The findings for these nodes, if all of them were asked about last."""
        wanted = nodes.indices()
        indices = np.searchsorted(self.rows, wanted)
        if self.found is None or indices.max(initial=0) >= len(self.rows) or (self.rows[indices] != wanted).any():
            return None
        return self.found if len(wanted) == len(self.rows) else self.found.at(indices)


class VolumeBinding(
    PreFilterPlugin[VolumeBindingArgs],
    FilterPlugin[VolumeBindingArgs],
    PreScorePlugin[VolumeBindingArgs],
    ScorePlugin[VolumeBindingArgs],
    ReservePlugin[VolumeBindingArgs],
    PreBindPlugin[VolumeBindingArgs],
    EnqueueExtensions[VolumeBindingArgs],
    ObjectFollower[VolumeBindingArgs],
):
    """Filters by where volumes are or can be made, scores by the storage that they use, and binds them."""

    name = "VolumeBinding"
    filter_depends_on = DependsOn.OBJECTS
    args_model = VolumeBindingArgs
    watches = (CLAIMS, VOLUMES, CLASSES, CSI_NODES, CSI_DRIVERS, CAPACITIES)

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        given = args or VolumeBindingArgs()
        super().__init__(given, handle)
        self._table = StatusTable()
        self._storage = Storage(handle)
        self._ledger = handle.shared(self.name, lambda: VolumeLedger(self._storage, Wakeups(handle)))
        self._finder = Finder(self._storage, self._ledger)
        self._score = StorageScore(given.shape, self._ledger)
        self._binder = VolumeBinder(handle, self._storage, self._ledger, given.bind_timeout_seconds)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """The ledger follows."""
        self._ledger.follow(resource, old, new)

    def concerns(self, pod: PodInfo) -> bool:
        """Nothing is bound for a pod without volumes."""
        return bool(pod.pod.spec.volumes)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods without claims; turns away those with claims that cannot be had by choosing a node."""
        if not mounts_of(pod.pod):
            return Status.skip()
        obstacle = self._obstacle(pod)
        if obstacle:
            return Status.unresolvable(obstacle)
        claims = self._sort_out(pod)
        if isinstance(claims, Status):
            return claims
        parts = sum(_parts(claim.spec.selector) for claim, _ in claims.delayed)
        if parts > MOST_PARTS:
            return Status.unresolvable(f"too many {_PARTS}: {parts}, at most {MOST_PARTS}")
        state.write(self.name, _Attempt(claims))
        return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """All that is in the way is named."""
        attempt = state.read(self.name, _Attempt)
        found = self._finder.find(attempt.claims, nodes)
        attempt.rows, attempt.found = nodes.indices(), found
        bits, numbers = np.unique(found.reasons, return_inverse=True)
        codes = np.array([self._number(each) for each in bits.tolist()], np.int32)[numbers]
        for text, where in reversed(found.errors):
            codes[where] = self._table.number(Status.failure(text))
        if found.errors:
            self.handle.metrics.volume_stage_errors.add(("predicate",), int(found.failed().sum()))
        return Verdicts(codes.astype(np.int32), self._table)

    def accepts_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        """The nodes without an obstacle: other pods matter by what is reserved for them, not by their nodes."""
        found = self._finder.find(state.read(self.name, _Attempt).claims, nodes)
        accepted: Mask = (found.reasons == 0) & ~found.failed()
        return accepted

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips for pods that leave no choice of storage."""
        attempt = state.get(self.name)
        return None if isinstance(attempt, _Attempt) and attempt.claims.delayed else Status.skip()

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """The score by the use of the storage on each node."""
        attempt = state.read(self.name, _Attempt)
        found = attempt.found_for(nodes) or self._finder.find(attempt.claims, nodes)
        return self._score.of(found, len(nodes))

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Assumes what the pod gets on the node."""
        attempt = state.get(self.name)
        if not isinstance(attempt, _Attempt) or not attempt.claims.delayed:
            return None
        row = self.handle.snapshot.live_row_of(node_name)
        if row is None:
            return Status.unresolvable(f'nodeinfo not found for node name "{node_name}"')
        found = self._finder.find(attempt.claims, NodeView(self.handle.snapshot, np.array([row], np.intp)))
        if found.errors:
            return Status.failure(found.errors[0][0])
        if found.reasons[0]:
            return Status.unschedulable(*_reasons(int(found.reasons[0])))
        try:
            attempt.reservation = assume(self._ledger, pod, node_name, found)
        except OutOfSync as error:
            self.handle.metrics.volume_stage_errors.add(("assume",))
            return Status.failure(str(error))
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Gives back what is not written."""
        attempt = state.get(self.name)
        if isinstance(attempt, _Attempt) and attempt.reservation is not None:
            give_back(self._ledger, pod, attempt.reservation)
            attempt.reservation = None

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Skips for pods whose volumes were bound before."""
        attempt = state.get(self.name)
        reserved = isinstance(attempt, _Attempt) and attempt.reservation is not None
        return None if reserved else Status.skip()

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Writes what was assumed, and waits until the volumes are bound."""
        attempt = state.read(self.name, _Attempt)
        if attempt.reservation is not None:
            try:
                await self._binder.bind(pod, node_name, attempt.reservation)
            except VolumeBindingFailed as error:
                self.handle.metrics.volume_stage_errors.add(("bind",))
                return Status.failure(str(error))
        return None

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Events that may bring a volume, or a node that can reach it."""
        return REGISTRATIONS

    def _obstacle(self, pod: PodInfo) -> str:
        """The reason why the pod's claims cannot be used at all; empty if they can."""
        for name, ephemeral in mounts_of(pod.pod):
            claim = self._storage.claim(f"{pod.namespace}/{name}")
            if claim is None and ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            if claim is None:
                return no_claim(name)
            if claim.status.phase == LOST:
                volume = claim.spec.volume_name
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            if claim.metadata.deletion_timestamp is not None:
                return f'persistentvolumeclaim "{name}" is being deleted'
            if ephemeral and not made_for(claim, pod):
                return not_made_for(claim, pod)
        return ""

    def _sort_out(self, pod: PodInfo) -> PodClaims | Status:
        """The pod's claims, which are all there; a Status when there is nothing to be done for one of them here."""
        bound: list[PersistentVolumeClaim] = []
        delayed: list[tuple[PersistentVolumeClaim, StorageClass]] = []
        immediate = False
        for name, _ in mounts_of(pod.pod):
            claim = self._ledger.claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                continue
            if fully_bound(claim):
                bound.append(claim)
                continue
            storage_class = self._storage.storage_class(class_of_claim(claim))
            mode = WAIT_FOR_FIRST_CONSUMER if storage_class is None else storage_class.volume_binding_mode
            if mode is None:
                return Status.failure(f'VolumeBindingMode not set for StorageClass "{class_of_claim(claim)}"')
            if storage_class is None or mode != WAIT_FOR_FIRST_CONSUMER or claim.spec.volume_name:
                immediate = True
            else:
                delayed.append((claim, storage_class))
        return UNBOUND if immediate else PodClaims(bound, delayed)

    def _number(self, reasons: int) -> int:
        return self._table.number(Status.unresolvable(*_reasons(reasons))) if reasons else 0


def _reasons(bits: int) -> list[str]:
    return [reason for index, reason in enumerate(REASONS) if bits >> index & 1]
