"""Gangs that have to be, or should be, together in one topology domain."""

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.objects import GROUP_LABEL, make_member, make_members
from tests.coscheduling.scenarios.test_hopeless_groups import Searches
from tests.coscheduling.world import World

RACK = "example.com/rack"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "muster-scheduler.io/required-topology"
PREFERRED = "muster-scheduler.io/preferred-topology"


def add_racks(world: World, sizes: Iterable[int], *, zone: str = "", cpu: str = "1") -> None:
    """Racks `r0` and so on of a zone, each with so many nodes `<zone>r<rack>n<node>`."""
    for rack, size in enumerate(sizes):
        labels = {RACK: f"r{rack}", **({ZONE: zone} if zone else {})}
        world.add_nodes(*(make_node(f"{zone}r{rack}n{n}", cpu=cpu).labels(labels) for n in range(size)))


def racks(world: World, group: str, namespace: str = "default") -> Counter[str]:
    """How many bound members of the group each rack has."""
    nodes = (world.api.pods[key]["spec"]["nodeName"] for key in world.bound(group, namespace))
    return Counter(node.rpartition("n")[0] for node in nodes)


async def test_a_gang_starts_in_the_rack_with_the_tightest_fit(world: World) -> None:
    add_racks(world, [4, 6, 5, 3])
    world.add_group("g", 4, annotations={REQUIRED: RACK})
    world.add(*make_members("g", 4))
    await world.settle()

    assert racks(world, "g") == {"r0": 4}
    world.check()


async def test_the_total_capacity_of_all_racks_does_not_suffice_for_a_gang_that_needs_one_rack(world: World) -> None:
    add_racks(world, [2, 3, 2])
    world.add_group("g", 4, annotations={REQUIRED: RACK})
    with Searches() as searches:
        world.add(*make_members("g", 4))
        await world.settle()

    assert world.bound("g") == []
    text = (
        "pod group default/g is unschedulable, 3 of the 4 members that it needs fit in example.com/rack=r1, "
        "the best of 3 domains; with those 3 placed: 0/3 nodes are available: 3 Insufficient cpu."
    )
    assert world.conditions["default/g-0"][:2] == ("Unschedulable", text)
    assert word(world, "g") == ("Unschedulable", text)
    assert searches.count == 2

    world.add_nodes(make_node("r2n2", cpu="1").labels({RACK: "r2"}), make_node("r2n3", cpu="1").labels({RACK: "r2"}))
    await world.run(20)
    assert racks(world, "g") == {"r2": 4}


async def test_without_nodes_that_have_the_label_the_group_says_so(world: World) -> None:
    world.add_nodes(make_node("a", cpu="8"))
    world.add_group("g", 2, annotations={REQUIRED: f"{ZONE},{RACK}"})
    world.add(*make_members("g", 2))
    await world.settle()

    assert word(world, "g")[1] == (
        "pod group default/g is unschedulable, no node has the labels topology.kubernetes.io/zone and example.com/rack"
    )


async def test_a_slice_label_that_no_node_has_is_named_on_the_group_and_on_its_pods(world: World) -> None:
    world.add_nodes(*(make_node(f"n{n}", cpu="8").labels({ZONE: f"zone-{n}"}) for n in range(3)))
    annotations = {REQUIRED: ZONE, "muster-scheduler.io/slice-topology": RACK, "muster-scheduler.io/slice-size": "2"}
    world.add_group("g", 4, annotations=annotations)
    world.add(*make_members("g", 4))
    await world.settle()

    text = f"pod group default/g is unschedulable, no node has the label {RACK}"
    assert word(world, "g") == ("Unschedulable", text)
    assert world.conditions["default/g-0"][:2] == ("Unschedulable", text)


async def test_slice_and_domain_labels_that_no_node_has_together_are_both_named(world: World) -> None:
    world.add_nodes(make_node("a", cpu="8").labels({ZONE: "zone-1"}), make_node("b", cpu="8").labels({RACK: "r1"}))
    annotations = {REQUIRED: ZONE, "muster-scheduler.io/slice-topology": RACK, "muster-scheduler.io/slice-size": "2"}
    world.add_group("g", 2, annotations=annotations)
    world.add(*make_members("g", 2))
    await world.settle()

    assert word(world, "g")[1] == f"pod group default/g is unschedulable, no node has the labels {ZONE} and {RACK}"


async def test_members_that_come_later_or_replace_others_go_where_the_gang_runs(world: World) -> None:
    add_racks(world, [5, 9])
    world.add_group("g", 3, annotations={REQUIRED: RACK})
    world.add(*make_members("g", 3))
    await world.settle()
    assert racks(world, "g") == {"r0": 3}

    world.delete("default/g-1")
    world.add(*(make_member(f"late-{number}", "g") for number in range(4)))
    await world.run(5)

    assert racks(world, "g") == {"r0": 5}
    assert len(world.bound("g")) == 5  # the sixth member waits: the rack is full
    world.check()


