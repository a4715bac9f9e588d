"""What the fields of Kubernetes' own PodGroups hold, for copies of recordings. See `RecordedContents`."""

from __future__ import annotations

from muster.framework.contract.recorded import RecordedContents, TextKind

from .api import Condition, DisruptionMode, GroupSpec, TopologyConstraint

RECORDED = RecordedContents(
    fields={
        GroupSpec: {"preemptionPolicy": TextKind.KEPT, "parentCompositePodGroupName": TextKind.NAME},
        TopologyConstraint: {"key": TextKind.KEY},
        DisruptionMode: {"all": TextKind.ANYTHING},
        Condition: {
            "type": TextKind.CONDITION,
            "status": TextKind.KEPT,
            "reason": TextKind.CONDITION,
            "message": TextKind.TEXT,
            "lastTransitionTime": TextKind.KEPT,
        },
    }
)
