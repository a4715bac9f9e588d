"""A member that had a node loses it: in Reserve, at Permit, before the binding, in the binding."""

from typing import ClassVar

import pytest

from muster.framework.contract import ALLOW, CycleState, PermitPlugin, PreBindPlugin, ReservePlugin, Status, Wait
from muster.framework.model.pod_info import PodInfo
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_group, make_member, make_members
from tests.coscheduling.world import World


class PickyReserve(ReservePlugin):
    """Refuses pods by name, so many times."""

    name = "PickyReserve"
    refusals: ClassVar[dict[str, int]] = {}

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if self.refusals.get(pod.name, 0) == 0:
            return None
        self.refusals[pod.name] -= 1
        return Status.unschedulable("not this one")

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        return None


class PickyPermit(PermitPlugin):
    """Refuses pods by name, so many times."""

    name = "PickyPermit"
    refusals: ClassVar[dict[str, int]] = {}

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        if self.refusals.get(pod.name, 0) == 0:
            return ALLOW
        self.refusals[pod.name] -= 1
        return Status.unschedulable("not this one")


@pytest.fixture(params=[PickyReserve, PickyPermit])
def picky(request: pytest.FixtureRequest) -> "type[PickyReserve | PickyPermit]":
    plugin: type[PickyReserve | PickyPermit] = request.param
    plugin.refusals.clear()
    return plugin


def of_three(world: World) -> list[str]:
    """A group of three on a node with capacity for them."""
    world.add_nodes(make_node("a", cpu="8"))
    world.add_group("g", 3)
    return world.add(*make_members("g", 3))


@pytest.mark.parametrize("refused", ["g-0", "g-1", "g-2"])
@pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])
async def test_when_one_member_cannot_be_reserved_none_keeps_its_node(
    make_world: MakeWorld, picky: "type[PickyReserve | PickyPermit]", refused: str, placement: str
) -> None:
    world = make_world({"placement": placement}, plugins={picky.name: picky})
    picky.refusals[refused] = 1
    of_three(world)
    bound = []
    while world.engine.scheduler.step():
        await world.breathe()
        bound.append(len(world.bound("g")))
    world.add_nodes(make_node("b"))  # wakes whoever was refused by a plugin without hints
    await world.run(120)

    if placement == "Transaction":
        assert set(bound) <= {0, 3}
    assert len(world.bound("g")) == 3
    world.check()


async def test_rejected_siblings_are_activated_when_the_first_member_has_a_node_again(
    make_world: MakeWorld,
) -> None:
    PickyReserve.refusals.clear()
    PickyReserve.refusals["g-2"] = 1
    world = make_world({"placement": "PodByPod"}, plugins={"PickyReserve": PickyReserve})
    keys = of_three(world)
    seconds = await world.until(lambda: len(world.bound("g")) == 3, within=20)

    assert seconds <= 2
    assert world.notes(keys[0]) == ["0/1 nodes are available: 1 rejection in Unreserve."]


@pytest.mark.parametrize("refused", ["g-0", "g-1", "g-2"])
@pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])
async def test_a_member_that_can_never_be_reserved_does_not_make_its_gang_spin(
    make_world: MakeWorld, placement: str, refused: str
) -> None:
    PickyReserve.refusals.clear()
    PickyReserve.refusals[refused] = 10_000
    world = make_world({"placement": placement}, plugins={"PickyReserve": PickyReserve})
    of_three(world)
    await world.run(600)

    assert world.bound() == []
    assert 10_000 - PickyReserve.refusals[refused] < 200


async def test_a_member_that_reserve_refuses_in_the_trial_does_not_fit(make_world: MakeWorld) -> None:
    PickyReserve.refusals.clear()
    PickyReserve.refusals["g-0"] = 1
    world = make_world(plugins={"PickyReserve": PickyReserve})
    members = of_three(world)
    await world.settle()

    lacks = "pod group default/g is unschedulable, 0 of the 3 members that it needs fit"
    reported = f"{lacks}: 0/1 nodes are available: 1 not this one."
    assert [world.notes(member) for member in members] == [[reported]] * 3


async def test_a_transaction_says_which_sibling_failed(make_world: MakeWorld) -> None:
    PickyPermit.refusals.clear()
    PickyPermit.refusals["g-0"] = 1
    world = make_world(plugins={"PickyPermit": PickyPermit})
    first, second, third = of_three(world)
    await world.settle()

    assert world.notes(first) == ["0/1 nodes are available: 1 not this one."]
    because = "0/1 nodes are available: 1 sibling pod default/g-0 lost its place on node a."
    assert world.notes(second) == world.notes(third) == [because]


async def test_a_member_more_than_the_quorum_fails_on_its_own(make_world: MakeWorld) -> None:
    PickyReserve.refusals.clear()
    PickyReserve.refusals["g-0"] = 1000
    world = make_world(plugins={"PickyReserve": PickyReserve})
    world.add_nodes(make_node("a", cpu="8"))
    world.add_group("g", 2)
    world.add(*make_members("g", 3))
    await world.settle()

    assert sorted(world.bound("g")) == ["default/g-1", "default/g-2"]


@pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])
async def test_a_binding_that_fails_costs_the_member_its_place_and_it_is_bound_later(
    make_world: MakeWorld, placement: str
) -> None:
    world = make_world({"placement": placement})
    failures = ["the API is not well"]
    world.api.fail_binding = lambda pod, node: failures.pop() if pod.name == "g-1" and failures else None
    first, second, third = of_three(world)
    await world.settle()
    assert sorted(world.bound("g")) == [first, third]
    assert len(world.groups.record("default/g").placed) == 2
    assert world.notes(second) == ['running Bind plugin "DefaultBinder": the API is not well']

    await world.run(3)
    assert len(world.bound("g")) == 3
    world.check()