async def test_a_gang_that_lost_its_quorum_is_completed_where_the_rest_runs(world: World) -> None:
    add_racks(world, [4, 8])
    world.add_group("g", 4, annotations={REQUIRED: RACK})
    world.add(*make_members("g", 4))
    await world.settle()
    world.delete("default/g-1", "default/g-2")
    world.add(make_member("squatter", "", cpu="1").node_selector({RACK: "r0"}))
    await world.settle()
    world.add(make_member("g-4", "g"), make_member("g-5", "g"))
    await world.run(5)

    assert racks(world, "g") == {"r0": 2}
    assert "in example.com/rack=r0, where others of it run" in word(world, "g")[1]


async def test_a_gang_that_runs_in_two_racks_or_in_none_says_so(world: World) -> None:
    add_racks(world, [4, 4])
    world.add_nodes(make_node("outside", cpu="4"))
    for name, nodes in (("two", ("r0n0", "r1n0")), ("none", ("outside", "r0n1"))):
        world.add_group(name, 4, annotations={REQUIRED: RACK})
        members = make_members(name, 4)
        for member, node in zip(members, nodes, strict=False):
            member.node(node)
        world.add(*members)
    await world.settle()

    undetermined = "cannot determine domain for already scheduled pods: "
    for name, cause in (
        ("two", "more than 1 domain found for pod group: r0, r1"),
        ("none", "no topology domain found for pod default/none-0"),
    ):
        text = f"pod group default/{name} is unschedulable: {undetermined}{cause}"
        assert word(world, name) == ("Unschedulable", text)
        assert world.conditions[f"default/{name}-3"][:2] == ("SchedulerError", undetermined + cause)


async def test_preferred_levels_give_way_one_by_one_and_required_ones_do_not(world: World) -> None:
    add_racks(world, [2, 3], zone="a")
    add_racks(world, [2, 2], zone="b")
    asked = {REQUIRED: ZONE, PREFERRED: RACK}
    for name, size in (("one-rack", 3), ("one-zone", 4), ("too-many", 5)):
        world.add_group(name, size, annotations=asked)
        world.add(*make_members(name, size))
        await world.settle()

    assert racks(world, "one-rack") == {"ar1": 3}
    assert racks(world, "one-zone") == {"br0": 2, "br1": 2}
    assert world.bound("too-many") == []
    assert (
        "2 of the 5 members that it needs fit in topology.kubernetes.io/zone=a, the best of 2 domains"
        in (word(world, "too-many")[1])
    )


async def test_preferred_levels_give_way_to_a_later_member_too_and_required_ones_do_not(world: World) -> None:
    add_racks(world, [2, 1, 1], zone="a")
    add_racks(world, [4], zone="b")
    world.add_group("g", 1, annotations={REQUIRED: ZONE, PREFERRED: RACK})
    first, *later = make_members("g", 5)
    world.add(first.node("ar0n0"))
    for member in later:
        world.add(member)
        await world.settle()

    assert racks(world, "g") == {"ar0": 2, "ar1": 1, "ar2": 1}


async def test_where_nothing_is_required_a_gang_starts_anywhere_in_the_end(world: World) -> None:
    add_racks(world, [2, 3])
    world.add_group("g", 5, annotations={PREFERRED: RACK})
    world.add(*make_members("g", 5))
    await world.settle()

    assert racks(world, "g") == {"r0": 2, "r1": 3}


async def test_racks_of_one_name_in_two_zones_are_two_domains(world: World) -> None:
    add_racks(world, [2], zone="a")
    add_racks(world, [3], zone="b")
    world.add_group("g", 4, annotations={REQUIRED: f"{ZONE},{RACK}"})
    world.add(*make_members("g", 4))
    await world.settle()

    assert (
        "3 of the 4 members that it needs fit in topology.kubernetes.io/zone=b, example.com/rack=r0"
        in (word(world, "g")[1])
    )


async def test_an_annotation_that_cannot_be_read_is_reported_on_the_group_until_it_is_mended(world: World) -> None:
    add_racks(world, [4])
    key = world.add_group("g", 2, annotations={REQUIRED: "not a label"})
    world.add(*make_members("g", 2))
    await world.settle()

    reason, text = word(world, "g")
    assert reason == "Unschedulable"
    assert text.startswith('metadata.annotations[muster-scheduler.io/required-topology]: Invalid value: "not a label"')
    assert world.bound("g") == []

    world.api.change("podgroups", key, lambda group: group["metadata"]["annotations"].update({REQUIRED: RACK}))
    await world.run(20)
    assert racks(world, "g") == {"r0": 2}


