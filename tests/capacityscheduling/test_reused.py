"""What earlier claims and dry runs have found is reused only where it still holds."""

from collections.abc import Callable

import pytest

from tests.builders import PodDict
from tests.capacityscheduling.world import QuotaWorld, request


async def crowded(world: QuotaWorld, *, nodes: int, cpu: str, pods: int, priority: int = 0) -> None:
    """Nodes come, full of pods of ml of one core each, which began to run one after another."""
    world.nodes(nodes, cpu=cpu)
    keys = world.come("ml", *(f"ml-{number}" for number in range(pods)), priority=priority)
    await world.settle()
    assert len(world.placed("ml")) == pods
    world.start_times(*keys)
    await world.settle()


# Dry runs of equal pods.


async def full_of_ml() -> QuotaWorld:
    """Pods of ml, within its `min`, take all capacity; dev has a quota, too."""
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "12"})
    world.add_quota("dev", min={"cpu": "6"})
    await crowded(world, nodes=4, cpu="2", pods=8)
    return world


async def test_victims_in_the_own_namespace_of_one_pod_are_not_evicted_for_an_equal_pod_of_another() -> None:
    world = await full_of_ml()
    world.come("ml", "urgent", cpu="2", priority=10)
    await world.settle()
    world.come("dev", "urgent", cpu="2", priority=10)
    await world.run(20.0)

    assert (world.placed("dev"), len(world.evicted)) == ([], 2)


async def test_a_pod_evicts_in_its_own_namespace_though_an_equal_pod_of_another_may_evict_nothing_there() -> None:
    world = await full_of_ml()
    world.come("dev", "urgent", cpu="2", priority=10)
    await world.settle()
    world.come("ml", "urgent", cpu="2", priority=10)
    await world.run(20.0)

    assert "urgent" in world.placed("ml")


async def test_the_second_of_two_equal_pods_claims_nothing_once_the_first_has_used_up_what_is_guaranteed() -> None:
    """A pod of lower priority runs without a quota, so that even the second one looks for victims."""
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "2"})
    world.add_quota("dev", min={"cpu": "2"})
    world.add_quota("idle", min={"cpu": "20"})
    await crowded(world, nodes=4, cpu="2", pods=8, priority=100)
    world.come("other", "low", cpu="0")
    await world.settle()
    world.come("dev", "first", "second", cpu="2", priority=10)
    await world.run(20.0)

    assert (len(world.placed("dev")), len(world.evicted)) == (1, 2)


# Borrowed pods.


def claimant(name: str, node: str, **more: str) -> PodDict:
    """A pod of dev that goes to this node alone; `more` are other requests."""
    pod = request("dev", name, "1", more)
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod["spec"]["affinity"] = {"nodeAffinity": required}
    return pod


def _terminates(world: QuotaWorld) -> None:
    world.terminate("ml/ml-0")


def _began_earlier(world: QuotaWorld) -> None:
    world.api.change("pods", "ml/ml-4", lambda pod: pod["status"].update(startTime="2025-01-01T00:00:00Z"))


@pytest.mark.parametrize("change", [_terminates, _began_earlier])
@pytest.mark.parametrize("claimed_before", [False, True])
async def test_a_running_pod_that_changes_moves_what_is_borrowed(
    claimed_before: bool, change: Callable[[QuotaWorld], None]
) -> None:
    """The `min` of ml covers ml-0 to ml-3 at first, and ml-4 after the change."""
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "4"})
    world.add_quota("dev", min={"cpu": "4"})
    await crowded(world, nodes=8, cpu="1", pods=8)
    node = world.node_of("ml/ml-4")
    if claimed_before:
        world.add(claimant("odd", node, **{"example.com/none": "1"}))
        await world.settle()
    change(world)
    await world.settle()
    world.add(claimant("a", node))
    await world.run(5.0)

    assert world.evicted == []


@pytest.mark.parametrize("claimed_before", [False, True])
async def test_a_group_that_can_spare_more_pods_moves_what_is_borrowed(claimed_before: bool) -> None:
    """The `min` of ml covers no gang of four, and two pods of one that needs two."""
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "2"})
    world.add_quota("dev", min={"cpu": "2"})
    world.nodes(4, cpu="1")
    keys = world.gang("ml", "train", 4)
    await world.settle()
    world.start_times(*keys)
    await world.settle()
    node = world.node_of("ml/train-0")
    if claimed_before:
        world.add(claimant("odd", node, **{"example.com/none": "1"}))
        await world.settle()
    world.change_group("ml/train", minMember=2)
    await world.settle()
    world.add(claimant("a", node))
    await world.run(5.0)

    assert world.evicted == []
