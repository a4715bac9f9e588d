"""Groups of groups: CompositePodGroups of scheduling.k8s.io, decided by the whole engine in virtual time."""

from typing import Any

import pytest

from muster.framework.contract.group_tree import COMPOSITE_PREFIX
from muster.framework.scheduler.explain import explain
from muster.plugins.gangscheduling.record import NativePodGroupReason
from tests.builders import make_node, make_pod
from tests.gangscheduling.world import COMPOSITE_KIND, NO_VICTIMS, World, make_members

IN_RACK = {"topology": [{"key": "rack"}]}
_WAITS = 'waiting for composite pod group "job" tree to meet quorum: '


class CompositeWorld(World):
    """A cluster in which every group is a part."""

    def part(self, name: str, min_count: int | None, pods: int, parent: str = "job", **spec: Any) -> str:
        """A part comes with its pods."""
        key = self.add_group(name, min_count, parentCompositePodGroupName=parent, **spec)
        self.add(*make_members(name, pods))
        return key

    def started(self, *names: str) -> list[int]:
        """How many pods of these groups are bound."""
        return [len(self.bound(name)) for name in names]


async def test_two_gangs_of_one_composite_start_together_or_not_at_all() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    world.add_composite("job", 2)
    left, right = world.part("left", 2, 2), world.part("right", 2, 2)
    await world.settle()
    assert world.started("left", "right") == [0, 0]
    lacks = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    assert world.reported(left) == world.reported(right) == (NativePodGroupReason.UNSCHEDULABLE, lacks + NO_VICTIMS)
    assert {key: message for key, (_, message, _) in world.conditions.items()} == {
        "default/left-0": lacks,
        "default/left-1": lacks,
        "default/right-0": f"pod group is unschedulable, {lacks}{NO_VICTIMS}",
        "default/right-1": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    world.add_nodes(make_node("two", cpu="1"))
    await world.until(lambda: world.started("left", "right") == [2, 2], within=15)
    assert world.reported(left) == world.reported(right) == (NativePodGroupReason.SCHEDULED, "")
    world.check()


async def test_parts_beyond_the_quorum_of_a_composite_wait_until_they_fit() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    world.add_composite("job", 1)
    world.part("left", 2, 2)
    right = world.part("right", 2, 2)
    await world.settle()
    assert world.started("left", "right") == [2, 0]
    assert world.reported(right) == (
        NativePodGroupReason.UNSCHEDULABLE,
        "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
    )
    world.add_nodes(make_node("two", cpu="1"))
    await world.until(lambda: world.started("right") == [2], within=15)
    world.check()


async def test_pods_beyond_the_quorum_of_a_part_wait_until_they_fit() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="4"))
    world.add_composite("job", 2)
    world.part("left", 2, 3)
    world.part("right", 1, 2)
    await world.settle()
    assert world.started("left", "right") == [3, 1]
    world.add_nodes(make_node("two", cpu="1"))
    await world.until(lambda: world.started("right") == [2], within=15)
    world.check()


async def test_a_part_that_cannot_start_with_the_others_takes_no_capacity() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    world.add_composite("job", 2)
    world.add_composite("inner", 2, parentCompositePodGroupName="job")
    world.part("a-first", 2, 2, "inner")
    world.part("a-second", 2, 2, "inner")
    world.part("b", 1, 1)
    world.part("c", 2, 2)
    await world.settle()
    assert world.started("a-first", "a-second", "b", "c") == [0, 0, 1, 2]
    world.check()


@pytest.mark.parametrize(
    ("late", "lack"),
    [
        ("composite", 'waiting for composite pod group "job" to appear in scheduling queue'),
        ("group", f'{_WAITS}1 of the 2 groups that "job" needs has its pods'),
        (
            "pods",
            f'{_WAITS}1 of the 2 groups that "job" needs has its pods; 1 of the 2 pods that "right" needs exists',
        ),
    ],
)
async def test_a_missing_part_of_a_tree_is_named_and_all_start_when_it_comes(late: str, lack: str) -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="4"))
    left = world.part("left", 2, 2)
    if late != "composite":
        world.add_composite("job", 2)
    if late != "group":
        world.part("right", 2, 1 if late == "pods" else 2)
    await world.settle()
    assert (world.started("left", "right"), world.groups.why_not_ready(left)) == ([0, 0], lack)
    assert world.places()["gated"] == {"composite": 4, "group": 2, "pods": 3}[late]
    queued = next(
        world.engine.queue.contents.get(line.uid) for line in world.engine.queue.contents.dump() if "left" in line.pod
    )
    assert queued is not None
    rejected = explain(world.engine.algorithms["muster"], queued.info).prefilter
    assert rejected is not None
    assert rejected.message == lack
    match late:
        case "composite":
            world.add_composite("job", 2)
        case "group":
            world.part("right", 2, 2)
        case _:
            world.add(*make_members("right", 1, first=1))
    await world.settle()
    assert world.started("left", "right") == [2, 2]
    world.check()


