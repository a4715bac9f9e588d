"""Doorman: a plugin that holds pods at Permit and fails before binding, when a test asks for it."""

from muster.framework.contract import ALLOW, CycleState, PermitPlugin, PreBindPlugin, Status, Wait
from muster.framework.model.pod_info import PodInfo

HOLD = "hold"
"""The label of pods that are held."""
PATIENCE_SECONDS = 30.0


class Doorman(PermitPlugin, PreBindPlugin):
    """Held pods are let go and turned away through the waiting pods of the engine.

    Attributes:
        open: whether no pod is held any more.
        failures: how many of the next pods fail before they are bound.
    """

    name = "Doorman"
    open = False
    failures = 0

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        return Wait(PATIENCE_SECONDS) if HOLD in pod.labels and not self.open else ALLOW

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if not self.failures:
            return None
        self.failures -= 1
        return Status.failure("the door is stuck")
