"""Pods and gangs over their quota: how they wait, what their conditions say, and what wakes them."""

import pytest

from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS, PARENT
from tests.builders import make_node
from tests.capacityscheduling.world import QuotaWorld, request

OVER_MAX = "0/2 nodes are available: namespace ml uses 2 of 2 cpu, its max; 1 more is needed."


@pytest.fixture
def world() -> QuotaWorld:
    """Eight cores; ml may use two."""
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("ml", max={"cpu": "2"})
    return world


async def test_a_pod_over_max_waits_with_a_reason_of_its_own(world: QuotaWorld) -> None:
    world.come("ml", "a", "b")
    await world.settle()
    [key] = world.come("ml", "c")
    await world.settle()
    assert world.placed("ml") == ["a", "b"]
    reason, message = world.reason(key)
    assert reason == "QuotaExceeded"
    assert message.startswith(OVER_MAX)


async def test_pods_of_other_namespaces_are_not_concerned(world: QuotaWorld) -> None:
    world.come("dev", *"abcdef")
    await world.settle()
    assert len(world.placed("dev")) == 6


async def test_nodes_do_not_wake_it(world: QuotaWorld) -> None:
    world.come("ml", *"abc")
    await world.settle()
    decided = world.engine.scheduler.decided
    world.add_nodes(make_node("more"))
    world.api.change("nodes", "node-0", lambda node: node["status"]["allocatable"].update(cpu="9"))
    await world.run(20.0)
    assert world.engine.scheduler.decided == decided
    assert world.places() == {"unschedulable": 1}


async def test_the_end_of_a_pod_of_its_quota_wakes_it(world: QuotaWorld) -> None:
    first, *_ = world.come("ml", *"abc")
    await world.settle()
    world.delete(first)
    await world.run(2.0)
    assert world.placed("ml") == ["b", "c"]


async def test_a_pod_that_ends_without_freeing_quota_wakes_no_pod(world: QuotaWorld) -> None:
    [other] = world.come("dev", "other")
    world.come("ml", *"abc")
    await world.settle()
    decided = world.engine.scheduler.decided
    world.delete(other)
    await world.settle()
    assert world.engine.scheduler.decided == decided


@pytest.mark.parametrize("change", ["raised", "deleted"])
async def test_a_quota_that_changes_wakes_it(world: QuotaWorld, change: str) -> None:
    world.come("ml", *"abc")
    await world.settle()
    if change == "raised":
        world.add_quota("ml", max={"cpu": "3"})
    else:
        world.api.delete(ELASTIC_QUOTAS.resource, "ml/quota")
    await world.run(2.0)
    assert world.placed("ml") == ["a", "b", "c"]


async def test_one_of_many_equal_pods_is_tried_for_all(world: QuotaWorld) -> None:
    world.come("ml", "a", "b")
    await world.settle()
    decided = world.engine.scheduler.decided
    world.come("ml", *(f"p{n}" for n in range(20)))
    await world.settle()
    assert world.engine.scheduler.decided - decided <= 20
    decided = world.engine.scheduler.decided
    world.delete("ml/a")
    await world.run(2.0)
    assert len(world.placed("ml")) == 2
    assert world.engine.scheduler.decided - decided <= 2


async def test_a_gang_over_max_waits_as_one(world: QuotaWorld) -> None:
    keys = world.gang("ml", "train", 3)
    await world.settle()
    assert world.placed("ml") == []
    reasons = {world.reason(key) for key in keys}
    [(reason, message)] = reasons
    assert reason == "QuotaExceeded"
    assert "namespace ml uses 0 of 2 cpu, its max; 3 more are needed" in message
    announced = world.groups.record("ml/train").announced
    assert announced is not None
    assert announced.reason == "QuotaExceeded"
    assert announced.message == message


async def test_a_gang_is_woken_as_one(world: QuotaWorld) -> None:
    world.gang("ml", "train", 3)
    await world.settle()
    world.add_quota("ml", max={"cpu": "3"})
    await world.run(2.0)
    assert world.placed("ml") == ["train-0", "train-1", "train-2"]
    assert world.used("ml")["cpu"] == 3000


async def test_a_gang_beyond_its_quorum_takes_what_quota_is_left(world: QuotaWorld) -> None:
    keys = world.gang("ml", "train", 4, least=2)
    await world.run(2.0)
    assert len(world.placed("ml")) == 2
    waiting = [key for key in keys if not world.node_of(key)]
    assert {world.reason(key)[0] for key in waiting} == {"QuotaExceeded"}


