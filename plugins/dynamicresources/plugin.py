"""DynamicResources: allocates the devices that pods claim, and rejects nodes that cannot provide them.

Deciding reads state and changes nothing. Reserve records the decision, so that the next pod does not get the same
devices; PreBind writes it into the claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from muster.framework.authoring import normalize_to_highest
from muster.framework.contract import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    DecisionFollower,
    Diagnosis,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    GroupDecision,
    Handle,
    Hint,
    NodeView,
    ObjectFollower,
    PodDecision,
    PodFollower,
    PodInfo,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    Scores,
    Status,
    StatusTable,
    Verdicts,
    WatchedKind,
)
from muster.framework.contract.arguments import DynamicResourcesArgs
from muster.framework.contract.recorded import RecordedContents
from muster.framework.model.devices import DEVICES_API, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice

from .binding import ClaimWriter
from .claiming import Claiming, ClaimPlan
from .consumers import itself
from .deallocation import blocking
from .extended import asks_for_devices, backed, claim_for, in_memory, resources_of
from .hints import claim_changed, pod_changed
from .nodes import NodeJudge
from .problem import check_classes, selector_characters
from .references import ClaimError, claims_of, referred_claims
from .renaming import renamed
from .results import allocation_of
from .shared import SharedDRAManager

TAINT_RULE = "DeviceTaintRule"
_NOT_ASKED = Status.failure("not found")
_NO_CLAIMS = Claiming([])
MOST_CHARACTERS = 10 * 1024
"""The maximal length of the selectors in a pod's claims: the API's limit for one. Five hundred take a millisecond to
compile.
"""
_TOO_LONG = f"too many characters in selectors of the resource claims: at most {MOST_CHARACTERS}"

_CLAIMS = WatchedKind(EventResource.RESOURCE_CLAIM, f"{DEVICES_API}/resourceclaims", ResourceClaim, optional=True)


class DynamicResources(
    PreEnqueuePlugin[DynamicResourcesArgs],
    PreFilterPlugin[DynamicResourcesArgs],
    FilterPlugin[DynamicResourcesArgs],
    PostFilterPlugin[DynamicResourcesArgs],
    ScorePlugin[DynamicResourcesArgs],
    ReservePlugin[DynamicResourcesArgs],
    PreBindPlugin[DynamicResourcesArgs],
    EnqueueExtensions[DynamicResourcesArgs],
    ObjectFollower[DynamicResourcesArgs],
    PodFollower[DynamicResourcesArgs],
    DecisionFollower[DynamicResourcesArgs],
):
    """Allocates devices for claims of the pod, and for extended resources that device classes stand for."""

    name = "DynamicResources"
    args_model = DynamicResourcesArgs
    recorded = RecordedContents(expression=renamed)
    watches = (
        _CLAIMS,
        WatchedKind(EventResource.DEVICE_CLASS, f"{DEVICES_API}/deviceclasses", DeviceClass, optional=True),
        WatchedKind(EventResource.RESOURCE_SLICE, f"{DEVICES_API}/resourceslices", ResourceSlice, optional=True),
        WatchedKind(TAINT_RULE, f"{DEVICES_API}/devicetaintrules", DeviceTaintRule, optional=True),
    )

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        given = args or DynamicResourcesArgs()
        self._devices = handle.shared(self.name, lambda: SharedDRAManager(handle))
        self._judge = NodeJudge(self.name, self._devices, handle, given)
        self._writer = ClaimWriter(self._devices.claims, handle, given.binding_timeout)
        self._passes = StatusTable()

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Follows devices, classes and claims."""
        self._devices.changed(old, new)

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Notes pods with nodes, which keep the claims that are reserved for their group."""
        self._devices.consumers.follow(old, new)

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        """Notes that the pod has no node any more."""
        self._devices.consumers.displace(pod)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A pod waits until all claims that it refers to can be used."""
        if not pod.pod.spec.resource_claims:
            return None
        try:
            claims_of(pod, self._devices.claims.get)
        except ClaimError as error:
            return Status.unresolvable(str(error))
        return None

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the pod claims devices or requests a resource that devices may back."""
        return bool(pod.pod.spec.resource_claims or asks_for_devices(pod))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Finds the pod's claims. Rejects the pod if one of them can be used on no node."""
        state.write(self.name, _NO_CLAIMS)
        try:
            referred = referred_claims(pod, self._devices.claims.get) if pod.pod.spec.resource_claims else []
        except ClaimError as error:
            return Status.unresolvable(str(error))
        claims = [claim for _, claim in referred]
        unallocated = (claim.spec.devices for claim in claims if claim.allocation is None)
        if selector_characters(unallocated, MOST_CHARACTERS) > MOST_CHARACTERS:
            return Status.unresolvable(_TOO_LONG)
        consumers = self._devices.consumers
        claiming = Claiming(claims, [consumers.consumer(pod, reference) for reference, _ in referred])
        self._add_extended(pod, claiming)
        if not claiming.claims:
            return Status.skip()
        for at, claim in enumerate(claiming.claims):
            if claim.allocation is None and (reason := self._obstacle(state, claiming, at)):
                return Status.unresolvable(reason)
        state.write(self.name, claiming)
        return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Whether the node can use the allocated claims, and the others can be allocated there."""
        claiming = _claiming(state)
        if claiming is None:
            return Verdicts.all_pass(len(nodes), self._passes)
        return self._judge.verdicts(pod, claiming, nodes, state.long_work)

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """Names a claim that some node could not use: without its allocation the pod may find a node.

        A pod that another plugin's PreFilter rejected is an error to kube-scheduler's plugin, with these words.
        """
        if state.get(self.name) is None and not state.skips_filter(self.name):
            return None, _NOT_ASKED
        claiming = _claiming(state)
        found = None if claiming is None else blocking(pod, claiming, self._devices.consumers)
        if found is None:
            return None, Status.unschedulable()
        what = "deletion" if claiming is not None and found is claiming.extended_claim else "deallocation"
        return None, Status.unschedulable(f"{what} of ResourceClaim completed")

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Deallocate the claims that PostFilter named, for a pod that found no node."""
        if decision.status is not None:
            self._free([decision])

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Deallocate the claims that PostFilter named for members, and those of the group if no member has a node."""
        if decision.status is not None:
            self._free(decision.members)

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        """Scores early alternatives of a request higher than late ones."""
        claiming = _claiming(state)
        return np.zeros(len(nodes), np.int64) if claiming is None else self._judge.scores(pod, claiming, nodes)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        """Scales the scores to per cent of the highest."""
        return normalize_to_highest(scores)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Notes in memory which devices are allocated for the pod."""
        claiming = _claiming(state)
        if claiming is None:
            return None
        self._devices.consumers.place(pod, claiming.user_claims)
        if not claiming.to_allocate and not claiming.shared:
            return None
        row = self.handle.snapshot.live_row_of(node_name)
        if row is None:
            return Status.failure("claim allocation not found for node")
        combination = self._judge.combination(claiming, row)
        variant = self._judge.variant(pod, claiming, combination)
        allocations = dict(claiming.shared)
        if variant.answers is not None and (combination or claiming.has_user_claims):
            solved = variant.answers.solve(row)
            if solved is None:
                return Status.failure("claim allocation not found for node")
            site, solution = solved
            for (at, claim), asked, choices in zip(
                variant.claims, variant.answers.problem.claims, solution, strict=True
            ):
                allocations[at] = allocation_of(claim, asked, choices, site)
        uids: dict[int, str] = {}
        for at in sorted(allocations):  # a claim that the pod names twice is allocated once
            uid = claiming.claims[at].metadata.uid
            if uid in uids.values():
                del allocations[at]
            else:
                uids[at] = uid
        claiming.plan = ClaimPlan(allocations, uids, variant)
        for at, allocation in allocations.items():
            self._devices.claims.reserve(uids[at], allocation, pod.uid, state.group)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Forgets what Reserve noted, and reverts what PreBind wrote, in an earlier process, too."""
        claiming = _claiming(state)
        if claiming is None:
            return
        self._devices.consumers.displace(pod, claiming.user_claims)
        if claiming.plan is not None:
            for uid in claiming.plan.uids.values():
                self._devices.claims.release(uid, pod.uid)
            claiming.plan = None
        written = [(at, claiming.claims[at]) for at in sorted(claiming.written)]
        own = [claim for at, claim in written if at == claiming.extended or claim.reserved_for(pod.uid)]
        if own:
            self.handle.spawn(self._writer.take_back(pod, own))
        claiming.written.clear()

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Skips PreBind for a pod without claims."""
        return Status.skip() if _claiming(state) is None else None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Writes allocations and reservations, and waits until the devices are ready."""
        claiming = _claiming(state)
        if claiming is None:
            return None
        status = await self._writer.bind(pod, claiming, node_name)
        if status is None:
            self._devices.consumers.reserved(pod, claiming.user_claims)
        return status

    def planned(self, state: CycleState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
        """`allocation`: the node, and the devices of each claim."""
        claiming = _claiming(state)
        if claiming is None:
            return {}
        plans = {} if claiming.plan is None else claiming.plan.allocations
        claims = {
            claim.metadata.name: [
                {"request": each.request, "driver": each.driver, "pool": each.pool, "device": each.device}
                for each in allocation.devices.results
            ]
            for at, claim in enumerate(claiming.claims)
            if (allocation := plans.get(at, claim.allocation)) is not None
        }
        return {"allocation": {"node": node_name, "claims": claims}} if claims else {}

    def events_to_register(self) -> Sequence[EventRegistration]:
        """New or changed nodes, classes and devices, released devices, and changes of the pod's claims.

        The devices of a pod that is not bound after all are free without a change of any claim.
        """
        get = self._devices.claims.get

        def claim(pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None) -> Hint:
            return claim_changed(pod, old, new, get)

        def itself(pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> Hint:
            return pod_changed(new, get)

        def gave_back(pod: PodInfo, old: PodInfo, new: None) -> Hint:
            return Hint.queue_if(not old.node_name and self.concerns(old))

        node = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        came_or_changed = Action.ADD | Action.UPDATE
        return [
            EventRegistration(ClusterEvent(EventResource.NODE, node)),
            EventRegistration(ClusterEvent(_CLAIMS, came_or_changed | Action.DELETE), claim),
            EventRegistration(
                ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM), itself
            ),
            EventRegistration(ClusterEvent(EventResource.DEVICE_CLASS, came_or_changed)),
            EventRegistration(ClusterEvent(EventResource.RESOURCE_SLICE, came_or_changed)),
            EventRegistration(ClusterEvent(TAINT_RULE, came_or_changed | Action.DELETE)),
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), gave_back, of_gated=False),
        ]

    def _add_extended(self, pod: PodInfo, claiming: Claiming) -> None:
        """Add the claim for extended resources, where devices back any."""
        resources = resources_of(pod)
        if not backed(resources, self._devices.classes):
            return
        claiming.resources = resources
        claiming.extended = len(claiming.claims)
        claiming.claims.append(self._devices.claims.extended_claim_of(pod.uid) or claim_for(pod))
        claiming.consumers.append(itself(pod))

    def _obstacle(self, state: CycleState, claiming: Claiming, at: int) -> str:
        """Why nothing can be allocated for the claim on any node; "" for nothing. Notes an allocation to share."""
        claim = claiming.claims[at]
        pending = self._devices.claims.pending(claim.metadata.uid)
        if pending is not None:
            if not state.group or pending.group != state.group:
                return f"resource claim {claim.key} is in the process of being allocated"
            claiming.shared[at] = pending.allocation
            return ""
        return "" if at == claiming.extended else check_classes(claim, self._devices.classes)

    def _free(self, decisions: Iterable[PodDecision]) -> None:
        """Release the claims that PostFilter named for pods without nodes, or else those of their idle groups."""
        claims, consumers = self._devices.claims, self._devices.consumers
        for decision in decisions:
            claiming = _claiming(decision.state)
            if claiming is None or (decision.status is not None and decision.status.code is Code.ERROR):
                continue
            found = blocking(decision.pod, claiming, consumers)
            if found is None:
                group = consumers.idle_group(decision.pod)
                for claim in claiming.claims:
                    if claim.reserved_for(group) and claims.unreserve(claim, group):
                        self.handle.spawn(self._writer.leave(claim, group))
            elif found is claiming.extended_claim:
                self.handle.spawn(self._writer.delete(found))
            elif claims.unreserve(found):
                self.handle.spawn(self._writer.deallocate(found))


def _claiming(state: CycleState) -> Claiming | None:
    found = state.get(DynamicResources.name)
    return found if isinstance(found, Claiming) and found.claims else None


__all__ = ["DynamicResources", "in_memory"]
