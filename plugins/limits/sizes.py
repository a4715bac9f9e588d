"""The sizes of a pod's spec that cost time. `PodLimits` compares them with the limits.

The API bounds an object only by its bytes: a pod may have thirty thousand of anything. `bench.attack` measures the cost
of each on five thousand nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from muster.framework.model.label_selector import LabelSelector
from muster.framework.model.pod import Container, NodeAffinity, NodeSelectorTerm, PodSpec
from muster.framework.model.pod_relations import PodAffinity, PodAffinityTerm


def _containers_of(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.containers, *spec.init_containers)


def _containers(spec: PodSpec) -> int:
    return len(spec.containers) + len(spec.init_containers)


def _requested_resources(spec: PodSpec) -> int:
    whole = spec.resources.requests if spec.resources else ()
    return len({*spec.overhead, *whole}.union(*(each.resources.requests for each in _containers_of(spec))))


def _host_ports(spec: PodSpec) -> int:
    return sum(len(each.ports) for each in _containers_of(spec))


def _node_expressions(spec: PodSpec) -> int:
    return sum(len(term.match_expressions) + len(term.match_fields) for term in _node_terms(spec))


def _joint_node_expressions(spec: PodSpec) -> int:
    sizes = (len(term.match_expressions) + len(term.match_fields) for term in _node_terms(spec))
    return sum(size for size in sizes if size > 1)


def _node_values(spec: PodSpec) -> int:
    terms = _node_terms(spec)
    return sum(len(each.values) for term in terms for each in (*term.match_expressions, *term.match_fields))


def _pod_affinity_terms(spec: PodSpec) -> int:
    return sum(1 for _ in _pod_terms(spec))


def _selector_parts(spec: PodSpec) -> int:
    selectors = [
        *(selector for term in _pod_terms(spec) for selector in (term.label_selector, term.namespace_selector)),
        *(constraint.label_selector for constraint in spec.topology_spread_constraints),
    ]
    namespaces = sum(len(term.namespaces) for term in _pod_terms(spec))
    return namespaces + sum(_parts(selector) for selector in selectors if selector is not None)


def _parts(selector: LabelSelector) -> int:
    return len(selector.match_labels) + sum(1 + len(each.values) for each in selector.match_expressions)


def _node_terms(spec: PodSpec) -> Iterator[NodeSelectorTerm]:
    affinity = (spec.affinity.node_affinity if spec.affinity else None) or NodeAffinity()
    if (required := affinity.required_during_scheduling_ignored_during_execution) is not None:
        yield from required.node_selector_terms
    for preferred in affinity.preferred_during_scheduling_ignored_during_execution:
        yield preferred.preference


def _pod_terms(spec: PodSpec) -> Iterator[PodAffinityTerm]:
    if spec.affinity is not None:
        for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
            affinity = affinity or PodAffinity()
            yield from affinity.required_during_scheduling_ignored_during_execution
            for weighted in affinity.preferred_during_scheduling_ignored_during_execution:
                yield weighted.pod_affinity_term


SIZES: Final[Mapping[str, tuple[str, Callable[[PodSpec], int]]]] = MappingProxyType(
    {
        "containers": ("containers", _containers),
        "requested_resources": ("requested resources", _requested_resources),
        "host_ports": ("container ports", _host_ports),
        "tolerations": ("tolerations", lambda spec: len(spec.tolerations)),
        "node_selector_labels": ("labels in the node selector", lambda spec: len(spec.node_selector)),
        "node_affinity_expressions": ("expressions in node affinity", _node_expressions),
        "joint_node_affinity_expressions": (
            "expressions in node affinity terms of several",
            _joint_node_expressions,
        ),
        "node_affinity_values": ("values in node affinity", _node_values),
        "pod_affinity_terms": ("terms of pod affinity and anti-affinity", _pod_affinity_terms),
        "topology_spread_constraints": (
            "topology spread constraints",
            lambda spec: len(spec.topology_spread_constraints),
        ),
        "selector_parts": ("namespaces, labels and values in selectors of pods", _selector_parts),
        "volumes": ("volumes", lambda spec: len(spec.volumes)),
        "resource_claims": ("resource claims", lambda spec: len(spec.resource_claims)),
    }
)
"""By the name of the limit: what is counted, in words, and how."""
