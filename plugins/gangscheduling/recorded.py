"""What the fields of Kubernetes' own PodGroups hold, for copies of recordings. See `RecordedContents`."""

from __future__ import annotations

from muster.framework.contract.recorded import Holds, RecordedContents

from .api import Condition, DisruptionMode, GroupSpec, TopologyConstraint

RECORDED = RecordedContents(
    fields={
        GroupSpec: {"preemptionPolicy": Holds.KEPT, "parentCompositePodGroupName": Holds.NAME},
        TopologyConstraint: {"key": Holds.KEY},
        DisruptionMode: {"all": Holds.ANYTHING},
        Condition: {
            "type": Holds.CONDITION,
            "status": Holds.KEPT,
            "reason": Holds.CONDITION,
            "message": Holds.TEXT,
            "lastTransitionTime": Holds.KEPT,
        },
    }
)
