"""The engine on an API in memory: time, restarts, late informers, and objects of a kind that a plugin watches."""

from collections.abc import Sequence
from typing import Any

import pytest

from muster.framework.authoring import PerNodeFilter
from muster.framework.contract import (
    WHOLE_NODES,
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    NodeInfo,
    NodeView,
    ObjectMeta,
    PodInfo,
    PreFilterPlugin,
    Status,
    WatchedKind,
    Wire,
)
from muster.testing import VirtualScheduler, make_node, make_pod


class Permit(Wire):
    """A kind of a plugin's own."""

    metadata: ObjectMeta


class Thermometer(PerNodeFilter, EnqueueExtensions):
    """Keeps pods off nodes that say that they are hot, or whose annotations or capacity it does not like."""

    name = "Thermometer"
    watches = (WHOLE_NODES,)

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        whole = self.handle.lister(WHOLE_NODES).get(node.name)
        if whole is None:
            return Status.unschedulable("node(s) were not known well enough")
        hot = whole.condition("TooHot")
        if hot is not None and hot.status == "True":
            return Status.unschedulable("node(s) were too hot")
        if whole.metadata.annotations.get("example.com/owner") != "us" or whole.status.capacity["cpu"] != "8":
            return Status.unresolvable("node(s) were not ours")
        return None

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(WHOLE_NODES, Action.ADD | Action.UPDATE_OTHER))]


PERMITS = WatchedKind("permits.v1.example.com", "/apis/example.com/v1/permits", Permit)


class Warden(PreFilterPlugin, EnqueueExtensions):
    """Lets a pod pass for which there is a Permit of its name."""

    name = "Warden"
    watches = (PERMITS,)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        return None if self.handle.lister(PERMITS).get(pod.key) else Status.unresolvable("pod has no permit")

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(ClusterEvent(PERMITS, Action.ADD))]


async def test_time_passes_only_when_the_test_moves_it() -> None:
    scheduler = VirtualScheduler()
    began = scheduler.clock.now()
    scheduler.add_nodes(make_node("a"))
    [key] = scheduler.add(make_pod("web"))
    await scheduler.settle()
    assert (scheduler.node_of(key), scheduler.clock.now()) == ("a", began)
    await scheduler.run(3600)
    assert scheduler.clock.now() == began + 3600
    scheduler.check()


async def test_a_scheduler_that_was_killed_begins_anew_on_the_cluster_as_it_is() -> None:
    scheduler = VirtualScheduler()
    scheduler.add_nodes(make_node("a", cpu="1"))
    scheduler.add(make_pod("one").requests(cpu="1"))
    await scheduler.settle()
    await scheduler.kill()
    [two] = scheduler.add(make_pod("two").requests(cpu="1"))
    scheduler.start()
    await scheduler.run(1)
    [note] = scheduler.notes(two)
    assert note.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    scheduler.delete("default/one")
    assert await scheduler.until(lambda: bool(scheduler.node_of(two)), within=20) <= 20
    scheduler.check()


async def test_late_informers_delay_what_the_scheduler_knows() -> None:
    scheduler = VirtualScheduler()
    scheduler.latency = lambda: 2.0
    scheduler.add_nodes(make_node("a"))
    [key] = scheduler.add(make_pod("web"))
    await scheduler.run(1.9)
    assert scheduler.node_of(key) == ""
    await scheduler.run(0.2)
    assert scheduler.node_of(key) == "a"


async def test_objects_of_a_watched_kind_are_listed_and_wake_pods() -> None:
    scheduler = VirtualScheduler(Warden)
    scheduler.add_nodes(make_node("a"))
    [key] = scheduler.add(make_pod("web"))
    await scheduler.run(1)
    [note] = scheduler.notes(key)
    assert note.startswith("0/1 nodes are available: pod has no permit.")
    scheduler.api.put("permits", {"metadata": {"name": "web", "namespace": "default"}})
    await scheduler.run(2)
    assert scheduler.node_of(key) == "a"


async def test_a_condition_that_does_not_come_in_time_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="not so within 3 s"):
        await VirtualScheduler().until(lambda: False, within=3)


async def test_a_plugin_that_asks_for_it_sees_annotations_conditions_and_capacity_of_nodes() -> None:
    def whole(name: str, owner: str, hot: str) -> dict[str, Any]:
        node = dict(make_node(name, cpu="8"))
        node["metadata"] = {**node["metadata"], "annotations": {"example.com/owner": owner}}
        conditions = [{"type": "TooHot", "status": hot, "lastHeartbeatTime": "2026-11-21T09:00:00Z"}]
        node["status"] = {**node["status"], "capacity": {"cpu": "8"}, "conditions": conditions}
        return node

    scheduler = VirtualScheduler(Thermometer)
    scheduler.api.put("nodes", whole("theirs", "them", "False"))
    scheduler.api.put("nodes", whole("ours", "us", "True"))
    [key] = scheduler.add(make_pod("web"))
    await scheduler.settle()
    [note] = scheduler.notes(key)
    assert note.startswith("0/2 nodes are available: 1 node(s) were not ours, 1 node(s) were too hot.")

    scheduler.api.put("nodes", whole("ours", "us", "False"))
    await scheduler.run(5)
    assert scheduler.node_of(key) == "ours"
    await scheduler.kill()