async def test_a_part_that_comes_later_joins_the_others_and_is_whole_itself() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    world.add_composite("job")
    world.part("left", 2, 2)
    await world.settle()
    world.part("right", 2, 2)
    await world.settle()
    assert world.started("left", "right") == [2, 0]
    world.add_nodes(make_node("two", cpu="1"))
    await world.until(lambda: world.started("right") == [2], within=15)


async def test_the_parts_that_exist_start_when_the_composite_needs_fewer() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="4"))
    job = world.add_composite("job", 3)
    world.part("left", 2, 2)
    world.part("right", 2, 2)
    await world.settle()
    assert world.started("left", "right") == [0, 0]
    world.change_min_group_count(job, 2)
    await world.settle()
    assert world.started("left", "right") == [2, 2]
    world.check()


async def test_parts_without_capacity_start_when_the_composite_needs_fewer_of_them() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    job = world.add_composite("job", 2)
    world.part("left", 2, 2)
    world.part("right", 2, 2)
    await world.settle()
    assert world.started("left", "right") == [0, 0]
    world.change_min_group_count(job, 1)
    await world.settle()
    assert world.started("left", "right") == [2, 0]
    world.check()


async def test_pods_wait_for_one_more_part_once_the_composite_needs_more() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    job = world.add_composite("job", 2)
    left, right = world.part("left", 2, 2), world.part("right", 2, 2)
    await world.settle()
    assert world.places()["gated"] == 0
    world.change_min_group_count(job, 3)
    await world.settle()
    assert world.places()["gated"] == 4
    lack = f'{_WAITS}2 of the 3 groups that "job" needs have their pods'
    assert world.groups.why_not_ready(left) == world.groups.why_not_ready(right) == lack
    world.add_nodes(make_node("two", cpu="1"))
    await world.settle()
    assert world.started("left", "right") == [0, 0]
    world.check()


async def test_inner_domains_are_parts_of_the_outer_one() -> None:
    world = CompositeWorld()
    for zone, rack in (("x", "1"), ("x", "2"), ("y", "1"), ("y", "2")):
        cpu = "1" if zone == "x" and rack == "2" else "2"
        world.add_nodes(make_node(f"{zone}{rack}", cpu=cpu).labels({"zone": zone, "rack": rack}))
    world.add_composite("job", 2, schedulingConstraints={"topology": [{"key": "zone"}]})
    in_rack = {"topology": [{"key": "rack"}]}
    left = world.part("left", 2, 2, schedulingConstraints=in_rack)
    world.part("right", 2, 2, schedulingConstraints=in_rack)
    await world.settle()
    nodes = {world.node_of(f"default/{part}-{number}") for part in ("left", "right") for number in (0, 1)}
    assert nodes == {"y1", "y2"}
    assert world.reported(left) == (NativePodGroupReason.SCHEDULED, "")
    world.check()


async def test_where_no_domain_takes_all_parts_the_reason_names_the_closest() -> None:
    world = CompositeWorld()
    for rack in ("a", "b"):
        world.add_nodes(make_node(rack, cpu="3").labels({"rack": rack}))
    world.add_composite("job", 2, schedulingConstraints={"topology": [{"key": "rack"}]})
    left, right = world.part("left", 2, 2), world.part("right", 2, 2)
    await world.settle()
    placements = "pod group is unschedulable, 0/2 placements are available, first placement status: "
    lacks = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    assert (world.reported(left), world.reported(right)) == (
        (NativePodGroupReason.UNSCHEDULABLE, placements + lacks + NO_VICTIMS),
        (NativePodGroupReason.UNSCHEDULABLE, lacks + NO_VICTIMS),
    )
    said = world.said(left)
    assert said is not None
    assert said.note in ("rack=a comes closest.", "rack=b comes closest.")
    world.check()


@pytest.mark.parametrize("running", [0, 1])
@pytest.mark.parametrize("waiting", [0, 1])
async def test_a_part_that_needs_a_domain_and_has_too_few_pods_reports_its_domains(running: int, waiting: int) -> None:
    world = CompositeWorld()
    for rack in ("a", "b"):
        world.add_nodes(make_node(rack, cpu="4").labels({"rack": rack}))
    world.add_composite("job", 1)
    left = world.part("left", 3, 0, schedulingConstraints=IN_RACK)
    members = make_members("left", running + waiting)
    world.add(*(member.node("a") for member in members[:running]), *members[running:])
    right = world.part("right", 1, 1)
    await world.settle()
    domains = 1 if running else 2
    lacks = f"0/{domains} placements are available, first placement status: pod group is unschedulable"
    text = f"pod group is unschedulable, {lacks}"
    assert world.reported(left) == (NativePodGroupReason.UNSCHEDULABLE, text)
    assert world.reported(right) == (NativePodGroupReason.SCHEDULED, "")
    assert {message for _, message, _ in world.conditions.values()} == ({text} if waiting else set())


