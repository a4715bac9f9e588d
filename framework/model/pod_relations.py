"""A pod's constraints in relation to other pods: wire structs of inter-pod affinity and topology spread.

The rules are in `label_selector` and in the plugins.
"""

from __future__ import annotations

from .integers import Int32
from .label_selector import LabelSelector
from .meta import Wire


class PodAffinityTerm(Wire):
    """Pods in question, and the node label whose values make up the domains.

    Namespaces are those listed and those that `namespace_selector` picks; the pod's own where neither is given. The API
    server has merged `matchLabelKeys` and `mismatchLabelKeys` into `label_selector`.
    """

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Wire):
    """A term that adds `weight` to a node's score, or takes it off."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire):
    """`spec.affinity.podAffinity` and `spec.affinity.podAntiAffinity`."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class TopologySpreadConstraint(Wire):
    """`spec.topologySpreadConstraints[]`: how evenly matching pods are to lie over the domains of a node label."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
