"""Large pods get reservations as gangs do, and gangs that need one rack get theirs in one rack."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from muster.plugins.gangscheduling.api import NAME
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.plugins.reservation.plugin import reserved_in
from muster.plugins.reservation.reserved_capacity import shares
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_members
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite
from tests.gangscheduling.world import make_group as make_native_group
from tests.gangscheduling.world import make_members as make_native_members

RACK = "example.com/rack"
AFTER = 60


@pytest.fixture
async def scheduler() -> AsyncIterator[VirtualScheduler]:
    document = configuration_of(["Coscheduling", "Reservation"], args={"Reservation": {"afterSeconds": AFTER}})
    found = VirtualScheduler(configuration=document)
    yield found
    await found.kill()


def runs_for(name: str, cpu: int, seconds: int | None = None, *, node: str = "") -> PodDict:
    """A pod that says when it ends, unless `seconds` is None."""
    pod = make_pod(name).requests(cpu=str(cpu))
    if seconds is not None:
        pod["spec"]["activeDeadlineSeconds"] = seconds
    return pod.node(node) if node else pod


def held_nodes(scheduler: VirtualScheduler) -> Sequence[list[str]]:
    """The nodes of each reservation."""
    names = scheduler.engine.cache.snapshot.names
    return [[names[row] for row in capacity.rows.tolist()] for capacity in reserved_in(scheduler.engine.shared)]


def share_of_cpu(scheduler: VirtualScheduler) -> float:
    """How much of all cpu is reserved."""
    offered = scheduler.engine.cache.snapshot.resources.offered_in_all()
    return shares(reserved_in(scheduler.engine.shared), offered).get("cpu", 0.0)


async def test_a_large_pod_gets_the_node_that_is_free_first(scheduler: VirtualScheduler) -> None:
    scheduler.add_nodes(make_node("a", cpu="4"), make_node("b", cpu="4"))
    scheduler.add(runs_for("on-a", 3, 900, node="a"), runs_for("on-b", 3, 300, node="b"), runs_for("large", 4))
    await scheduler.run(AFTER + 5)
    assert held_nodes(scheduler) == [["b"]]
    assert share_of_cpu(scheduler) == 0.5

    for name, seconds in (("late", 900), ("early", 100)):
        scheduler.add(runs_for(name, 1, seconds))
        await scheduler.run(2)
    assert (scheduler.node_of("default/late"), scheduler.node_of("default/early")) == ("a", "b")
    scheduler.delete("default/on-b", "default/early")
    await scheduler.run(20)
    assert scheduler.node_of("default/large") == "b"
    assert held_nodes(scheduler) == []
    assert share_of_cpu(scheduler) == 0.0


async def test_a_gang_that_needs_one_rack_gets_capacity_in_the_rack_that_is_free_first(
    scheduler: VirtualScheduler,
) -> None:
    for rack, seconds in (("r0", 900), ("r1", 400), ("r2", 600)):
        scheduler.add_nodes(*(make_node(f"{rack}n{n}", cpu="4").labels({RACK: rack}) for n in range(2)))
        scheduler.add(*(runs_for(f"on-{rack}n{n}", 2, seconds, node=f"{rack}n{n}") for n in range(2)))
    annotations = {"muster-scheduler.io/required-topology": RACK}
    scheduler.api.put("podgroups", make_group("g", 2, annotations=annotations))
    scheduler.add(*make_members("g", 2, cpu="4"))
    await scheduler.run(AFTER + 5)
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r1n0", "r1n1"]]


def add_racks(scheduler: VirtualScheduler, *until: int | None) -> None:
    """Racks of two nodes: one is empty, and on the other a pod runs so long."""
    for number, seconds in enumerate(until):
        rack = f"r{number}"
        scheduler.add_nodes(*(make_node(f"{rack}n{n}", cpu="4").labels({RACK: rack}) for n in range(2)))
        scheduler.add(runs_for(f"on-{rack}", 4, seconds, node=f"{rack}n1"))


SLICES_OF_2 = {"muster-scheduler.io/slice-topology": RACK, "muster-scheduler.io/slice-size": "2"}


async def test_a_gang_in_slices_gets_capacity_for_each_slice_in_one_rack(scheduler: VirtualScheduler) -> None:
    add_racks(scheduler, 900, 400, 600, 800)
    scheduler.api.put("podgroups", make_group("g", 4, annotations=SLICES_OF_2))
    members = make_members("g", 6, cpu="4")
    for each in (members[4:], members[:4]):
        scheduler.add(*each)
        await scheduler.run(1)
    await scheduler.run(AFTER + 5)
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r1n0", "r1n1", "r2n0", "r2n1"]]
    [capacity] = reserved_in(scheduler.engine.shared)
    first = {scheduler.api.pods[f"default/g-{number}"]["metadata"]["uid"] for number in range(4)}
    assert {*capacity.members} == first

    scheduler.delete("default/on-r1", "default/on-r2")
    await scheduler.run(5)
    assert [scheduler.node_of(f"default/g-{number}")[:2] for number in range(4)] in (
        ["r1", "r1", "r2", "r2"],
        ["r2", "r2", "r1", "r1"],
    )


async def test_where_no_end_is_known_slices_get_the_racks_in_which_least_has_to_end(
    scheduler: VirtualScheduler,
) -> None:
    add_racks(scheduler, *[None] * 4)
    scheduler.add(*(runs_for(f"too-{rack}", 1, node=f"{rack}n0") for rack in ("r0", "r2")))
    scheduler.api.put("podgroups", make_group("g", 4, annotations=SLICES_OF_2))
    scheduler.add(*make_members("g", 4, cpu="4"))
    await scheduler.run(AFTER + 5)
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r1n0", "r1n1", "r3n0", "r3n1"]]


async def test_a_slice_of_which_a_member_runs_is_filled_where_it_runs(scheduler: VirtualScheduler) -> None:
    add_racks(scheduler, 900, 400, 600)
    scheduler.api.put("podgroups", make_group("g", 4, annotations=SLICES_OF_2))
    [runs, *others] = make_members("g", 4, cpu="4")
    scheduler.add(runs.node("r0n0"), *others)
    await scheduler.run(AFTER + 5)
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r0n1", "r1n0", "r1n1"]]


async def test_a_later_member_of_a_gang_in_one_rack_gets_capacity_in_that_rack(scheduler: VirtualScheduler) -> None:
    add_racks(scheduler, 900, 400)
    scheduler.api.put("podgroups", make_group("g", 1, annotations={"muster-scheduler.io/required-topology": RACK}))
    [runs, later] = make_members("g", 2, cpu="4")
    scheduler.add(runs.node("r0n0"), later, runs_for("on-r1-too", 4, 300, node="r1n0"))
    await scheduler.run(AFTER + 5)
    assert held_nodes(scheduler) == [["r0n1"]]


async def test_where_no_end_is_known_a_gang_in_one_rack_gets_the_rack_that_lacks_least(
    scheduler: VirtualScheduler,
) -> None:
    for rack, cpu in (("r0", 4), ("r1", 1)):
        scheduler.add_nodes(*(make_node(f"{rack}n{n}", cpu="4").labels({RACK: rack}) for n in range(2)))
        scheduler.add(runs_for(f"service-{rack}", cpu, node=f"{rack}n0"))
    scheduler.add(runs_for("service-r0-too", 4, node="r0n1"))
    scheduler.api.put("podgroups", make_group("g", 2, annotations={"muster-scheduler.io/required-topology": RACK}))
    scheduler.add(*make_members("g", 2, cpu="4"))
    await scheduler.run(AFTER + 5)
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r1n0", "r1n1"]]
    assert f" 1 of the 2 members that it needs fits in {RACK}=r1" in scheduler.conditions["default/g-0"][1]


async def test_a_pod_that_waits_for_pods_that_stay_holds_nothing_until_a_node_comes(
    scheduler: VirtualScheduler,
) -> None:
    scheduler.add_nodes(make_node("a", cpu="4"))
    scheduler.add(runs_for("service", 1, node="a"), runs_for("large", 4))
    await scheduler.run(AFTER + 5)
    assert held_nodes(scheduler) == [["a"]]
    await scheduler.run(AFTER)
    scheduler.add(runs_for("small", 3))
    await scheduler.run(1)
    assert (held_nodes(scheduler), scheduler.node_of("default/small")) == ([], "a")

    scheduler.add_nodes(make_node("b", cpu="4"))
    scheduler.add(runs_for("brief", 1, 500, node="b"))
    await scheduler.run(10)
    assert held_nodes(scheduler) == [["b"]]


async def test_a_waiter_gets_a_new_reservation_after_a_pod_of_unknown_end_has_ended(
    scheduler: VirtualScheduler,
) -> None:
    scheduler.add_nodes(make_node("a", cpu="4"))
    scheduler.add(runs_for("service", 1, node="a"), runs_for("other", 1, node="a"), runs_for("large", 4))
    await scheduler.run(2 * AFTER + 5)
    assert held_nodes(scheduler) == []
    scheduler.delete("default/other")
    await scheduler.run(10)
    assert held_nodes(scheduler) == [["a"]]


async def test_a_waiter_for_pods_of_unknown_end_yields_to_a_pod_that_fits_beside_them(
    scheduler: VirtualScheduler,
) -> None:
    scheduler.add_nodes(make_node("a", cpu="4"))
    scheduler.add(runs_for("service", 1, node="a"), runs_for("other", 1, node="a"), runs_for("large", 4))
    await scheduler.run(2 * AFTER + 5)
    scheduler.delete("default/other")
    await scheduler.run(10)
    scheduler.add(runs_for("small", 3))
    await scheduler.run(AFTER - 5)
    assert (held_nodes(scheduler), scheduler.node_of("default/small")) == ([["a"]], "")
    await scheduler.run(10)
    assert (held_nodes(scheduler), scheduler.node_of("default/small")) == ([], "a")


async def test_a_tree_gets_capacity_for_its_quorum_of_parts_and_then_for_further_parts(
    scheduler: VirtualScheduler,
) -> None:
    for rack, seconds in (("r0", 900), ("r1", 400), ("r2", 600)):
        scheduler.add_nodes(*(make_node(f"{rack}n{n}", cpu="4").labels({RACK: rack}) for n in range(2)))
        scheduler.add(*(runs_for(f"on-{rack}n{n}", 2, seconds, node=f"{rack}n{n}") for n in range(2)))
    scheduler.api.put(COMPOSITE_KIND, make_composite("job", 2))
    for part in ("a", "b", "c"):
        in_rack: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": RACK}]}}
        scheduler.api.put(KIND, make_native_group(part, 2, parentCompositePodGroupName="job", **in_rack))
        scheduler.add(*make_native_members(part, 2, cpu="4"))
    await scheduler.run(AFTER + 10)
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r1n0", "r1n1"], ["r2n0", "r2n1"]]
    [note] = scheduler.notes("default/a-0", "CapacityReserved")
    assert note.startswith("Capacity for 4 pods of 2 groups is reserved on 4 nodes: they start by ")
    groups = scheduler.engine.shared[NAME]
    assert isinstance(groups, NativePodGroups)
    said = groups.record("default/a").announced
    assert said is not None
    assert f". {note} " in said.message

    scheduler.delete(*(f"default/on-{rack}n{n}" for rack in ("r1", "r2") for n in range(2)))
    await scheduler.run(AFTER + 20)
    assert {scheduler.node_of(f"default/{part}-{n}")[:2] for part in ("a", "b") for n in range(2)} == {"r1", "r2"}
    assert [sorted(nodes) for nodes in held_nodes(scheduler)] == [["r0n0", "r0n1"]]
    [note] = scheduler.notes("default/c-0", "CapacityReserved")
    assert note.startswith("Capacity for 2 pods is reserved on 2 nodes: they start by ")


async def test_a_tree_that_runs_in_a_rack_gets_capacity_for_its_later_pods_there(scheduler: VirtualScheduler) -> None:
    for rack, seconds in (("r0", 900), ("r1", 400)):
        scheduler.add_nodes(make_node(f"{rack}n0", cpu="4").labels({RACK: rack}))
        scheduler.add(runs_for(f"on-{rack}", 2, seconds, node=f"{rack}n0"))
    scheduler.api.put(COMPOSITE_KIND, make_composite("job", 1, schedulingConstraints={"topology": [{"key": RACK}]}))
    scheduler.api.put(KIND, make_native_group("a", 1, parentCompositePodGroupName="job"))
    [first], [second] = make_native_members("a", 1, cpu="1"), make_native_members("a", 1, first=1, cpu="3")
    scheduler.add(first.node("r0n0"), second)
    await scheduler.run(AFTER + 5)
    assert held_nodes(scheduler) == [["r0n0"]]


async def test_a_part_that_is_not_tried_is_planned_on_nodes_that_may_run_it(
    scheduler: VirtualScheduler,
) -> None:
    scheduler.add_nodes(
        make_node("a", cpu="4"), make_node("b", cpu="4"), make_node("gpu", cpu="4").labels({"gpu": "1"})
    )
    ends = {"a": 300, "b": 300, "gpu": 600}
    scheduler.add(*(runs_for(f"on-{name}", 3, seconds, node=name) for name, seconds in ends.items()))
    scheduler.api.put(COMPOSITE_KIND, make_composite("job", 2))
    for part in ("first", "second"):
        scheduler.api.put(KIND, make_native_group(part, 1, parentCompositePodGroupName="job"))
    [first], [second] = make_native_members("first", 1, cpu="4"), make_native_members("second", 1, cpu="4")
    scheduler.add(first, second.node_selector({"gpu": "1"}))
    await scheduler.run(AFTER + 5)
    assert sorted(held_nodes(scheduler)) == [["a"], ["gpu"]]


async def test_a_reservation_ends_when_its_holders_are_deleted(scheduler: VirtualScheduler) -> None:
    scheduler.add_nodes(make_node("a", cpu="4"))
    scheduler.add(runs_for("running", 3, node="a"), runs_for("large", 4))
    await scheduler.run(AFTER + 5)
    scheduler.add(runs_for("small", 1))
    await scheduler.run(2)
    assert (held_nodes(scheduler), scheduler.node_of("default/small")) == ([["a"]], "")

    scheduler.delete("default/large")
    await scheduler.run(2)
    assert (held_nodes(scheduler), scheduler.node_of("default/small")) == ([], "a")


async def test_a_more_important_pod_is_not_rejected_by_a_reservation(scheduler: VirtualScheduler) -> None:
    scheduler.add_nodes(make_node("a", cpu="4"))
    scheduler.add(runs_for("running", 3, node="a"), runs_for("large", 4))
    await scheduler.run(AFTER + 5)
    scheduler.add(runs_for("urgent", 1).priority(10))
    await scheduler.run(2)
    assert scheduler.node_of("default/urgent") == "a"
