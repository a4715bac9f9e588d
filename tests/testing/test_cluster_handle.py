"""The handle of `Cluster` is a whole handle, and what a plugin does with it can be read."""

from collections.abc import Sequence

import pytest

from muster.framework.contract import (
    ALLOW,
    Handle,
    ObjectFollower,
    ObjectMeta,
    PermitPlugin,
    PodInfo,
    Status,
    Wait,
    WatchedKind,
    Wire,
)
from muster.framework.contract.cycle_state import CycleState
from muster.framework.model.meta import from_plain
from muster.framework.model.pod import Pod
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.testing import Cluster, make_node, make_pod
from muster.testing.handle import ClusterHandle


class Approval(Wire):
    metadata: ObjectMeta


APPROVALS = WatchedKind("approvals.v1.example.com", "/apis/example.com/v1/approvals", Approval)


class Gatekeeper(PermitPlugin, ObjectFollower):
    """Holds a pod until there is an Approval of its name."""

    name = "Gatekeeper"
    watches = (APPROVALS,)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        return ALLOW if self.handle.lister(APPROVALS).get(pod.key) else Wait(60.0, ("waits for its Approval",))

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        if isinstance(new, Approval):
            for waiting in self.handle.waiting_pods:
                if waiting.pod.key == new.metadata.key:
                    waiting.allow(self.name)
                    self.handle.spawn(self._report(waiting.pod))

    async def _report(self, pod: PodInfo) -> None:
        self.handle.events.event(pod, type="Normal", reason="Approved", action="Permit", note="it may go on")
        self.handle.activate({pod.key: pod})


def whole(handle: Handle) -> Handle:
    """The type checker compares the handle of the kit with the contract here."""
    return handle


def held(cluster: Cluster) -> Sequence[frozenset[str]]:
    return [waiting.pending_plugins for waiting in cluster.waiting]


def approval(name: str) -> dict[str, object]:
    return {"kind": "approvals.v1.example.com", "metadata": {"namespace": "default", "name": name}}


async def test_a_pod_that_a_plugin_holds_is_let_go_by_the_object_that_it_waits_for() -> None:
    cluster = Cluster(make_node("one"))
    plugin = cluster.plugin(Gatekeeper)
    assert cluster.permit(plugin, make_pod("web"), "one") == Wait(60.0, ("waits for its Approval",))
    assert held(cluster) == [frozenset({"Gatekeeper"})]

    cluster.keep(approval("web"))
    await cluster.settle()

    assert held(cluster) == [frozenset()]
    assert cluster.events == [("default/web", "Approved", "it may go on")]
    assert cluster.activated == ["default/web"]
    assert cluster.permit(plugin, make_pod("web"), "one") == ALLOW


def test_a_hold_ends_with_its_time() -> None:
    cluster = Cluster(make_node("one"))
    cluster.permit(cluster.plugin(Gatekeeper), make_pod("web"), "one")
    cluster.clock.move_to(cluster.clock.now() + 60.0)
    assert [waiting.is_rejected for waiting in cluster.waiting] == [True]


def test_a_plugin_that_asks_others_needs_the_whole_engine() -> None:
    with pytest.raises(TypeError, match="use VirtualScheduler"):
        Cluster().plugin(DefaultPreemption)


def test_the_handle_has_every_member_of_the_contract() -> None:
    cluster = Cluster()
    handle = whole(ClusterHandle(cluster.snapshot, cluster.clock))
    members = {name for name in dir(Handle) if not name.startswith("_")}
    assert {name for name in members if not hasattr(handle, name)} == set()


def test_a_gate_that_a_plugin_reports_is_an_event_of_the_pod() -> None:
    cluster = Cluster()
    handle = ClusterHandle(cluster.snapshot, cluster.clock)
    handle.report_gate(PodInfo(from_plain(make_pod("web"), Pod)), "the gate is closed")
    assert handle.recorded == [("default/web", "FailedScheduling", "the gate is closed")]
