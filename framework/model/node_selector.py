"""Node selectors as algebra: which nodes a pod's nodeSelector and node affinity select.

NodeAffinity and topology spread build a `NodeRequirement` for each pod signature. This module decides one node at a
time; `muster.framework.snapshot.node_selector` decides many. A term that kube-scheduler cannot parse selects no node,
and neither does a term without any requirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from .alternatives import Alternatives
from .label_test import NAME_FIELD as NAME_FIELD
from .names import is_label_key, is_label_value
from .node import Node
from .pod import NodeSelectorRequirement, NodeSelectorTerm, PodSpec
from .quantity import integer


def accepts(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    """Whether a label with this value, or its absence (None), meets a well-formed requirement."""
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    number, bound = integer(value or ""), integer(requirement.values[0])
    if number is None or bound is None:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def well_formed(term: NodeSelectorTerm) -> bool:
    """Whether kube-scheduler can parse the term and there is something in it."""
    for expression in term.match_expressions:
        if not _parses_as_label(expression):
            return False
    for field in term.match_fields:
        if not _parses_as_field(field):
            return False
    return bool(term.match_expressions or term.match_fields)


def picks(term: NodeSelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    """Whether a well-formed term picks the node with these labels and this name."""
    return all(accepts(each, labels.get(each.key)) for each in term.match_expressions) and all(
        accepts(each, field_value(each, name)) for each in term.match_fields
    )


def field_value(requirement: NodeSelectorRequirement, name: str) -> str:
    """The value that a requirement on fields is compared with: the node's name, or none for fields that nodes lack."""
    return name if requirement.key == NAME_FIELD else ""


@dataclass(frozen=True)
class NodeRequirement:
    """The nodes that a pod requires.

    Attributes:
        labels: labels that the node must have with just these values.
        terms: well-formed terms of which one must pick the node; None when there is no such requirement.
    """

    labels: Mapping[str, str]
    terms: tuple[NodeSelectorTerm, ...] | None

    @cached_property
    def alternatives(self) -> Alternatives | None:
        """The terms, merged."""
        return None if self.terms is None else Alternatives(self.terms)

    def admits(self, node: Node) -> bool:
        """Whether the node will do."""
        meta = node.metadata
        if len(self.labels) > len(meta.labels) or any(meta.labels.get(key) != v for key, v in self.labels.items()):
            return False
        return self.alternatives is None or self.alternatives.pick(meta.labels, meta.name)


def usable(terms: Iterable[NodeSelectorTerm]) -> tuple[NodeSelectorTerm, ...]:
    """The terms that can pick a node at all."""
    return tuple(term for term in terms if well_formed(term))


def required_of(spec: PodSpec) -> NodeRequirement:
    """The node requirement of a pod with this spec."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return NodeRequirement(spec.node_selector, None if required is None else usable(required.node_selector_terms))


def _parses_as_label(requirement: NodeSelectorRequirement) -> bool:
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn":
            fits = len(values) > 0
        case "Exists" | "DoesNotExist":
            fits = not values
        case "Gt" | "Lt":
            fits = len(values) == 1 and integer(values[0]) is not None
        case _:
            fits = False
    return fits and is_label_key(requirement.key) and all(map(is_label_value, values))


def _parses_as_field(requirement: NodeSelectorRequirement) -> bool:
    return requirement.operator in ("In", "NotIn") and len(requirement.values) == 1
