"""The contents of fields and annotations of PodGroups, for copies of recordings. See `RecordedContents`."""

from __future__ import annotations

from muster.framework.contract.recorded import CONDITION_CONTENT, MapContent, RecordedContents, TextKind

from .api import PodGroup, PodGroupCondition, PodGroupSpec, PodGroupStatus
from .args import CoschedulingArgs
from .disruption import PodGroupDisruptionMode
from .topology import PREFERRED, REQUIRED, SLICE_LEVEL

RECORDED = RecordedContents(
    fields={
        PodGroup: {"status": TextKind.KEPT},
        PodGroupStatus: {"phase": TextKind.KEPT, "occupiedBy": TextKind.NAME, "scheduleStartTime": TextKind.KEPT},
        PodGroupCondition: CONDITION_CONTENT,
        PodGroupSpec: {"minResources": MapContent(TextKind.RESOURCE)},
        CoschedulingArgs: {"placement": TextKind.KEPT},
    },
    inner={(PodGroup, "status"): PodGroupStatus},
    lists_of_keys=(REQUIRED, PREFERRED, SLICE_LEVEL),
    settings=tuple(PodGroupDisruptionMode),
)
