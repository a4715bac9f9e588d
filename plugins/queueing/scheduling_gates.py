"""SchedulingGates: a pod with `spec.schedulingGates` is not ready to be scheduled."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.contract import (
    Action,
    ClusterEvent,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    PreEnqueuePlugin,
    Status,
)
from muster.framework.model.pod_info import PodInfo


class SchedulingGates(PreEnqueuePlugin, EnqueueExtensions):
    """Gates a pod until its last scheduling gate is removed."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Names the gates that are left."""
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return None
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> Sequence[EventRegistration]:
        """The removal of its own gates."""
        return [
            EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)),
        ]
