"""Which pods are moved so that what waits starts."""

import pytest

from muster.operator.defrag import choices, starting
from tests.builders import make_node, make_pod
from tests.simulate.rehearsing import member, pod_group

from .world import RACK, Manifest, answer, gang, moved, proposed, runs, waits

TWO = [make_node("one", cpu="4"), make_node("two", cpu="4")]


async def test_the_one_pod_is_moved_that_is_in_the_way_and_fits_elsewhere() -> None:
    found = await proposed(*TWO, runs("a", "one", "1"), runs("b", "two", "2"), waits("big", "4"))
    assert moved(found) == {"a": "two"}
    assert (found.starts, found.started, found.keep) == ("default/big", {"default/big": "one"}, ["one"])
    assert found.fewest


async def test_a_gang_starts_as_a_whole_on_what_the_moves_free() -> None:
    nodes = [make_node(name, cpu="4") for name in ("one", "two", "three")]
    pods = [runs(f"p-{node}", node, "1") for node in ("one", "two")]
    found = await proposed(*nodes, *pods, runs("full", "three", "2"), *gang(2, "4"))
    assert moved(found) == {"p-one": "three", "p-two": "three"}
    assert sorted(found.started.values()) == ["one", "two"]


async def test_a_gang_that_only_a_part_of_can_be_helped_moves_nothing() -> None:
    report = await answer(*TWO, runs("a", "one", "1"), *gang(2, "4"))
    assert report.proposal is None
    [passed] = report.unhelped
    assert passed.reason.startswith("no moves help; pod group default/gang is unschedulable")


async def test_one_large_pod_is_moved_rather_than_two_small_ones() -> None:
    nodes = [*TWO, make_node("three", cpu="2")]
    pods = [runs("large", "one", "2"), runs("s-0", "two", "1"), runs("s-1", "two", "1")]
    assert [*moved(await proposed(*nodes, *pods, waits("big", "4")))] == ["large"]


async def test_two_small_pods_are_moved_where_the_large_one_fits_nowhere() -> None:
    nodes = [*TWO, make_node("three", cpu="1"), make_node("four", cpu="1")]
    pods = [runs("large", "one", "3"), runs("s-0", "two", "1"), runs("s-1", "two", "1")]
    assert [*moved(await proposed(*nodes, *pods, waits("big", "4")))] == ["s-0", "s-1"]


async def test_of_pods_that_would_do_the_one_of_the_lowest_priority_is_moved() -> None:
    nodes = [*TWO, make_node("three", cpu="1")]
    pods = [runs("dear", "one", "1").priority(5), runs("cheap", "two", "1").priority(3)]
    assert moved(await proposed(*nodes, *pods, waits("big", "4"))).keys() == {"cheap"}


async def test_a_gang_that_needs_one_rack_gets_the_rack_with_the_fewest_pods_in_the_way() -> None:
    nodes = [make_node(f"{rack}{n}", cpu="4").labels({RACK: rack}) for rack in "ab" for n in range(2)]
    in_a, in_b = [runs(f"a-{n}", f"a{n}", "1") for n in range(2)], [runs("b-0", "b0", "1")]
    wanted = gang(2, "4")
    wanted[0]["metadata"]["annotations"] = {"muster-scheduler.io/required-topology": RACK}
    found = await proposed(*nodes, *in_a, *in_b, *wanted)
    assert [*moved(found)] == ["b-0"]
    assert set(found.started.values()) == {"b0", "b1"}


async def test_a_port_that_another_pod_holds_is_freed_too() -> None:
    holder = make_pod("holder").host_port(80).node("one").owned_by("ReplicaSet", "web")
    nodes = [make_node("one"), make_node("two").labels(app="no")]
    wanted = make_pod("server").host_port(80).node_selector({"disk": "ssd"})
    nodes[0].labels(disk="ssd")
    assert moved(await proposed(*nodes, holder, wanted)) == {"holder": "two"}


