"""The node selector and required node affinity of a pod, part by part, with the number of nodes that each part matches.

The scheduler's message names the nodes that did not match, but not the part of the selector. `simulate`, `why` and the
web pages show this sentence for a pod that finds no node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from muster.framework.model.node import Node
from muster.framework.model.node_selector import accepts, field_value, required_of, well_formed
from muster.framework.model.pod import NodeSelectorRequirement, NodeSelectorTerm, Pod


def selector_sentence(pod: Pod, nodes: Sequence[Node]) -> str:
    """A sentence for users: the selector and the number of nodes that match it; "" if all nodes match."""
    required, matching = required_of(pod.spec), 0
    for node in nodes:
        matching += required.admits(node)
    if matching == len(nodes):
        return ""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    parts = [_counted(f"{key}={value}", nodes, _has(key, value)) for key, value in sorted(required.labels.items())]
    if terms is not None:
        parts.append(" or ".join(_term(term, nodes) for term in terms.node_selector_terms) or "no term")
    all_of_it = f"; {matching} of {len(nodes)} match all of it" if len(parts) > 1 else ""
    return f"Its node selector: {', '.join(parts)}{all_of_it}."


def _has(key: str, value: str) -> Callable[[Node], bool]:
    return lambda node: node.metadata.labels.get(key) == value


def _counted(part: str, nodes: Sequence[Node], matches: Callable[[Node], bool]) -> str:
    return f"{part} ({sum(map(matches, nodes))} of {len(nodes)} nodes match)"


def _term(term: NodeSelectorTerm, nodes: Sequence[Node]) -> str:
    if not well_formed(term):
        return "a term that matches no node"
    return " and ".join(chain(_labels(term, nodes), _fields(term, nodes)))


def _labels(term: NodeSelectorTerm, nodes: Sequence[Node]) -> Iterator[str]:
    for each in term.match_expressions:
        yield _counted(_expression(each), nodes, _label_accepted(each))


def _label_accepted(requirement: NodeSelectorRequirement) -> Callable[[Node], bool]:
    return lambda node: accepts(requirement, node.metadata.labels.get(requirement.key))


def _fields(term: NodeSelectorTerm, nodes: Sequence[Node]) -> Iterator[str]:
    for each in term.match_fields:
        yield _counted(_expression(each), nodes, _field_accepted(each))


def _field_accepted(requirement: NodeSelectorRequirement) -> Callable[[Node], bool]:
    return lambda node: accepts(requirement, field_value(requirement, node.metadata.name))


def _expression(requirement: NodeSelectorRequirement) -> str:
    """The requirement in the form of kubectl's selectors."""
    key, values = requirement.key, ", ".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
        case "NotIn":
            return f"{key}!={values}" if len(requirement.values) == 1 else f"{key} notin ({values})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
    return f"{key} {'>' if requirement.operator == 'Gt' else '<'} {values}"
