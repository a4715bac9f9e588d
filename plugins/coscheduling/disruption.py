"""The annotation of a PodGroup that says how its pods may be evicted for others.

Without it, what exceeds minMember may be evicted pod by pod, and the rest all together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.framework.contract.arguments import unsupported

MODE = "muster-scheduler.io/disruption-mode"


class PodGroupDisruptionMode(StrEnum):
    """What preemption may do to the group. The words are those of Kubernetes' own groups."""

    QUORUM = ""
    """Evict what exceeds minMember one by one, else all pods that run."""
    ALL = "All"
    """Evict all pods that run, or none."""
    SINGLE = "Single"
    """Evict each pod by itself, also below minMember."""


def mode_of(annotations: Mapping[str, str]) -> PodGroupDisruptionMode:
    """What the annotations say; nothing where they cannot be read."""
    try:
        return PodGroupDisruptionMode(annotations.get(MODE, ""))
    except ValueError:
        return PodGroupDisruptionMode.QUORUM


def fault(annotations: Mapping[str, str]) -> str:
    """What is wrong with the annotation, with its field; "" when nothing is."""
    value = annotations.get(MODE, "")
    if value in [*PodGroupDisruptionMode]:
        return ""
    return unsupported(f"metadata.annotations[{MODE}]", value, [mode for mode in PodGroupDisruptionMode if mode]).text