async def test_a_group_that_moves_do_not_help_is_passed_over_with_the_reason_and_the_next_is_helped() -> None:
    pods = [runs("a", "one", "1"), runs("b", "two", "2"), waits("huge", "9").priority(5), waits("big", "4")]
    report = await answer(*TWO, *pods)
    assert [each.name for each in report.unhelped] == ["default/huge"]
    assert "Insufficient cpu" in report.unhelped[0].reason
    assert report.proposal is not None
    assert report.proposal.starts == "default/big"


async def test_the_named_pod_is_helped_not_the_first() -> None:
    pods = [runs("a", "one", "1"), runs("b", "two", "1"), waits("first", "4").priority(5), waits("second", "4")]
    report = await answer(*TWO, make_node("three", cpu="1"), *pods, start="default/second")
    assert report.proposal is None, "the first would take the node"
    found = await proposed(*TWO, make_node("three", cpu="1"), *pods)
    assert found.starts == "default/first"


async def test_a_name_of_nothing_that_waits_is_said_to_be_none() -> None:
    report = await answer(*TWO, runs("a", "one", "1"), start="default/a")
    assert [(each.name, each.reason) for each in report.unhelped] == [
        ("default/a", "it is no group or pod that waits for a node")
    ]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ([waits("small", "1")], "it fits without any move"),
        ([pod_group("gang", 3), member("m-0", "gang")], "cannot find enough sibling pods"),
    ],
    ids=["it fits", "members are missing"],
)
async def test_a_pod_that_waits_for_something_else_than_capacity_moves_nothing(
    wanted: list[Manifest], reason: str
) -> None:
    report = await answer(*TWO, runs("a", "one", "1"), *wanted)
    assert report.proposal is None
    assert reason in report.unhelped[0].reason


async def test_a_proposal_after_sets_were_left_out_does_not_claim_to_be_the_smallest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [*TWO, make_node("three", cpu="1"), make_node("four", cpu="1")]
    pods = [runs("large", "one", "3"), runs("s-0", "two", "1"), runs("s-1", "two", "1")]
    assert (await proposed(*nodes, *pods, waits("big", "4"))).fewest
    monkeypatch.setattr(choices, "_MOST_SETS", 0)
    found = await proposed(*nodes, *pods, waits("big", "4"))
    assert not found.fewest
    assert [*found.sentences][-1] == "Fewer pods might do: not every smaller set was tried."


async def test_the_search_ends_after_a_number_of_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "MOST_TRIALS", 1)
    picky = [runs(f"p-{node}", node, "1").node_selector({"disk": "none"}) for node in ("one", "two")]
    report = await answer(*TWO, make_node("three", cpu="1"), *picky, waits("big", "4"))
    [unhelped] = report.unhelped
    assert unhelped.reason.startswith("no moves were found that help, in 1 trial; 0/3 nodes")


async def test_of_equal_pods_that_wait_one_is_looked_at() -> None:
    report = await answer(*TWO, waits("huge-0", "9"), waits("huge-1", "9"))
    assert [each.name for each in report.unhelped] == ["default/huge-0"]


async def test_pods_that_are_gated_held_or_nominated_are_left_out() -> None:
    held, *members = gang(2, "4", "held")
    held["metadata"]["annotations"] = {"muster-scheduler.io/hold": "rack is moved"}
    others = [waits("gated", "4").gate("example.com/wait"), waits("nominated", "4").nominated("one")]
    foreign = waits("foreign", "4").scheduler("default-scheduler")
    report = await answer(*TWO, runs("a", "one", "1"), runs("b", "two", "1"), held, *members, *others, foreign)
    assert (report.proposal, report.unhelped) == (None, [])


async def test_the_arithmetic_counts_the_places_of_each_rack_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "_MOST_SETS", 0)
    nodes = [make_node(f"{rack}{n}", cpu="4").labels({RACK: rack}) for rack in "ab" for n in range(2)]
    wanted = gang(2, "4")
    wanted[0]["metadata"]["annotations"] = {"muster-scheduler.io/required-topology": RACK}
    found = await proposed(*nodes, make_node("spare", cpu="1"), runs("a", "a0", "1"), runs("b", "b0", "1"), *wanted)
    assert len(found.moves) == 1
