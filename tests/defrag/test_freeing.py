"""Which pods are moved so that nodes, or the domains of a label, become free."""

from typing import Any

import pytest

from tests.builders import make_node, make_pod

from .world import RACK, answer, budget, moved, proposed, running_gang, runs

THREE = [make_node(name, cpu="4") for name in ("one", "two", "three")]


async def test_the_node_with_the_fewest_pods_that_fit_elsewhere_becomes_free() -> None:
    pods = [
        runs("a-0", "one", "1"),
        runs("a-1", "one", "1"),
        runs("b", "two", "2"),
        *[runs(f"c-{n}", "three", "1") for n in range(3)],
    ]
    found = await proposed(*THREE, *pods, free="nodes")
    assert (found.frees, [*moved(found)], found.keep, found.fewest) == (["two"], ["b"], ["two"], True)


async def test_a_node_that_is_free_already_does_not_count() -> None:
    found = await proposed(
        *THREE, runs("a", "one", "1"), runs("b-0", "two", "1"), runs("b-1", "two", "1"), free="nodes"
    )
    assert (found.frees, moved(found)["a"] != "one") == (["one"], True)


async def test_several_nodes_become_free_together_only_if_all_their_pods_fit_on_the_others() -> None:
    pods = [runs("a", "one", "2"), runs("b", "two", "1"), runs("c", "three", "1")]
    found = await proposed(*THREE, *pods, free="nodes", count=2)
    assert len(found.frees) == 2
    assert set(moved(found).values()).isdisjoint(found.frees)
    report = await answer(*THREE, *pods, free="nodes", count=3)
    assert report.proposal is None
    assert [(each.name, each.reason) for each in report.unhelped] == [("nodes", "no 3 can be freed together")]


async def test_pods_of_a_daemon_set_stay_on_a_free_node() -> None:
    agents = [
        make_pod(f"agent-{node}").requests(cpu="1").node(node).owned_by("DaemonSet", "agent") for node in ("one", "two")
    ]
    found = await proposed(
        *THREE[:2], *agents, runs("a", "one", "1"), runs("b-0", "two", "1"), runs("b-1", "two", "1"), free="nodes"
    )
    assert (found.frees, [*moved(found)]) == (["one"], ["a"])


async def test_a_node_with_a_pod_that_stays_does_not_become_free_and_the_reason_is_given() -> None:
    lone = make_pod("lone").requests(cpu="1").node("one")
    report = await answer(make_node("one"), make_node("two"), lone, free="nodes")
    assert report.proposal is None
    assert [(each.name, each.reason) for each in report.unhelped] == [
        ("one", "pod default/lone stays: no controller would replace it")
    ]


async def test_a_node_whose_pods_a_budget_does_not_let_go_together_does_not_become_free() -> None:
    pods = [runs(f"a-{n}", "one", "1").labels(app="db") for n in range(2)]
    report = await answer(*THREE, *pods, budget(1, app="db"), free="nodes")
    assert report.proposal is None
    assert report.unhelped[0].reason == "PodDisruptionBudgets do not let all of its pods go at once"


async def test_a_rack_becomes_free_as_a_whole() -> None:
    nodes = [make_node(f"{rack}{n}", cpu="4").labels({RACK: rack}) for rack in "abc" for n in range(2)]
    pods = [
        runs("a", "a0", "2"),
        runs("b-0", "b0", "1"),
        runs("b-1", "b1", "1"),
        runs("c", "c0", "4"),
        runs("d", "c1", "4"),
    ]
    found = await proposed(*nodes, *pods, free=RACK)
    assert (found.label, found.frees, [*moved(found)], found.keep) == (RACK, ["a"], ["a"], ["a0", "a1"])
    assert next(iter(found.sentences)) == f"If this pod moved, {RACK}=a would be free."


async def test_a_gang_across_nodes_is_moved_as_a_whole_and_counts_with_all_its_pods() -> None:
    gang = running_gang("other", {"o-0": "one", "o-1": "three"}, "1")
    pods = [runs("b", "two", "1"), runs("c", "three", "1")]
    found = await proposed(*THREE, *gang, *pods, free="nodes")
    assert (found.frees, [*moved(found)]) == (["two"], ["b"])
    alone = await proposed(*THREE, *gang, make_pod("lone").node("two"), make_pod("rest").node("three"), free="nodes")
    assert (alone.frees, sorted(moved(alone))) == (["one"], ["o-0", "o-1"])
    assert "one" not in moved(alone).values()


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"free": "nodes", "count": 2}, "no more than 1 can be freed"),
        ({"free": "nodes", "count": 1 << 64}, "no more than 1 can be freed"),
        ({"free": "kubernetes.io/hostname"}, "nothing is left to be freed"),
        ({"free": "example.com/row"}, "no node has this label"),
    ],
    ids=["too many", "more than a machine counts", "all are free", "no such label"],
)
async def test_nodes_that_cannot_be_freed_are_reported(question: dict[str, Any], reason: str) -> None:
    nodes = [make_node("one", cpu="4"), make_node("two", cpu="4")]
    pods = [runs("a", "one", "1")] if question["free"] == "nodes" else []
    report = await answer(*nodes, *pods, **question)
    assert report.proposal is None
    assert [each.reason for each in report.unhelped] == [reason]
