"""One pod's attempt: what the scheduling cycle decided and what the binding cycle needs to carry it out."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..contract.cycle_state import CycleState
from ..contract.decision import PodDecision
from ..contract.queued_pod import QueuedPod
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from ..queue.entity import Rejection
from .fit_error import fit_error_of_one


@dataclass(slots=True)
class Attempt:
    """The state of an attempt. `status` None means that the pod goes on to `node_name`.

    Attributes:
        queued: the pod with its history.
        state: the plugins' notes.
        started: when the cycle began, seconds on the engine's clock.
        node_name: the chosen node; "" until there is one.
        status: why the pod does not go on.
        rejectors: plugins that turned it away; the queue waits for their events.
        pending: those of them that answered PENDING.
        nominated: what to do with the nomination on failure: a node, "" to clear it, None to leave it.
        assumed: whether the pod is counted on the node and reserved.
        sequence: the scheduler's count of foreign changes when the cycle ran.
        displaced: whether the chosen node was lost to somebody else. What that node lacks says nothing of the others,
            so the pod is to be tried again at once. It takes a change by somebody else for each time.
        after_flush: whether the time limit, not an event, brought the pod out of the unschedulable ones.
    """

    queued: QueuedPod
    state: CycleState
    started: float
    node_name: str = ""
    status: Status | None = None
    rejectors: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    nominated: str | None = None
    assumed: bool = False
    sequence: int = 0
    displaced: bool = False
    after_flush: bool = False

    @property
    def pod(self) -> PodInfo:
        """The pod as it was when the attempt began."""
        return self.queued.info

    @property
    def profile(self) -> str:
        """The schedulerName of the profile that decides for the pod."""
        return self.pod.pod.spec.scheduler_name

    def begin_anew(self) -> None:
        """Forget what was decided so far; nothing may be held."""
        self.state = CycleState(sampled=self.state.sampled)
        self.node_name, self.status, self.nominated = "", None, None
        self.rejectors, self.pending = set(), set()

    def fail(self, status: Status, diagnosis: Diagnosis | None = None) -> Attempt:
        """The pod found no node. Without a diagnosis, PostFilter had no say and the nomination is over."""
        self.status = status
        if diagnosis is None:
            self.nominated = ""
        else:
            self.rejectors |= diagnosis.unschedulable_plugins
            self.pending |= diagnosis.pending_plugins
        return self

    def fail_on_node(self, status: Status) -> Attempt:
        """The pod was turned away after a node had been chosen; the text is a FitError over that one node."""
        self.nominated = ""
        if status.rejected:
            text = fit_error_of_one(status)
            if status.plugin:
                self.rejectors.add(status.plugin)
            if status.code is Code.PENDING:
                self.pending.add(status.plugin)
            status = Status(status.code, (text,), status.plugin)
        self.status = status
        return self

    def lose_node(self, status: Status) -> Attempt:
        """The chosen node was lost to somebody else; the text is a FitError over that one node."""
        self.displaced = True
        return self.fail_on_node(status)

    def fail_to_bind(self, status: Status) -> Attempt:
        """PreBind or Bind failed. Nobody can say which event would help, so the pod comes back after backoff."""
        self.nominated = ""
        self.status = status
        return self

    def follow(self, sibling: Attempt) -> Attempt:
        """The pod goes back because a pod that it was to be placed with lost its place."""
        self.rejectors |= sibling.rejectors
        self.displaced = sibling.displaced
        plugin = sibling.status.plugin if sibling.status is not None else ""
        reason = f"sibling pod {sibling.pod.key} lost its place on node {sibling.node_name}"
        return self.fail_on_node(Status.unschedulable(reason).by(plugin))

    def decision(self) -> PodDecision:
        """What was decided, for plugins that follow decisions."""
        return PodDecision(self.pod, self.state, self.node_name, self.status, frozenset(self.rejectors))

    def rejection(self) -> Rejection:
        """What the queue has to know to bring the pod back at the right time."""
        error = self.status is not None and not self.status.rejected
        return Rejection(frozenset(self.rejectors), frozenset(self.pending), error)
