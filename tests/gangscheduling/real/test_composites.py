"""CompositePodGroups as a user sees them who has only kubectl."""

from tests.e2e.eventually import eventually
from tests.gangscheduling.real.native import NativeCluster
from tests.gangscheduling.world import make_members


def test_parts_of_a_composite_start_together_once_there_is_capacity_for_its_quorum(native: NativeCluster) -> None:
    native.add_nodes("one", cpu="3")
    native.add_part("left", "job", 2)
    native.add(*make_members("left", 2))
    [event] = eventually(lambda: native.events("left", "WaitingForPods"))
    assert event["note"] == 'waiting for composite pod group "job" to appear in scheduling queue'
    native.add_composite("job", 2)
    native.add_part("right", "job", 2)
    native.add(*make_members("right", 2))
    for part in ("left", "right"):
        reported = native.wait_until_said(part, "False", "Unschedulable")
        assert reported["message"].startswith("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
    assert (native.nodes("left"), native.nodes("right")) == ({}, {})

    native.add_nodes("two", cpu="1")
    native.wait_until_started("left", 2)
    native.wait_until_started("right", 2)
    for part in ("left", "right"):
        assert native.wait_until_said(part, "True", "Scheduled")["message"] == ""
