"""A pod that a Permit plugin holds is explained by the plugin's name and its own words."""

import pytest

from muster.framework.contract import Plugin, Status, Wait
from muster.framework.model.pod_info import PodInfo
from muster.operator.explain.live import Explained, explain_among
from muster.operator.explain.tables import render
from muster.operator.web.census import take_census
from muster.operator.web.cluster import ClusterState
from muster.operator.web.views.pod import pod_page
from tests.builders import PodDict, make_node, make_pod
from tests.scheduler.scripted import permitting
from tests.simulate.rehearsing import KINDS, member, muster, muster_with, objects, pod_group

HELD = "waits on node one for Gate to permit it: closed until noon"


def web() -> PodDict:
    return make_pod("web").requests(cpu="1")


def held(reason: str = "WaitingOnPermit") -> PodDict:
    """The pod as the scheduler reported it."""
    pod = web()
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": HELD}
    pod["status"] = {"phase": "Pending", "conditions": [condition]}
    return pod


async def explained(plugin: type[Plugin] | None, *pods: PodDict) -> Explained:
    """The last of the pods."""
    cluster = objects(make_node("one", cpu="2"), pod_group("gang", 2), *pods)
    assembly = muster() if plugin is None else muster_with(plugin)
    return await explain_among(assembly, cluster, PodInfo(cluster.pods[-1]))


@pytest.mark.parametrize(
    ("plugin", "pod", "expected"),
    [
        (permitting("Gate", Wait(900.0, ("closed until noon",))), web(), HELD),
        (permitting("Gate", Wait(900.0)), web(), "waits on node one for Gate to permit it"),
        (permitting("Gate", Status.unschedulable("not today")), web(), "0/1 nodes are available: 1 not today."),
        (permitting("Gate", None), web(), ""),
        (None, held(), HELD),
        (None, held("Unschedulable"), ""),
    ],
    ids=["held now", "held without a word", "turned away", "let go", "reported", "waits for a node"],
)
async def test_a_pod_by_itself(plugin: type[Plugin] | None, pod: PodDict, expected: str) -> None:
    found = await explained(plugin, pod)
    assert found.at_permit == expected
    lines = [*render(found)]
    assert lines[1 : lines.index("")] == ([expected] if expected else []) + ["1 of 1 nodes can run the pod; best: one"]
    view = pod_page(objects(pod).pods[0], take_census(ClusterState((), (), KINDS, {})), found, now=0.0)
    assert [view.heading, *view.sentences] == ([expected] if expected else []) + ["It can go to one."]


async def test_a_pod_that_has_been_let_go_since() -> None:
    assert (await explained(None, held().node("one"))).at_permit == ""


async def test_a_member_of_a_group() -> None:
    gate = permitting("Gate", Wait(900.0, ("closed until noon",)))
    found = await explained(gate, *(member(f"m-{number}", "gang").requests(cpu="1") for number in range(2)))
    assert (found.group, [*render(found)].count(HELD)) == (HELD, 1)
