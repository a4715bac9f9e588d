"""Requirements and preferences about nodes in a pod's spec, computed once per signature for NodeAffinity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from muster.framework.contract.arguments import NodeAffinityForm as AffinityForm
from muster.framework.model.node_selector import NAME_FIELD, NodeRequirement, well_formed
from muster.framework.model.pod import NodeAffinity, NodeSelectorTerm, PreferredSchedulingTerm
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.preferences import Preferences

NO_AFFINITY = NodeAffinity()

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class AffinityOfPod:
    """The node affinity of a pod's spec.

    Attributes:
        required: None when it requires nothing.
        node_names: the nodes that the required terms name; None when one of them names none.
        preferences: what the well-formed preferred terms are worth.
        fault: what is wrong with the preferred terms; empty when nothing is.
    """

    required: NodeRequirement | None
    node_names: frozenset[str] | None
    preferences: Preferences
    fault: str


def has_affinity(pod: PodInfo) -> bool:
    """Whether the pod's spec says anything of nodes, well-formed or not."""
    spec = pod.pod.spec
    return bool(spec.node_selector) or (spec.affinity is not None and spec.affinity.node_affinity is not None)


def affinity_of(pod: PodInfo) -> AffinityOfPod:
    """The pod's node affinity."""
    spec = pod.pod.spec
    affinity = (spec.affinity.node_affinity if spec.affinity else None) or NO_AFFINITY
    selector = affinity.required_during_scheduling_ignored_during_execution
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    formed = [well_formed(term.preference) for term in preferred]
    good = (term for term, fine in zip(preferred, formed, strict=True) if fine and term.weight)
    return AffinityOfPod(
        required=pod.signature.required if spec.node_selector or selector is not None else None,
        node_names=None if selector is None else _node_names(selector.node_selector_terms),
        preferences=Preferences((term.weight, term.preference) for term in good),
        fault=_fault(preferred, formed),
    )


def _node_names(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    together: frozenset[str] | None = None
    for term in terms:
        by_name = (each for each in term.match_fields if each.key == NAME_FIELD and each.operator == "In")
        named = [frozenset(each.values) for each in by_name]
        if not named:
            return None
        together = (together or frozenset()).union(frozenset.intersection(*named))
    return together


def preferences_of(terms: Iterable[PreferredSchedulingTerm]) -> Preferences:
    """The preferred terms that can change a score."""
    return Preferences((term.weight, term.preference) for term in terms if term.weight and well_formed(term.preference))


def _fault(terms: tuple[PreferredSchedulingTerm, ...], formed: Sequence[bool]) -> str:
    """kube-scheduler's complaint about preferred terms; terms that are empty or weigh nothing are not looked at."""
    nothing = NodeSelectorTerm()
    if all(fine or not term.weight or term.preference == nothing for term, fine in zip(terms, formed, strict=True)):
        return ""
    form = AffinityForm.model_validate({_PREFERRED: msgspec.to_builtins(terms)})
    texts = [problem.text.removeprefix(f".{_PREFERRED}") for problem in form.problems("")]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
