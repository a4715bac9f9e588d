"""What earlier claims and dry runs have found is reused only where it still holds."""

from tests.capacityscheduling.world import QuotaWorld


async def crowded(world: QuotaWorld, *, nodes: int, cpu: str, pods: int, priority: int = 0) -> None:
    """Nodes come, full of pods of ml of one core each, which began to run one after another."""
    world.nodes(nodes, cpu=cpu)
    keys = world.come("ml", *(f"ml-{number}" for number in range(pods)), priority=priority)
    await world.settle()
    assert len(world.placed("ml")) == pods
    world.start_times(*keys)
    await world.settle()


# Dry runs of equal pods.


async def test_victims_in_the_own_namespace_of_one_pod_are_not_evicted_for_an_equal_pod_of_another() -> None:
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "12"})
    world.add_quota("dev", min={"cpu": "6"})
    await crowded(world, nodes=4, cpu="2", pods=8)
    world.come("ml", "urgent", cpu="2", priority=10)
    await world.settle()
    world.come("dev", "urgent", cpu="2", priority=10)
    await world.run(20.0)

    assert (world.placed("dev"), len(world.evicted)) == ([], 2)


async def test_a_pod_evicts_in_its_own_namespace_though_an_equal_pod_of_another_may_evict_nothing_there() -> None:
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "12"})
    world.add_quota("dev", min={"cpu": "6"})
    await crowded(world, nodes=4, cpu="2", pods=8)
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
