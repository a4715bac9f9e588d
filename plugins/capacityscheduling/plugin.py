"""CapacityScheduling: shares of the cluster between namespaces, by ElasticQuotas.

The catalog puts it into every profile; without an ElasticQuota it changes no decision. Deciding reads the ledger of
what quotas use, which follows from the snapshot, so there is nothing to reserve or to give back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from muster.framework.contract import (
    QUOTA_EXCEEDED,
    REJECTED_AS_ONE,
    Action,
    ClusterEvent,
    CycleState,
    DecisionFollower,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    EvictionRule,
    EvictionRulePlugin,
    FilterPlugin,
    GroupDecision,
    Hint,
    Mask,
    Node,
    NodeView,
    ObjectFollower,
    PodDecision,
    PodFollower,
    PodInfo,
    PreemptionHandle,
    PreemptionPlugin,
    PreFilterPlugin,
    Status,
    StatusTable,
    TenantOrderPlugin,
    Verdicts,
    WaitingTogether,
)

from .api import ELASTIC_QUOTAS, NAME, RECORDED, ElasticQuota
from .borrowing import QuotaRejection, is_guaranteed, need_of, need_of_one, needed_at_once, rejection_of
from .claims import Claims
from .ledger import QuotaLedger
from .nominated import NOTHING_NOMINATED, Nominated, nominated_beside
from .shared import SharedQuotas, decide_alike
from .tree import Amounts, Quota

KEPT_OFF = "node(s) had capacity that is being freed for namespaces below the min of their quota"
OVER_QUOTA = "node(s) were left alone because the quota of the namespace is used up"
_SKIP = Status.skip()
_OVER_QUOTA, _KEPT_OFF = 1, 2
_HELPFUL: tuple[ClusterEvent, ...] = (
    ClusterEvent(ELASTIC_QUOTAS, Action.ADD | Action.UPDATE | Action.DELETE),
    ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
    ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
)


@dataclass(frozen=True, slots=True)
class _Note:
    """The results of PreFilter that Filter reads.

    Attributes:
        quota: the quota of the pod's namespace.
        need: what the pod requests.
        nominated: the amounts committed to nominated pods.
        binding: whether the quota has to be asked again, because pods may come back that a trial has removed.
        yields: whether the pod has to leave alone what is being freed for claims.
    """

    quota: Quota
    need: Amounts
    nominated: Nominated
    binding: bool
    yields: bool


class CapacityScheduling(
    PreFilterPlugin,
    FilterPlugin,
    EnqueueExtensions,
    ObjectFollower,
    DecisionFollower,
    PodFollower,
    EvictionRulePlugin,
    TenantOrderPlugin,
    PreemptionPlugin,
):
    """Lets pods wait for quota, and says whose pods go first, and what may be evicted for whom."""

    name = NAME
    watches = (ELASTIC_QUOTAS,)
    recorded = RECORDED
    rejects_alike = True

    def __init__(self, args: None, handle: PreemptionHandle) -> None:
        super().__init__(args, handle)
        self._shared = handle.shared(self.name, lambda: SharedQuotas(handle))
        self._claims = Claims(handle, lambda: self._shared.ledger)
        self._table = StatusTable([Status.unschedulable(OVER_QUOTA), Status.unschedulable(KEPT_OFF)])
        self._last_together: tuple[WaitingTogether | None, Amounts] = (None, {})

    # Quotas.

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Makes the tree anew, unless only the status has changed, and retries pods that may evict others now."""
        before = old if isinstance(old, ElasticQuota) else None
        after = new if isinstance(new, ElasticQuota) else None
        self.handle.snapshot.usage()
        changed = self._shared.changed(before, after)
        self._shared.statuses.changed()
        if changed and self._shared.short:
            self.handle.activate({pod.key: pod for pod in self._shared.short.values()})

    # The queue.

    def tenants_moved(self) -> Sequence[str] | None:
        """See `Turns`."""
        return self._shared.turns.moved(self._shared.ledger)

    def tenant_of(self, namespace: str) -> str:
        """The namespace, if it has a quota."""
        return namespace if namespace in self._shared.ledger.tree.by_namespace else ""

    def turn_of(self, tenant: str, pod: PodInfo) -> tuple[float, ...]:
        """See `Turns`."""
        return self._shared.turns.turn_of(tenant, pod, self._shared.ledger)

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Rejects a pod that quotas do not let in, and the first member of a gang if they do not let in its quorum."""
        ledger = self._shared.ledger
        quota = ledger.tree.by_namespace.get(pod.namespace)
        if quota is None:
            return _SKIP
        together = state.get(WaitingTogether.KEY)
        gang = together if isinstance(together, WaitingTogether) else None
        nominated = self._nominated(pod, gang)
        need = need_of_one(pod)
        as_one = gang is not None and gang.missing > 1 and gang.pods[0].uid == pod.uid
        wanted = needed_at_once(gang.pods, gang.missing) if as_one and gang is not None else need
        rejection = rejection_of(quota, wanted, ledger.used, ledger.tree.lent, ahead=nominated.ahead)
        binding = rejection is not None or self._binds(quota, need, gang, nominated)
        if not (binding or nominated.claims):
            return _SKIP
        state.write(NAME, _Note(quota, need, nominated, binding, bool(nominated.claims)))
        if rejection is None:
            return None
        if as_one:
            state.write(REJECTED_AS_ONE, True)
        return Status.unschedulable(rejection.told(pod.namespace)).with_condition_reason(QUOTA_EXCEEDED)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Asks the quota again where a trial may have changed what is used; keeps others off what claims free."""
        note = state.get(NAME)
        if not isinstance(note, _Note):
            return Verdicts.all_pass(len(nodes), self._table)
        codes = np.zeros(len(nodes), np.int32)
        nominated = note.nominated.beside_trial(self._shared.ledger)
        if note.binding and self._rejection(note.quota, note.need, nominated) is not None:
            codes[:] = _OVER_QUOTA
        elif note.yields and not self._is_guaranteed(note, nominated):
            codes[self._claimed(note, nodes)] = _KEPT_OFF
        return Verdicts(codes, self._table)

    def eviction_rule(self, members: Sequence[PodInfo], missing: int, priority: int) -> EvictionRule | None:
        """See `Claims`."""
        return self._claims.rule(members, missing, priority)

    def may_claim(self, pods: Sequence[PodInfo], missing: int) -> bool:
        """See `Claims`."""
        return self._claims.may_claim(pods, missing)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Quotas that change, and pods that leave or shrink: of any namespace, because quotas lend to one another.

        Nodes help only pods that were kept off what claims free.
        """
        return [
            *(
                EventRegistration(event, self._is_let_in, by_class=True, by_group=True, of_gated=False)
                for event in _HELPFUL
            ),
            EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)),
        ]

    def _is_let_in(self, pod: PodInfo, old: object | None, new: object | None) -> Hint:
        """QUEUE if quotas would let the pod in now, or may after evictions, as quotas are used less."""
        if isinstance(old, ElasticQuota) and isinstance(new, ElasticQuota) and decide_alike(old, new):
            return Hint.SKIP
        by_namespace = self._shared.ledger.tree.by_namespace
        quota = by_namespace.get(pod.namespace)
        if quota is None or self._rejection(quota, need_of_one(pod), self._nominated(pod, None)) is None:
            return Hint.QUEUE
        is_of_use = old.namespace in by_namespace if isinstance(old, PodInfo) else not isinstance(new, Node)
        priority = self.handle.nominator.priority_of(pod)
        return Hint.queue_if(is_of_use and any(other < priority for other in self.handle.snapshot.priorities))

    def _rejection(self, quota: Quota, need: Amounts, nominated: Nominated) -> QuotaRejection | None:
        return rejection_of(quota, need, self._shared.ledger.used, self._shared.ledger.tree.lent, ahead=nominated.ahead)

    def _is_guaranteed(self, note: _Note, nominated: Nominated) -> bool:
        ledger = self._shared.ledger
        return is_guaranteed(note.quota, note.need, ledger.used, ledger.tree.lent, ahead=nominated.ahead)

    def _nominated(self, pod: PodInfo, gang: WaitingTogether | None) -> Nominated:
        nominations = [*self.handle.nominator.nominations()]
        if not nominations:
            return NOTHING_NOMINATED
        own = frozenset() if gang is None else {each.uid for each in gang.pods}
        return nominated_beside(pod, own, nominations, self._shared.ledger)

    def _binds(self, quota: Quota, need: Amounts, gang: WaitingTogether | None, nominated: Nominated) -> bool:
        """Whether the quota would reject the pod, or its gang, if all pods came back that a trial has removed."""
        ledger = self._shared.ledger
        if not ledger.any_removed:
            return False
        if gang is not None:
            need = self._need_together(gang)
        return rejection_of(quota, need, ledger.refilled, ledger.tree.lent, ahead=nominated.ahead) is not None

    def _need_together(self, gang: WaitingTogether) -> Amounts:
        """The requests of all waiting members, more of which than needed may be placed; kept for the other members."""
        known, need = self._last_together
        if known is not gang:
            need = need_of(gang.pods)
            self._last_together = gang, need
        return need

    def _claimed(self, note: _Note, nodes: NodeView) -> Mask:
        """bool, shape (nodes,): nodes on which the pod would take what is being freed for claims."""
        snapshot, found = nodes.snapshot, np.zeros(len(nodes), np.bool_)
        rows = nodes.indices()
        resources = snapshot.resources
        for node_name, claimed in note.nominated.claims.items():
            row = snapshot.live_row_of(node_name)
            at = np.flatnonzero(rows == row) if row is not None else ()
            if row is not None and len(at):
                found[at] = any(
                    resources.amount(resources.allocatable, name, row)
                    - resources.amount(resources.requested, name, row)
                    - claimed.get(name, 0)
                    < amount
                    for name, amount in note.need.items()
                    if name in claimed
                )
        return found

    # Following decisions.

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Notes pods that lack capacity on nodes; a placed pod is used from now on."""
        if not self._shared.objects:
            return
        self._shared.statuses.changed()
        ledger = self._shared.ledger
        self._follow((decision,), ledger)
        if decision.status is None:
            self._shared.turns.placed((decision.pod.namespace,), ledger)

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Notes members of a group that lack capacity on nodes; those that were placed are used from now on."""
        if not self._shared.objects:
            return
        self._shared.statuses.changed()
        ledger = self._shared.ledger
        self._follow(decision.members, ledger)
        if decision.status is None:
            self._shared.turns.placed({each.pod.namespace for each in decision.members}, ledger)

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Follows usage, which may have changed. A pod that has a node or is gone waits no more."""
        if self._shared.objects:
            self._shared.statuses.changed()
        if self._shared.short and (pod := old or new) is not None and (new is None or new.node_name):
            self._shared.short.pop(pod.uid, None)

    def _follow(self, decisions: Iterable[PodDecision], ledger: QuotaLedger) -> None:
        by_namespace, short = ledger.tree.by_namespace, self._shared.short
        for each in decisions:
            status = each.status
            if status is not None and status.rejected and not status.condition_reason:
                if each.pod.namespace in by_namespace:
                    short[each.pod.uid] = each.pod
            else:
                short.pop(each.pod.uid, None)
