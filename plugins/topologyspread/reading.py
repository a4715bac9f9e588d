"""Readings: the parsed constraints of a pod, computed once for all pods of the same spec and labels.

The plugin asks for one whenever it is called about a pod.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from cachetools import LRUCache

from muster.framework.authoring import SignatureCache
from muster.framework.contract import PodInfo, SnapshotReader
from muster.framework.contract.arguments import PodTopologySpreadArgs
from muster.framework.model.label_selector import SelectorError
from muster.framework.model.node_selector import NodeRequirement
from muster.framework.model.pod_relations import TopologySpreadConstraint

from .constraint import HARD, SOFT, Constraint, SpreadRule, counted, read_rules
from .defaults import Siblings, controller_of, default_constraints
from .eligible import EligibleNodes

_REMEMBERED = 1024


@dataclass(frozen=True, slots=True, eq=False)
class PodConstraints:
    """The constraints of a pod.

    Attributes:
        hard: those that nodes must meet.
        soft: those that rank nodes.
        every_key: whether nodes that lack a key of a soft one are left out of scoring.
        hard_fault: why hard ones cannot be read, in kube-scheduler's words, or "".
        soft_fault: the same of soft ones.
    """

    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] = ()
    every_key: bool = True
    hard_fault: str = ""
    soft_fault: str = ""


class Readings:
    """Reads and remembers."""

    def __init__(self, args: PodTopologySpreadArgs, siblings: Siblings) -> None:
        self._siblings = siblings
        self._defaults = default_constraints(args)
        self._system = args.defaulting_type == "System"
        self._known: SignatureCache[tuple[int, PodConstraints]] = SignatureCache(_REMEMBERED)
        self._eligible: SignatureCache[EligibleNodes] = SignatureCache(_REMEMBERED)
        self._eligible_by_keys: LRUCache[tuple[str, ...], EligibleNodes] = LRUCache(_REMEMBERED)

    def of(self, pod: PodInfo, snapshot: SnapshotReader) -> PodConstraints:
        """The constraints of the pod, its own or the defaults, as services and controllers are now."""
        if pod.pod.spec.topology_spread_constraints:
            place: Hashable = pod.label_set
            epoch = 0
        elif self._defaults:
            owner = controller_of(pod)
            key = None if owner is None else (owner.api_version, owner.kind, owner.name)
            place, epoch = (pod.label_set, key), self._siblings.epoch
        else:
            return _NONE
        known = self._known.get(pod.signature, place)
        if known is None or known[0] != epoch:
            known = (epoch, self._read(pod, snapshot))
            self._known.put(pod.signature, place, known)
        return known[1]

    def _read(self, pod: PodInfo, snapshot: SnapshotReader) -> PodConstraints:
        own = pod.pod.spec.topology_spread_constraints
        if not own:
            return self._read_defaults(pod, snapshot)
        hard, hard_fault = _rules(own, pod, HARD, "obtaining pod's hard topology spread constraints")
        soft, soft_fault = _rules(own, pod, SOFT, "obtaining pod's soft topology spread constraints")
        return PodConstraints(
            hard=self._apply(hard, pod, snapshot, every_key=True),
            soft=self._apply(soft, pod, snapshot, every_key=True),
            hard_fault=hard_fault,
            soft_fault=soft_fault,
        )

    def _read_defaults(self, pod: PodInfo, snapshot: SnapshotReader) -> PodConstraints:
        selector = self._siblings.of(pod)
        if selector is None:
            return _NONE
        hard, soft = (
            [
                SpreadRule(
                    rule.max_skew,
                    rule.topology_key,
                    selector,
                    rule.min_domains,
                    rule.honors_affinity,
                    rule.honors_taints,
                )
                for rule in read_rules(self._defaults, {}, action)
            ]
            for action in (HARD, SOFT)
        )
        every_key = not self._system
        return PodConstraints(
            hard=self._apply(hard, pod, snapshot, every_key=True),
            soft=self._apply(soft, pod, snapshot, every_key=every_key),
            every_key=every_key,
        )

    def _apply(
        self, rules: Iterable[SpreadRule], pod: PodInfo, snapshot: SnapshotReader, *, every_key: bool
    ) -> tuple[Constraint, ...]:
        rules = tuple(rules)
        keys = tuple(dict.fromkeys(rule.topology_key for rule in rules)) if every_key else ()
        required = _requirement_of(pod) if any(rule.honors_affinity for rule in rules) else None
        return tuple(
            Constraint(
                rule=rule,
                question=counted(pod.namespace, rule.selector),
                eligible=self._eligible_for(rule, keys, required, pod, snapshot=snapshot),
                self_match=int(rule.selector.picks(pod.labels)),
            )
            for rule in rules
        )

    def _eligible_for(
        self,
        rule: SpreadRule,
        keys: tuple[str, ...],
        required: NodeRequirement | None,
        pod: PodInfo,
        *,
        snapshot: SnapshotReader,
    ) -> EligibleNodes | None:
        """The nodes that count, the same object for all rules and pods that have them in common."""
        requirement = required if rule.honors_affinity else None
        tolerations = pod.pod.spec.tolerations if rule.honors_taints else None
        if requirement is None and tolerations is None and len(keys) < 2:
            return None
        if requirement is None and tolerations is None:
            known = self._eligible_by_keys.get(keys)
            if known is None:
                known = self._eligible_by_keys[keys] = EligibleNodes(snapshot, keys, None, None)
            return known
        place = (keys, requirement is None, tolerations is None)
        known = self._eligible.get(pod.signature, place)
        if known is None:
            known = EligibleNodes(snapshot, keys, requirement, tolerations)
            self._eligible.put(pod.signature, place, known)
        return known


_NONE = PodConstraints()


def _requirement_of(pod: PodInfo) -> NodeRequirement | None:
    """The pod's node requirement; None if it has none."""
    required = pod.signature.required
    return required if required.labels or required.terms is not None else None


def _rules(
    constraints: Iterable[TopologySpreadConstraint], pod: PodInfo, action: str, doing: str
) -> tuple[tuple[SpreadRule, ...], str]:
    try:
        return read_rules(constraints, pod.labels, action), ""
    except SelectorError as error:
        return (), f"{doing}: {error}"
