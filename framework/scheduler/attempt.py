"""One pod's attempt: what the scheduling cycle decided, and how a failure is reported to users and to the queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..contract.decision import PodDecision
from ..contract.plugin import QueuedPod
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis, fit_error_of_one
from ..model.pod_info import PodInfo
from ..queue.entity import Rejection
from ..runtime.attempt_state import AttemptState
from ..runtime.framework import Framework
from ..snapshot.view import Rows


@dataclass(slots=True)
class Attempt:
    """The state of an attempt. `status` None means that the pod goes on to `node_name`.

    Attributes:
        queued: the pod with its history.
        pod: the pod as it was when the attempt began, or was continued.
        framework: of the profile that decides for the pod.
        state: the plugins' notes on the attempt.
        started: when the cycle began, seconds on the engine's clock.
        node_name: the chosen node; "" until there is one.
        status: why the pod does not go on.
        rejectors: plugins that rejected the pod; the queue waits for their events.
        pending: rejectors that answered PENDING.
        no_node: whether no node could take the pod, and none was nominated for it.
        nominated: what to do with the nomination on failure: a node, "" to clear it, None to leave it.
        assumed: whether the pod is counted on the node and reserved.
        generation: the cache's when the cycle ran.
        leaves_nomination: whether the pod goes to another node than it was nominated to.
        waits_at_permit: whether the pod waits at Permit.
        displaced: whether another client took the chosen node. The pod is tried again at once, because other nodes may
            still fit; each further retry takes another such change.
        group: `<plugin>/<id>` of the group that the pod was tried with, if it was.
        was_set_aside: whether the pod was set aside for long work, see `set_aside`.
        domain: rows of the domains that the group has to get, for a trial; None for any domains.
        after_flush: whether the time limit or a review, not an event, brought the pod out of the unschedulable ones.
    """

    queued: QueuedPod
    pod: PodInfo
    framework: Framework
    state: AttemptState
    started: float
    generation: int
    after_flush: bool = False
    group: str | None = None
    node_name: str = ""
    status: Status | None = None
    rejectors: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    no_node: bool = False
    nominated: str | None = None
    assumed: bool = False
    leaves_nomination: bool = False
    waits_at_permit: bool = False
    displaced: bool = False
    was_set_aside: bool = False
    domain: Rows | None = None

    @property
    def profile(self) -> str:
        """The schedulerName of the profile that decides for the pod."""
        return self.framework.name

    @property
    def has_no_domain(self) -> bool:
        """Whether no node could be tried, because no domain exists."""
        within, status = self.state.within, self.status
        nowhere = within is not None and not len(within) and not self.rejectors
        return nowhere and status is not None and status.rejected

    @property
    def own_status(self) -> Status | None:
        """The status as a group plugin gets it: None also if the pod has no domain."""
        return None if self.has_no_domain else self.status

    def reset(self) -> None:
        """Forget all results except extenders' answers. Must be called while nothing is reserved."""
        before = self.state
        self.state = AttemptState(sampled=before.sampled)
        self.state.group, self.state.within, self.state.consultation = before.group, before.within, before.consultation
        self.state.long_work = before.long_work
        self.node_name, self.status, self.nominated = "", None, None
        self.rejectors, self.pending, self.no_node = set(), set(), False

    def restore(self, kept: Attempt) -> None:
        """Restore the state of the attempt from `kept`, a copy of it."""
        for name in self.__slots__:
            setattr(self, name, getattr(kept, name))

    def fail(self, status: Status, diagnosis: Diagnosis | None = None) -> None:
        """The pod found no node. Without a diagnosis, PostFilter was not asked and the nomination ends."""
        self.status = status
        if diagnosis is None:
            self.nominated = ""
        else:
            self.rejectors |= diagnosis.unschedulable_plugins
            self.pending |= diagnosis.pending_plugins
            self.no_node = status.rejected and not self.nominated

    def fail_on_node(self, status: Status) -> None:
        """The pod was rejected after a node had been chosen; the text is a FitError over that one node."""
        self.nominated = ""
        if status.rejected:
            if status.plugin:
                self.rejectors.add(status.plugin)
            if status.code is Code.PENDING:
                self.pending.add(status.plugin)
            status = status.with_reasons(fit_error_of_one(status))
        self.status = status

    def fail_on_lost_node(self, status: Status) -> None:
        """Another client took the capacity of the chosen node; the text is a FitError over that one node."""
        self.displaced = True
        self.fail_on_node(status)

    def fail_to_bind(self, status: Status) -> None:
        """PreBind or Bind failed. No event is known to help, so the pod returns after its backoff."""
        self.nominated = ""
        self.status = status

    def fail_with(self, sibling: Attempt) -> None:
        """The pod returns because a pod of the same transaction lost its node."""
        self.rejectors |= sibling.rejectors
        self.displaced = sibling.displaced
        plugin = sibling.status.plugin if sibling.status is not None else ""
        reason = f"sibling pod {sibling.pod.key} lost its place on node {sibling.node_name}"
        self.fail_on_node(Status.unschedulable(reason).by(plugin))

    def notify_followers(self) -> None:
        """Notify the plugins that follow decisions of this decision."""
        if self.framework.followers:
            self.framework.followers.notify_pod_decision(self.decision())

    def decision(self) -> PodDecision:
        """The decision, for plugins that follow decisions."""
        return PodDecision(
            self.pod, self.state, self.node_name, self.status, frozenset(self.rejectors), self.state.within
        )

    def rejection(self) -> Rejection:
        """The rejection, from which the queue knows when to retry the pod."""
        error = self.status is not None and not self.status.rejected
        return Rejection(frozenset(self.rejectors), frozenset(self.pending), error, self.no_node)
