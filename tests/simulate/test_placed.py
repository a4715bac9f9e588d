"""A pod that has a node is explained as if it were to be placed again, and its node is compared with the best."""

import pytest

from muster.framework.model.pod_info import PodInfo
from muster.operator.explain.live import Explained, explain_among
from muster.operator.explain.tables import render
from muster.operator.web.census import take_census
from muster.operator.web.cluster import ClusterState
from muster.operator.web.views.pod import pod_page
from tests.builders import NodeDict, make_node, make_pod
from tests.simulate.rehearsing import KINDS, muster, objects

AGAIN = "It has its node. If it were to be placed again now:"


def tainted(name: str) -> NodeDict:
    return make_node(name, cpu="4").taint("example.com/reserved", "NoSchedule")


async def explained(on: str, *nodes: NodeDict) -> Explained:
    """A pod of 2 cpu on this node, "" for none."""
    pod = make_pod("web").requests(cpu="2", memory="1Gi")
    cluster = objects(*nodes, pod.node(on) if on else pod)
    return await explain_among(muster(), cluster, PodInfo(cluster.pods[0]))


@pytest.mark.parametrize(
    ("on", "nodes", "best"),
    [
        ("", [make_node("a", cpu="4")], "a"),
        ("", [make_node("a", cpu="4"), make_node("b", cpu="4"), make_node("c", cpu="2")], "a and 1 more as good"),
        ("a", [make_node("a", cpu="4"), make_node("b", cpu="2")], "a, where it is"),
        ("a", [make_node("a", cpu="4"), make_node("b", cpu="4")], "a, where it is, and 1 more as good"),
        ("b", [make_node("a", cpu="4"), make_node("b", cpu="4")], "a and 1 more as good, b, where it is, among them"),
        ("b", [make_node("a", cpu="4"), tainted("b")], "a; b, where it is, could not run it now"),
        ("gone", [make_node("a", cpu="4")], "a; gone, where it is, could not run it now"),
    ],
)
async def test_an_explanation_names_the_best_node(on: str, nodes: list[NodeDict], best: str) -> None:
    found = await explained(on, *nodes)
    assert found.best == best
    lines = [*render(found)]
    assert (AGAIN in lines) == bool(on)
    possible = len(found.explanation.feasible)
    assert f"{possible} of {len(nodes)} nodes can run the pod; best: {best}" in lines
    view = pod_page(found.pod.pod, take_census(ClusterState((), (), KINDS, {})), found, now=0.0)
    assert view.heading == (f"It could go to {best}." if on else f"It can go to {best}.")


async def test_the_page_of_a_pod_says_first_that_no_profile_answers_to_it() -> None:
    cluster = objects(make_node("a", cpu="4"), make_pod("web").scheduler("mustre"))
    found = await explain_among(muster(), cluster, PodInfo(cluster.pods[0]))
    view = pod_page(found.pod.pod, take_census(ClusterState((), (), KINDS, {})), found, now=0.0)
    assert (view.heading, view.sentences) == (
        "No profile answers to mustre (did you mean muster?), so the pod waits for a scheduler of that name.",
        ["It could go to a."],
    )


async def test_a_worse_node_is_compared_by_its_points() -> None:
    found = await explained("small", make_node("large", cpu="64"), make_node("small", cpu="2"))
    totals = found.explanation.totals
    assert totals["small"] < totals["large"]
    assert found.best == f"large; small, where it is, has {totals['small']} points to {totals['large']}"
