"""The annotation of a PodGroup that says how preemption may evict its pods.

Without it, members beyond minMember may be evicted one by one, and the others only all together.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.framework.contract.arguments import unsupported
from muster.framework.model.names import PREFIX

MODE = f"{PREFIX}disruption-mode"


class PodGroupDisruptionMode(StrEnum):
    """The effect that preemption may have on the group. The words are those of Kubernetes' own groups."""

    QUORUM = ""
    """Evict what exceeds minMember one by one, else all pods that run."""
    ALL = "All"
    """Evict all pods that run, or none."""
    SINGLE = "Single"
    """Evict each pod by itself, also below minMember."""


def mode_of(annotations: Mapping[str, str]) -> PodGroupDisruptionMode:
    """The mode of the annotations; the default where they cannot be read."""
    try:
        return PodGroupDisruptionMode(annotations.get(MODE, ""))
    except ValueError:
        return PodGroupDisruptionMode.QUORUM


def fault(annotations: Mapping[str, str]) -> str:
    """The problem with the annotation, with its field; "" for a valid one."""
    value = annotations.get(MODE, "")
    if value in [*PodGroupDisruptionMode]:
        return ""
    return unsupported(f"metadata.annotations[{MODE}]", value, [mode for mode in PodGroupDisruptionMode if mode]).text
