"""SchedulingGates: who is let into the queue."""

from muster.framework.contract import Action, ClusterEvent, EventResource, Status
from muster.plugins.queueing.scheduling_gates import SchedulingGates
from tests.builders import make_pod
from tests.plugins.cluster import Cluster, info


def test_a_pod_without_gates_is_admitted() -> None:
    assert Cluster().plugin(SchedulingGates).pre_enqueue(info(make_pod("web"))) is None


def test_a_gated_pod_waits_and_its_gates_are_named() -> None:
    gated = make_pod("web").gate("example.com/quota").gate("example.com/image")
    status = Cluster().plugin(SchedulingGates).pre_enqueue(info(gated))
    assert status == Status.unresolvable("waiting for scheduling gates: [example.com/quota example.com/image]")


def test_scheduling_gates_register_for_the_removal_of_gates() -> None:
    removed = ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    assert [each.event for each in Cluster().plugin(SchedulingGates).events_to_register()] == [removed]