async def test_a_pod_that_lacks_capacity_keeps_the_reason_that_autoscalers_know(world: QuotaWorld) -> None:
    [key] = world.come("dev", "large", cpu="5")
    [under] = world.add(request("ml", "odd", "1", {"example.com/gpu": "1"}))
    await world.settle()
    assert world.reason(key)[0] == world.reason(under)[0] == "Unschedulable"


async def test_a_namespace_borrows_what_the_others_do_not_use() -> None:
    world = QuotaWorld()
    world.nodes(3)
    world.add_quota("ml", min={"cpu": "2"})
    world.add_quota("dev", min={"cpu": "4"})
    keys = world.come("ml", *"abcdefgh")
    await world.settle()
    assert len(world.placed("ml")) == 6
    reason, message = world.reason(keys[-1])
    assert reason == "QuotaExceeded"
    assert "namespace ml may borrow no more cpu, quotas use 6 of 6 in all; 1 more is needed" in message
    world.come("dev", *"abcd")
    await world.settle()
    assert len(world.placed("dev")) == 4
    assert world.evicted == []


async def test_a_parent_bounds_its_children_together() -> None:
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("dept", max={"cpu": "3"})
    for name in ("ml", "dev"):
        world.add_quota(name, parent="dept/quota")
        world.come(name, *"abc")
    await world.settle()
    assert len(world.placed("ml")) + len(world.placed("dev")) == 3
    waiting = [key for key in world.api.pods if not world.node_of(key)]
    assert {world.reason(key)[0] for key in waiting} == {"QuotaExceeded"}
    world.api.change(ELASTIC_QUOTAS.resource, "dev/quota", lambda quota: quota["metadata"]["annotations"].pop(PARENT))
    await world.run(2.0)
    assert len(world.placed("dev")) == 3


async def test_usage_is_known_after_a_restart(world: QuotaWorld) -> None:
    world.come("ml", "a", "b")
    await world.settle()
    await world.kill()
    world.start()
    [key] = world.come("ml", "c")
    await world.settle()
    assert world.placed("ml") == ["a", "b"]
    assert world.reason(key)[0] == "QuotaExceeded"
    assert world.used("ml")["cpu"] == 2000


async def test_pods_that_ended_are_not_counted(world: QuotaWorld) -> None:
    first, second = world.come("ml", "a", "b")
    await world.settle()
    world.set_phase(first, "Succeeded")
    world.set_phase(second, "Failed")
    await world.settle()
    assert world.used("ml").get("cpu", 0) == 0


async def test_a_change_of_only_the_status_wakes_no_pod(world: QuotaWorld) -> None:
    world.come("ml", *"abc")
    await world.settle()
    decided = world.engine.scheduler.decided
    world.api.change(ELASTIC_QUOTAS.resource, "ml/quota", lambda quota: quota.update(status={"used": {"cpu": "2"}}))
    await world.settle()
    assert world.engine.scheduler.decided == decided


async def test_a_pod_takes_the_place_of_a_less_important_one_of_its_namespace(world: QuotaWorld) -> None:
    world.come("ml", "a", "b")
    await world.settle()
    world.come("ml", "urgent", priority=1)
    await world.run(3.0)
    assert len(world.placed("ml")) == 2
    assert "urgent" in world.placed("ml")
    assert len({*world.evicted}) == 1


async def test_a_gang_takes_the_places_of_less_important_pods_of_its_namespace_wherever_they_run(
    world: QuotaWorld,
) -> None:
    world.come("ml", "a", "b")
    world.come("dev", "c")
    await world.settle()
    world.gang("ml", "train", 2, priority=1)
    await world.run(3.0)
    assert world.placed("ml") == ["train-0", "train-1"]
    assert sorted(world.evicted) == ["ml/a", "ml/b"]


async def test_a_quota_that_is_raised_wakes_a_pod_that_needs_an_eviction_besides(world: QuotaWorld) -> None:
    world.come("ml", "a", "b")
    await world.settle()
    [key] = world.come("ml", "urgent", cpu="3", priority=1)
    await world.run(2.0)
    assert world.reason(key)[0] == "QuotaExceeded"
    world.add_quota("ml", max={"cpu": "4"})
    await world.run(3.0)
    assert "urgent" in world.placed("ml")
    assert len({*world.evicted}) == 1
