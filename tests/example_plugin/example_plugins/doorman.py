"""Doorman: a pod with the annotation `example.com/hold` gets its node at once but is bound when the annotation goes."""

from muster.framework.contract import ALLOW, CycleState, PermitPlugin, PodFollower, Status, Wait
from muster.framework.model.pod_info import PodInfo

HOLD = "example.com/hold"
_PATIENCE_SECONDS = 300.0


class Doorman(PermitPlugin, PodFollower):
    name = "Doorman"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        return Wait(_PATIENCE_SECONDS) if HOLD in pod.pod.metadata.annotations else ALLOW

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        waiting = self.handle.waiting_pods.get(new.uid) if new is not None else None
        if new is not None and waiting is not None and HOLD not in new.pod.metadata.annotations:
            waiting.allow(self.name)
