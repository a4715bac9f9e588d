"""Another scheduler takes nodes between decision and binding: nothing is over-committed, the gang is retried whole."""

import pytest

from muster.framework.contract import CycleState, PermitPlugin, PodInfo, Wait
from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World


class Hesitation(PermitPlugin):
    """Holds every pod for two seconds between its decision and its Binding."""

    name = "Hesitation"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Wait:
        def allow() -> None:
            waiting = self.handle.waiting_pods.get(pod.uid)
            if waiting is not None:
                waiting.allow(self.name)

        self.handle.clock.call_later(2.0, allow)
        return Wait(60.0)


async def decided(world: World, nodes: int, members: int, needed: int) -> list[str]:
    """A gang that has been decided for, one member a node, and is about to be bound."""
    world.add_nodes(*(make_node(f"n-{number}", cpu="1") for number in range(nodes)))
    world.add_group("g", needed)
    keys = world.add(*make_members("g", members))
    assert world.engine.scheduler.step()
    assert world.engine.cache.assumed_count == min(nodes, members)
    return keys


def take(world: World, node: str, name: str = "rival") -> None:
    """A rival binds a pod of its own."""
    world.add(make_pod(name).requests(cpu="1").scheduler("rival").node(node))


@pytest.mark.parametrize("taken", range(4))
async def test_the_whole_gang_is_requeued_and_retried_when_one_of_its_nodes_is_taken(world: World, taken: int) -> None:
    await decided(world, nodes=4, members=4, needed=4)
    take(world, f"n-{taken}")
    await world.settle()
    assert world.bound("g") == []
    assert world.engine.cache.assumed_count == 0

    world.add_nodes(make_node("spare", cpu="1"))
    await world.run(3)
    assert len(world.bound("g")) == 4
    assert {world.node_of(key) for key in world.bound("g")} == {"n-0", "n-1", "n-2", "n-3", "spare"} - {f"n-{taken}"}
    world.check()


async def test_with_other_free_capacity_the_gang_is_retried_at_once(world: World) -> None:
    await decided(world, nodes=6, members=4, needed=4)
    for key in range(6):
        if any(node == f"n-{key}" for _, node in world.engine.cache.placements()):
            take(world, f"n-{key}")
            break
    seconds = await world.until(lambda: len(world.bound("g")) == 4, within=10)

    assert seconds <= 2
    world.check()


async def test_a_gang_at_permit_is_requeued_whole_and_retried_when_a_rival_takes_its_node(
    make_world: MakeWorld,
) -> None:
    world = make_world(plugins={"Hesitation": Hesitation})
    keys = await decided(world, nodes=6, members=4, needed=4)
    await world.settle()
    for number in range(3):  # of six nodes four are taken; one of any three is
        take(world, f"n-{number}", f"rival-{number}")
    await world.run(5)
    assert any("lost its place on node" in note for key in keys for note in world.notes(key))
    assert world.bound("g") == []

    world.delete("default/rival-2")
    await world.run(10)
    assert len(world.bound("g")) == 4
    assert len({world.node_of(key) for key in world.bound()}) == 6
    world.check()


async def test_the_rivals_node_is_named(world: World) -> None:
    keys = await decided(world, nodes=2, members=2, needed=2)
    take(world, "n-0")
    await world.settle()

    said = sorted(note for key in keys for note in world.notes(key))
    assert said[0] == "0/1 nodes are available: 1 Insufficient cpu."
    assert said[1].startswith("0/1 nodes are available: 1 sibling pod default/g-")
    assert said[1].endswith("lost its place on node n-0.")


async def test_a_change_that_leaves_enough_capacity_delays_no_member(world: World) -> None:
    await decided(world, nodes=3, members=3, needed=3)
    world.add(make_pod("tiny").scheduler("rival").node("n-0"))
    await world.settle()

    assert len(world.bound("g")) == 3
    assert world.events[0][1] == "Scheduled"


async def test_a_change_that_leaves_enough_capacity_delays_no_member_of_a_group_that_lacks_min_resources(
    world: World,
) -> None:
    world.add_nodes(make_node("a", cpu="4"), make_node("b", cpu="4"))
    world.add_group("app", 1, min_resources={"cpu": "2"})
    [first] = world.add(make_member("first", "app", cpu="2"))
    assert world.engine.scheduler.step()
    world.change_group("default/app", minResources={"cpu": "40"})
    world.add(make_member("second", "app", cpu="2"))
    assert world.engine.scheduler.step()
    node = {info.key: node for info, node in world.engine.cache.placements()}[first]
    take(world, node)
    await world.settle()

    assert world.node_of(first) == node
    assert world.notes(first) == []


async def test_a_node_that_is_cordoned_between_decision_and_binding_is_not_used(world: World) -> None:
    await decided(world, nodes=3, members=3, needed=3)
    world.api.change("nodes", "n-1", lambda node: node["spec"].update(unschedulable=True))
    await world.run(5)

    assert world.bound("g") == []
    world.api.change("nodes", "n-1", lambda node: node["spec"].clear())
    await world.run(15)
    assert len(world.bound("g")) == 3


async def test_a_node_that_goes_between_decision_and_binding_is_not_used(world: World) -> None:
    await decided(world, nodes=3, members=3, needed=3)
    world.api.delete("nodes", "n-1")
    await world.run(5)
    assert world.bound("g") == []

    world.add_nodes(make_node("n-3", cpu="1"))
    await world.run(15)
    assert len(world.bound("g")) == 3
    world.check()


async def test_a_member_that_a_rival_binds_counts_and_the_rest_follows(world: World) -> None:
    keys = await decided(world, nodes=4, members=3, needed=3)
    world.api.bind(keys[0], "n-3")
    await world.run(10)

    assert len(world.bound("g")) == 3
    assert world.node_of(keys[0]) == "n-3"
    world.check()


async def test_rivals_that_come_all_the_time_never_leave_a_gang_in_part(world: World) -> None:
    world.add_nodes(*(make_node(f"n-{number}", cpu="1") for number in range(6)))
    world.add_group("g", 4)
    world.add(*make_members("g", 4))
    counts = set()
    for number in range(40):
        world.engine.scheduler.step()
        node = f"n-{number % 6}"
        if not any(pod["spec"].get("nodeName") == node for pod in world.api.pods.values()):
            take(world, node, f"rival-{number}")
        await world.run(2)
        counts.add(len(world.bound("g")))
        if f"default/rival-{number - 2}" in world.api.pods:
            world.delete(f"default/rival-{number - 2}")
    await world.run(30)

    assert counts <= {0, 4}
    assert len(world.bound("g")) == 4
    world.check()