async def test_a_binding_that_fails_again_and_again_is_tried_less_and_less_often(world: World) -> None:
    world.api.fail_binding = lambda pod, node: "no" if pod.name == "g-1" else None
    of_three(world)
    await world.run(600)

    assert len(world.notes("default/g-1")) < 70
    assert len(world.bound("g")) == 2


async def test_a_sibling_that_lost_its_place_to_another_scheduler_takes_the_whole_gang_back(world: World) -> None:
    world.add_nodes(make_node("a", cpu="1"), make_node("b", cpu="1"), make_node("c", cpu="1"))
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 3))
    assert world.engine.scheduler.step()
    world.add(make_pod("rival").requests(cpu="1").node("b"))  # after the decision, before any binding
    await world.settle()

    assert world.bound() == ["default/rival"]
    assert world.engine.cache.assumed_count == 0
    said = {note for key in keys for note in world.notes(key)}
    assert "0/1 nodes are available: 1 Insufficient cpu." in said
    assert any("lost its place on node b" in note for note in said)
    world.add_nodes(make_node("d", cpu="1"))
    await world.run(5)
    assert len(world.bound("g")) == 3
    world.check()


async def test_a_member_more_that_lost_its_place_to_another_scheduler_does_not_hold_up_the_quorum(
    world: World,
) -> None:
    world.add_nodes(make_node("a", cpu="1"), make_node("b", cpu="1"), make_node("c", cpu="1"))
    world.add_group("g", 2)
    world.add(*make_members("g", 3))
    assert world.engine.scheduler.step()
    world.add(make_pod("rival").requests(cpu="1").node("b"))
    await world.settle()

    assert len(world.bound("g")) == 2


async def test_a_member_that_is_deleted_between_decision_and_binding_takes_the_gang_back(world: World) -> None:
    keys = of_three(world)
    assert world.engine.scheduler.step()
    world.delete(keys[1])
    await world.settle()
    assert world.bound("g") == []
    assert world.engine.cache.assumed_count == 0

    world.add(make_member("successor", "g"))
    await world.run(5)
    assert len(world.bound("g")) == 3
    world.check()


async def test_a_member_that_is_deleted_while_it_is_bound_is_no_burden(world: World) -> None:
    keys = of_three(world)
    world.binder.latency = lambda: 1.0
    await world.settle()
    world.delete(keys[1])
    await world.run(5)
    assert sorted(world.bound("g")) == [keys[0], keys[2]]
    assert len(world.groups.record("default/g").bound) == 2

    world.add(make_member("successor", "g"))
    await world.run(5)
    assert len(world.bound("g")) == 3
    world.check()


async def test_a_member_bound_by_another_scheduler_during_its_binding_keeps_that_node(world: World) -> None:
    keys = of_three(world)
    world.add_nodes(make_node("b"))
    world.binder.latency = lambda: 1.0
    await world.settle()
    world.api.bind(keys[1], "b")
    await world.run(10)

    assert world.node_of(keys[1]) == "b"
    assert len(world.bound("g")) == 3
    world.check()


async def test_a_member_that_changes_its_group_while_it_is_bound_counts_in_its_new_group(world: World) -> None:
    keys = of_three(world)
    world.add_group("h", 2)
    world.binder.latency = lambda: 1.0
    await world.settle()
    world.relabel(keys[1], "h")
    assert len(world.groups.record("default/h").placed) == 1
    await world.run(5)

    assert len(world.groups.record("default/g").placed) == 2
    assert len(world.groups.record("default/h").placed) == 1
    world.check()


async def test_rejected_siblings_are_activated_when_their_groups_backoff_ends(
    make_world: MakeWorld,
) -> None:
    PickyReserve.refusals.clear()
    PickyReserve.refusals["g-2"] = 1
    args = {"placement": "PodByPod", "podGroupBackoffSeconds": 20}
    world = make_world(args, plugins={"PickyReserve": PickyReserve})
    of_three(world)
    seconds = await world.until(lambda: len(world.bound("g")) == 3, within=60)

    assert seconds == pytest.approx(20, abs=0.1)


class RefusesOne(PreBindPlugin):
    """Fails the binding of a member as long as the test runs."""

    name = "RefusesOne"

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return Status.failure("refused") if pod.name == "g-1" else None


@pytest.mark.parametrize("placement", ["PodByPod", "Transaction"])
async def test_the_node_kept_for_a_refused_member_is_free_for_others_once_its_group_cannot_start(
    placement: str,
) -> None:
    """The member that was bound goes, and its place is taken; the sibling that comes for it finds no node."""
    configuration = configuration_of(["Coscheduling", "RefusesOne"], args={"Coscheduling": {"placement": placement}})
    scheduler = VirtualScheduler(RefusesOne, configuration=configuration)
    scheduler.add_nodes(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    scheduler.api.put("podgroups", make_group("g", 2))
    scheduler.add(*make_members("g", 2, cpu="3"))
    await scheduler.run(20)
    assert scheduler.node_of("default/g-0") == "n1"

    scheduler.add(make_member("g-2", "g", cpu="3"))
    await scheduler.run(20)
    scheduler.delete("default/g-0")
    scheduler.add(make_pod("other").requests(cpu="3").node("n1"))
    await scheduler.run(20)
    scheduler.add(make_pod("waiting").requests(cpu="2"))
    await scheduler.run(30)
    assert scheduler.node_of("default/waiting") == "n2"
    await scheduler.kill()
