"""Nodes that pods are nominated to are kept for them in `why`, `explain` and `simulate`, as in the scheduler."""

import pytest

from muster.framework.model.pod_info import PodInfo
from muster.operator.explain.group_trial import try_group
from muster.operator.explain.live import explain_among
from muster.operator.simulate.rehearsal import Rehearsal
from tests.builders import PodDict, make_node, make_pod
from tests.simulate.rehearsing import GANG_ID, member, muster, objects, pod_group

NODES = [make_node("one", cpu="2"), make_node("two", cpu="2")]
SHORT = "0/2 nodes are available: 2 Insufficient cpu."


def nominee() -> PodDict:
    """A pod that waits, nominated to a node that it fills."""
    return make_pod("nominee").requests(cpu="2").priority(100).nominated("two")


def gang() -> list[PodDict]:
    """A group that needs both nodes."""
    return [PodDict(pod_group("gang", 2)), *(member(f"m-{number}", "gang").requests(cpu="2") for number in range(2))]


async def test_an_explanation_takes_nominated_pods_into_account() -> None:
    cluster = objects(*NODES, nominee(), make_pod("web").requests(cpu="2"))
    explained = await explain_among(muster(), cluster, PodInfo(cluster.pods[-1]))
    assert explained.explanation.feasible == ("one",)
    assert explained.explanation.rejected["two"].reasons == ("Insufficient cpu",)


async def test_a_pod_that_is_nominated_waits_for_the_victims_on_its_node_by_the_explanation_too() -> None:
    victim = make_pod("victim").node("two").requests(cpu="2").priority(0).terminating()
    leaving = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    victim["status"] = {"phase": "Running", "conditions": [leaving]}
    other = make_pod("other").node("one").requests(cpu="2").priority(0)
    cluster = objects(*NODES, victim, other, nominee())
    explained = await explain_among(muster(), cluster, PodInfo(cluster.pods[-1]))
    assert explained.explanation.message == (
        f"{SHORT} preemption: not eligible due to a terminating pod on the nominated node."
    )


@pytest.mark.parametrize("nominated", [False, True])
async def test_a_gang_is_tried_beside_what_others_are_nominated_to(nominated: bool) -> None:
    trial = await try_group(muster(), objects(*NODES, *[nominee()] * nominated, *gang()), GANG_ID)
    assert trial is not None
    assert trial.reason == (
        "pod group default/gang is unschedulable, 1 of the 2 members that it needs fits; with that one placed: " + SHORT
        if nominated
        else ""
    )


async def test_a_simulation_keeps_the_capacity_of_nominated_pods() -> None:
    wanted = objects(*(make_pod(f"web-{number}").requests(cpu="2") for number in range(2)))
    async with Rehearsal(muster(), objects(*NODES, nominee()), wanted) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
    assert [(each.node, each.reason) for each in placements] == [
        ("one", ""),
        ("", f"{SHORT} preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."),
    ]
