"""What the fields and annotations of PodGroups hold, for copies of recordings. See `RecordedContents`."""

from __future__ import annotations

from muster.framework.contract.recorded import Holds, MapOf, RecordedContents

from .api import Condition, PodGroup, PodGroupSpec, PodGroupStatus
from .args import CoschedulingArgs
from .disruption import DisruptionMode
from .topology import PREFERRED, REQUIRED, SLICE_LEVEL

RECORDED = RecordedContents(
    fields={
        PodGroup: {"status": Holds.KEPT},
        PodGroupStatus: {"phase": Holds.KEPT, "occupiedBy": Holds.NAME, "scheduleStartTime": Holds.KEPT},
        Condition: {
            "type": Holds.CONDITION,
            "status": Holds.KEPT,
            "reason": Holds.CONDITION,
            "message": Holds.TEXT,
            "lastTransitionTime": Holds.KEPT,
        },
        PodGroupSpec: {"minResources": MapOf(Holds.RESOURCE)},
        CoschedulingArgs: {"placement": Holds.KEPT},
    },
    inner={(PodGroup, "status"): PodGroupStatus},
    lists_of_keys=(REQUIRED, PREFERRED, SLICE_LEVEL),
    settings=tuple(DisruptionMode),
)
