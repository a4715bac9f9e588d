"""The contents of the fields of Kubernetes' own PodGroups, for copies of recordings. See `RecordedContents`."""

from __future__ import annotations

from muster.framework.contract.recorded import CONDITION_CONTENT, RecordedContents, TextKind

from .api import DisruptionMode, GroupSpec, NativePodGroupCondition, TopologyConstraint

RECORDED = RecordedContents(
    fields={
        GroupSpec: {"preemptionPolicy": TextKind.KEPT, "parentCompositePodGroupName": TextKind.NAME},
        TopologyConstraint: {"key": TextKind.KEY},
        DisruptionMode: {"all": TextKind.ANYTHING},
        NativePodGroupCondition: CONDITION_CONTENT,
    }
)