async def test_parts_of_a_group_for_which_there_is_no_domain_have_the_reason_of_that_group() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="4"))
    world.add_composite("job", 2)
    world.add_composite("inner", 1, parentCompositePodGroupName="job", schedulingConstraints=IN_RACK)
    beside = world.part("beside", 1, 1)
    fits, lacks_pods = world.part("fits", 1, 1, parent="inner"), world.part("lacks-pods", 2, 1, parent="inner")
    await world.settle()
    above = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    text = "no feasible placements found: no node has the label rack"
    assert world.reported(beside) == (NativePodGroupReason.UNSCHEDULABLE, above + NO_VICTIMS)
    assert world.reported(fits) == world.reported(lacks_pods) == (NativePodGroupReason.UNSCHEDULABLE, text + NO_VICTIMS)
    assert {key: message for key, (_, message, _) in world.conditions.items()} == {
        "default/beside-0": above,
        "default/fits-0": text,
        "default/lacks-pods-0": text,
    }


async def test_pods_have_the_priority_of_the_outermost_group_or_none_is_tried() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="4"))
    world.add_composite("job", 2, priority=10)
    left, right = world.part("left", 1, 1), world.part("right", 1, 1)
    await world.settle()
    wrong = "all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 10"
    assert world.reported(left) == world.reported(right) == (NativePodGroupReason.SCHEDULER_ERROR, wrong)


async def test_a_composite_queues_by_the_priority_of_its_root() -> None:
    world = CompositeWorld()
    world.add_composite("job", 1, priority=10)
    world.add_composite("low", 1, priority=1)
    for part, parent, priority in (("late", "low", 1), ("first", "job", 10)):
        world.add_group(part, 1, parentCompositePodGroupName=parent, priority=5)
        world.add(*make_members(part, 1, priority=priority))
    await world.settle()
    world.add_nodes(make_node("one", cpu="1"))
    await world.run(30)
    assert world.started("late", "first") == [0, 1]


async def test_a_composite_that_loses_a_pod_during_binding_binds_no_pod() -> None:
    world = CompositeWorld()
    world.binder.latency = lambda: 1.0
    world.add_nodes(make_node("one", cpu="8"))
    world.add_composite("job", 2)
    world.part("left", 2, 2)
    world.part("right", 2, 2)
    world.step()
    world.delete("default/right-1")
    await world.run(5)
    assert world.started("left", "right") == [0, 0]
    world.add(*make_members("right", 1, first=2))
    await world.until(lambda: world.started("left", "right") == [2, 2], within=15)


@pytest.mark.parametrize("length", [1, 2, 5])
async def test_groups_that_are_parts_of_themselves_wait_and_say_so(
    length: int, caplog: pytest.LogCaptureFixture
) -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="4"))
    left = world.part("left", 1, 1, parent="job-0")
    world.add(*(pod.node("one") for pod in make_members("right", 1)))
    right = world.add_group("right", 1, parentCompositePodGroupName="job-0")
    for number in range(length):
        above = f"job-{(number + 1) % length}"
        world.add_composite(f"job-{number}", 1, parentCompositePodGroupName=above, disruptionMode={"all": {}})
    await world.settle()
    assert world.groups.why_not_ready(left) == 'composite pod groups above "left" are nested too deeply, or in a circle'
    assert world.groups.evicted_with(left) == [right]
    assert sorted(world.groups.trees.leaves(f"{COMPOSITE_PREFIX}default/job-0")) == [left, right]
    [running] = world.groups.record(right).placed_pods()
    disruption = world.groups.disruption(running)
    assert disruption is not None
    assert disruption.pods == [running]
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []

    world.api.delete(COMPOSITE_KIND, f"default/job-{length - 1}")
    world.add_composite(f"job-{length - 1}", 1)
    if length < 4:
        await world.until(lambda: world.started("left") == [1], within=30)


async def test_a_composite_that_goes_takes_the_chance_of_its_parts_along() -> None:
    world = CompositeWorld()
    world.add_nodes(make_node("one", cpu="3"))
    job = world.add_composite("job", 2)
    world.part("left", 2, 2)
    world.part("right", 2, 2)
    await world.settle()
    world.api.delete(COMPOSITE_KIND, job)
    world.add_nodes(make_node("two", cpu="1"))
    await world.run(30)
    assert world.started("left", "right") == [0, 0]
    world.add(make_pod("single"))
    world.add_composite("job", 2)
    await world.until(lambda: world.started("left", "right") == [2, 2], within=30)