SLICED = {REQUIRED: ZONE, "muster-scheduler.io/slice-topology": RACK, "muster-scheduler.io/slice-size": "4"}


async def test_slices_are_each_in_one_rack_and_all_in_one_zone(world: World) -> None:
    add_racks(world, [4, 6, 3], zone="a")
    add_racks(world, [7, 4, 4], zone="b")
    world.add_group("g", 12, annotations=SLICED)
    world.add(*make_members("g", 12))
    await world.settle()

    assert racks(world, "g") == {"br0": 4, "br1": 4, "br2": 4}
    by_rack = {world.node_of(f"default/g-{number}").rpartition("n")[0] for number in range(4)}
    assert len(by_rack) == 1  # neighbouring ranks share a slice
    world.check()


async def test_slices_that_one_zone_does_not_take_never_go_to_another(world: World) -> None:
    """Capacity is counted for all, but each node takes one of them: that shows only when they are tried."""
    for zone in ("a", "b"):
        add_racks(world, [2], zone=zone, cpu="4")
    world.add_group("g", 4, annotations={**SLICED, "muster-scheduler.io/slice-size": "2"})
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {GROUP_LABEL: "g"}}}
    members = make_members("g", 4)
    for pod in members:
        pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    world.add(*members)
    await world.settle()

    assert world.bound("g") == []


async def test_racks_with_capacity_for_members_but_not_for_complete_slices_are_named(world: World) -> None:
    add_racks(world, [4, 3, 3], zone="a")
    world.add_group("g", 8, annotations=SLICED)
    world.add(*make_members("g", 8))
    await world.settle()

    assert world.bound("g") == []
    assert (
        "7 of the 8 members that it needs fit in topology.kubernetes.io/zone=a, the best of 1 domain, "
        "in slices of 4 by example.com/rack; with those 7 placed: 0/3 nodes are available: 3 Insufficient cpu."
    ) in word(world, "g")[1]


async def test_a_member_that_replaces_another_goes_to_the_slice_that_lacks_it(world: World) -> None:
    add_racks(world, [6, 6], zone="a")
    world.add_group("g", 8, annotations=SLICED)
    world.add(*make_members("g", 8))
    await world.settle()
    assert racks(world, "g") == {"ar0": 4, "ar1": 4}

    lost = next(key for key in world.bound("g") if "r1" in world.node_of(key))
    world.delete(lost)
    world.add(make_member("late", "g"))
    await world.run(5)
    assert racks(world, "g") == {"ar0": 4, "ar1": 4}


async def test_a_member_that_replaces_another_waits_while_another_pod_has_the_capacity_of_its_slice(
    world: World,
) -> None:
    add_racks(world, [2, 2])
    annotations = {key: text for key, text in SLICED.items() if key != REQUIRED}
    world.add_group("g", 2, annotations={**annotations, "muster-scheduler.io/slice-size": "2"})
    world.add(*make_members("g", 2))
    await world.settle()
    [rack] = racks(world, "g")

    world.delete("default/g-0")
    [other] = world.add(make_pod("other").requests(cpu="1").node_selector({RACK: rack}))
    await world.settle()
    world.add(make_member("late", "g"))
    await world.run(5)
    assert racks(world, "g") == {rack: 1}

    world.delete(other)
    await world.run(20)
    assert racks(world, "g") == {rack: 2}


async def test_members_that_replace_one_of_each_slice_stay_in_the_preferred_domain(world: World) -> None:
    for zone in ("a", "b"):
        add_racks(world, [1, 1], zone=zone, cpu="2")
    annotations = {key: text for key, text in SLICED.items() if key != REQUIRED}
    world.add_group("g", 4, annotations={**annotations, PREFERRED: ZONE, "muster-scheduler.io/slice-size": "2"})
    world.add(*make_members("g", 4))
    await world.settle()
    before = racks(world, "g")
    assert [*before.values()] == [2, 2]

    for rack in before:
        world.delete(next(key for key in world.bound("g") if world.node_of(key).startswith(rack)))
    await world.settle()
    world.add(make_member("late-0", "g"), make_member("late-1", "g"))
    await world.run(5)
    assert racks(world, "g") == before


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_slice_that_a_running_gang_begins_is_in_a_rack_that_takes_all_of_it(
    world: World, *, at_once: bool
) -> None:
    add_racks(world, [4, 1], zone="a")
    annotations = {key: text for key, text in SLICED.items() if key != REQUIRED}
    world.add_group("g", 4, annotations=annotations)
    world.add(*make_members("g", 4))
    await world.settle()
    world.add_nodes(*(make_node(f"br9n{n}", cpu="1").labels({RACK: "r9"}) for n in range(4)))
    await world.settle()
    for number in range(4):
        world.add(make_member(f"later-{number}", "g"))
        if not at_once:
            await world.settle()
    await world.run(5)

    assert racks(world, "g") == {"ar0": 4, "br9": 4}


