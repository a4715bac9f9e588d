"""Another scheduler takes nodes while gangs are decided and bound: the API accepts whichever Binding comes first."""

from typing import Any

from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually


def test_rivals_that_take_nodes_while_gangs_come_leave_none_in_part(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(*(make_node(f"slot-{number}", cpu="2") for number in range(8)))
    for number in range(8):
        gangs.create(make_pod(f"rival-{number}").requests(cpu="1"), scheduler="rival")
    for number in range(4):
        gangs.add_group(f"g-{number}", 4)
        gangs.add(*make_members(f"g-{number}", 4))
        gangs.bind(f"rival-{2 * number}", f"slot-{2 * number}")
        gangs.bind(f"rival-{2 * number + 1}", f"slot-{2 * number + 1}")
    eventually(lambda: all(map(_is_decided, gangs.pods())))
    counts = {len(gangs.nodes(f"g-{number}")) for number in range(4)}

    assert counts <= {0, 4}


def _is_decided(pod: Any) -> bool:
    """Whether it is bound, or reported as unschedulable; no capacity is freed here."""
    said = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    return bool(said) and (said[0]["status"], said[0].get("reason")) in {("True", None), ("False", "Unschedulable")}
