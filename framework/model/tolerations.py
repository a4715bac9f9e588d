"""Taints and tolerations as algebra: which taints a pod puts up with.

The node plugins ask it once a distinct set of taints, and topology spread where it honours taints. The operators Gt and
Lt of tolerations tolerate nothing: they belong to a feature that is off by default in kube-scheduler 1.37.
"""

from __future__ import annotations

from collections.abc import Iterable

from .node import Taint
from .pod import Toleration

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
"""What `spec.unschedulable` of a node amounts to."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this toleration covers the taint. Empty effect and empty key cover any, no operator means Equal."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration], *effects: str) -> int:
    """How many of the taints with one of these effects no toleration covers."""
    return sum(taint.effect in effects and not tolerated(taint, tolerations) for taint in taints)


def kept_off(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> bool:
    """Whether the taints keep a pod with these tolerations from being scheduled to their node."""
    return untolerated(taints, tolerations, NO_SCHEDULE, NO_EXECUTE) > 0