@pytest.mark.parametrize("quorum", [5, 4, 3])
async def test_a_member_that_replaces_another_does_not_go_to_the_smaller_slice_at_the_end(
    world: World, quorum: int
) -> None:
    add_racks(world, [3, 4], zone="a")
    world.add_group("g", quorum, annotations=SLICED)
    world.add(*make_members("g", 5))
    await world.settle()
    assert racks(world, "g") == {"ar0": 1, "ar1": 4}

    world.delete(next(key for key in world.bound("g") if world.node_of(key).startswith("ar1")))
    await world.settle()
    world.add(make_member("late", "g"))
    await world.run(5)
    assert racks(world, "g") == {"ar0": 1, "ar1": 4}


@pytest.mark.parametrize("least", [5, 4])
async def test_a_member_that_replaces_another_leaves_the_smaller_slice_at_the_end_alone(
    world: World, least: int
) -> None:
    add_racks(world, [3, 4], zone="a")
    world.add_group("g", least, annotations=SLICED)
    world.add(*make_members("g", 5))
    await world.settle()
    assert racks(world, "g") == {"ar0": 1, "ar1": 4}

    world.delete(next(key for key in world.bound("g") if "r1" in world.node_of(key)))
    [other] = world.add(make_pod("other").requests(cpu="1").node_selector({RACK: "r1"}))
    await world.settle()
    world.add(make_member("late", "g"))
    await world.run(5)
    assert racks(world, "g") == {"ar0": 1, "ar1": 3}

    world.delete(other)
    await world.run(20)
    assert racks(world, "g") == {"ar0": 1, "ar1": 4}


async def test_slices_alone_may_be_anywhere(world: World) -> None:
    add_racks(world, [5, 3, 4])
    world.add_group("g", 8, annotations={key: text for key, text in SLICED.items() if key != REQUIRED})
    world.add(*make_members("g", 8))
    await world.settle()
    assert racks(world, "g") == {"r0": 4, "r2": 4}


@pytest.mark.parametrize("preferred", [{}, {PREFERRED: ZONE}], ids=["no level", "a preferred level"])
async def test_a_member_beyond_the_quorum_joins_the_open_slice_or_waits(
    world: World, preferred: dict[str, str]
) -> None:
    add_racks(world, [3, 1], zone="a")
    annotations = {name: SLICED[name] for name in SLICED if name != REQUIRED} | preferred
    world.add_group("g", 3, annotations=annotations)
    world.add(*make_members("g", 4))
    await world.settle()
    assert racks(world, "g") == {"ar0": 3}

    world.delete("default/g-0")
    await world.run(5)
    assert racks(world, "g") == {"ar0": 3}


async def test_members_in_slices_get_the_parts_that_they_are_nominated_to(world: World) -> None:
    """As a new leader finds them. By rank, the first two would get the rack whose capacity is kept for the others."""
    add_racks(world, [2, 2])
    annotations = {name: SLICED[name] for name in SLICED if name != REQUIRED}
    world.add_group("g", 4, annotations={**annotations, "muster-scheduler.io/slice-size": "2"})
    nodes = ("r1n0", "r1n1", "r0n0", "r0n1")
    world.add(*(pod.nominated(node) for pod, node in zip(make_members("g", 4), nodes, strict=True)))
    await world.settle()

    assert racks(world, "g") == {"r0": 2, "r1": 2}


async def test_a_member_that_begins_a_slice_goes_to_no_node_without_the_label(world: World) -> None:
    add_racks(world, [2], zone="a")
    world.add_nodes(make_node("bare", cpu="8").labels({ZONE: "a"}))
    world.add_group("g", 2, annotations={**SLICED, "muster-scheduler.io/slice-size": "2"})
    world.add(*make_members("g", 3))
    await world.settle()

    assert racks(world, "g") == {"ar0": 2}


async def test_annotations_of_slices_that_mean_nothing_are_reported(world: World) -> None:
    add_racks(world, [4])
    wrong = {
        "no size": {"muster-scheduler.io/slice-topology": RACK},
        "no number": {**SLICED, "muster-scheduler.io/slice-size": "many"},
        "the same twice": {**SLICED, REQUIRED: RACK},
    }
    for number, (name, annotations) in enumerate(wrong.items()):
        world.add_group(f"g{number}", 1, annotations=annotations)
        world.add(*make_members(f"g{number}", 1))
        await world.settle()
        assert word(world, f"g{number}")[1].startswith("metadata.annotations[muster-scheduler.io/slice-"), name
        assert world.bound(f"g{number}") == []
