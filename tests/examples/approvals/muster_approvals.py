"""Approvals: a pod with the annotation `example.com/approval` is bound only after that Approval object allows it."""

from collections.abc import Sequence

from muster.framework.contract import (
    ALLOW,
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    Hint,
    ObjectFollower,
    ObjectMeta,
    PermitPlugin,
    PodInfo,
    Status,
    Wait,
    WatchedKind,
    Wire,
)

ANNOTATION = "example.com/approval"
_TIMEOUT_SECONDS = 300.0


class ApprovalSpec(Wire):
    go: bool = False


class Approval(Wire):
    metadata: ObjectMeta
    spec: ApprovalSpec = ApprovalSpec()


APPROVALS = WatchedKind(
    "approvals.v1.example.com", "/apis/example.com/v1/approvals", Approval, optional=True, kind="Approval"
)


class Approvals(PermitPlugin, ObjectFollower, EnqueueExtensions):
    """Lets pods wait at Permit. A pod releases its node after five minutes, and is retried once approved."""

    name = "Approvals"
    watches = (APPROVALS,)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        key = approval_of(pod)
        return ALLOW if not key or self._says_go(key) else Wait(_TIMEOUT_SECONDS, (f"waits for Approval {key}",))

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Let the waiting pods of an Approval pass."""
        if isinstance(new, Approval) and new.spec.go:
            for waiting in self.handle.waiting_pods:
                if approval_of(waiting.pod) == new.metadata.key:
                    waiting.allow(self.name)

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(APPROVALS, Action.ADD | Action.UPDATE), says_go)]

    def _says_go(self, key: str) -> bool:
        found = self.handle.lister(APPROVALS).get(key)
        return found is not None and found.spec.go


def approval_of(pod: PodInfo) -> str:
    """`namespace/name` of the pod's Approval; "" for a pod without one."""
    name = pod.pod.metadata.annotations.get(ANNOTATION, "")
    return f"{pod.namespace}/{name}" if name else ""


def says_go(pod: PodInfo, old: Approval | None, new: Approval) -> Hint:
    """Whether the change may help a pod that timed out."""
    return Hint.queue_if(new.spec.go and approval_of(pod) == new.metadata.key)
