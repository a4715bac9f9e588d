"""Fair order: who is below min first, then the smallest share, and priority and age as ever within a namespace."""

from collections import Counter

import pytest

from muster.framework.queue.tenants import PATIENCE_SECONDS
from tests.capacityscheduling.world import QuotaWorld


def bound(world: QuotaWorld) -> list[str]:
    """The namespaces of the pods in the order in which they were bound."""
    return [key.partition("/")[0] for key, _, _ in world.api.bindings]


async def test_without_quotas_the_order_is_that_of_priority_and_age() -> None:
    world = QuotaWorld()
    world.come("ml", "a", "b")
    world.come("dev", "c", priority=1)
    world.come("ml", "d")
    world.nodes(2)
    await world.settle()
    assert [key for key, _, _ in world.api.bindings] == ["dev/c", "ml/a", "ml/b", "ml/d"]


async def test_pods_below_min_are_ordered_before_borrowers() -> None:
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "1"})
    world.add_quota("dev", min={"cpu": "3"})
    world.come("ml", *"abcd", priority=10)
    world.come("dev", *"abcd")
    world.nodes(1)
    await world.settle()
    assert Counter(bound(world)) == {"ml": 1, "dev": 3}


async def test_borrowers_share_what_is_left_by_their_weights() -> None:
    world = QuotaWorld()
    world.add_quota("idle", min={"cpu": "12"})
    world.add_quota("ml", weight="2")
    world.add_quota("dev")
    world.come("ml", *(f"p{n}" for n in range(12)))
    world.come("dev", *(f"p{n}" for n in range(12)))
    world.nodes(3)
    await world.settle()
    assert Counter(bound(world)) == {"ml": 8, "dev": 4}
    assert Counter(bound(world)[:6]) == {"ml": 4, "dev": 2}


async def test_the_share_is_that_of_the_resource_of_which_a_namespace_uses_most() -> None:
    world = QuotaWorld()
    world.add_quota("idle", min={"cpu": "8", "gpu": "4"})
    world.add_quota("ml")
    world.add_quota("dev")
    world.come("ml", *(f"p{n}" for n in range(8)), gpu="1")
    world.come("dev", *(f"p{n}" for n in range(8)))
    world.nodes(2, gpu="2")
    await world.settle()
    # A gpu is a quarter of all, a core an eighth: ml gets half as many pods.
    assert Counter(bound(world)[:6]) == {"ml": 2, "dev": 4}


async def test_within_a_namespace_priority_and_age_decide() -> None:
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "4"})
    world.come("ml", "a", "b")
    world.come("ml", "urgent", priority=1)
    world.nodes(1)
    await world.settle()
    assert [key for key, _, _ in world.api.bindings] == ["ml/urgent", "ml/a", "ml/b"]


async def test_pods_without_a_quota_are_ordered_like_pods_within_their_min() -> None:
    world = QuotaWorld()
    world.add_quota("ml", min={"cpu": "1"})
    world.add_quota("idle", min={"cpu": "9"})
    world.come("ml", "a", "b", priority=10)
    world.come("none", "c")
    world.nodes(1)
    await world.settle()
    assert [key for key, _, _ in world.api.bindings] == ["ml/a", "none/c", "ml/b"]


@pytest.mark.parametrize("gangs", [False, True])
async def test_borrowers_for_whom_there_is_room_one_at_a_time_take_turns_whatever_their_priorities(gangs: bool) -> None:
    world = QuotaWorld()
    world.add_quota("idle", min={"cpu": "2"})
    world.add_quota("ml")
    world.add_quota("dev")
    world.nodes(1, cpu="2")
    for namespace, priority in (("ml", 10), ("dev", 0)):
        for name in "abc":
            if gangs:
                world.gang(namespace, name, 2, priority=priority)
            else:
                world.come(namespace, name, cpu="2", priority=priority)
    started = []
    for _ in range(4):
        await world.run(30.0)
        running = [key for key, pod in world.api.pods.items() if pod["spec"].get("nodeName")]
        started.append({key.partition("/")[0] for key in running})
        world.delete(*running)
    assert started == [{"ml"}, {"dev"}, {"ml"}, {"dev"}]


async def test_a_quota_that_comes_later_orders_pods_that_wait_already() -> None:
    world = QuotaWorld()
    world.come("ml", *"abcd", priority=10)
    world.come("dev", *"abcd")
    world.add_quota("ml", min={"cpu": "1"})
    world.add_quota("dev", min={"cpu": "3"})
    world.nodes(1)
    await world.settle()
    assert Counter(bound(world)) == {"ml": 1, "dev": 3}


async def test_a_namespace_that_is_passed_over_gets_its_turn_in_time() -> None:
    """A stream of pods with no quota, which go first, keeps a borrower waiting no longer than the bound."""
    world = QuotaWorld()
    world.add_quota("ml")
    world.add_quota("idle", min={"cpu": "9"})
    world.nodes(2, cpu="64", pods="9999")
    waiting = world.come("ml", "a", cpu="100m")
    number, began = 0, world.clock.now()
    while not world.node_of(waiting[0]):
        number += 1
        world.come("none", f"p{number}", cpu="1m")
        world.step()
        await world.breathe()
        world.clock.move_to(world.clock.now() + 1.0)
        assert world.clock.now() - began <= PATIENCE_SECONDS + 5.0
    assert number >= 2
