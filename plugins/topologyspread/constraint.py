"""Parsed constraints: which pods are counted, over which domains, and how large the skew may be.

The plugin reads a pod's hard constraints (DoNotSchedule) for filtering and soft ones (ScheduleAnyway) for scoring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster.framework.contract import SnapshotReader
from muster.framework.contract.columns import Clause, Domains, PodsMatching
from muster.framework.model.label_selector import NOTHING, Selector, read_selector
from muster.framework.model.pod_relations import TopologySpreadConstraint

from .eligible import EligibleNodes

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A topology spread constraint, with defaults filled in."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """A rule for one pod.

    Attributes:
        question: asks for the pods that are counted.
        eligible: the nodes that they are counted on, and whose domains there are; None for all that have the key.
        self_match: 1 if the pod itself is counted where it goes, else 0.
    """

    rule: SpreadRule
    question: PodsMatching
    eligible: EligibleNodes | None
    self_match: int

    def domains(self, snapshot: SnapshotReader) -> Domains:
        """The counted pods by domain."""
        tally = snapshot.relations.labels.tally(self.question)
        return tally.domains(snapshot, self.rule.topology_key, self.eligible)


def read_rules(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[SpreadRule, ...]:
    """The rules of one kind for a pod with these labels.

    Raises SelectorError for a selector that cannot be read.
    """
    return tuple(_read(each, labels) for each in constraints if each.when_unsatisfiable == action)


def counted(namespace: str, selector: Selector) -> PodsMatching:
    """Asks for the pods that a rule of a pod in this namespace counts: none where the selector asks for nothing."""
    clause = Clause(frozenset({namespace}), NOTHING if selector.empty else selector)
    return PodsMatching((clause,), terminating=False)


def _read(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> SpreadRule:
    same = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return SpreadRule(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=read_selector(constraint.label_selector).and_labels(same),
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy in (None, HONOR),
        honors_taints=constraint.node_taints_policy == HONOR,
    )
