"""Figures for metrics: amounts of quotas, and pods that lack what they are guaranteed."""

import pytest

from muster.plugins.catalog import QUOTAS
from tests.capacityscheduling.world import QuotaWorld, request


@pytest.fixture
def world() -> QuotaWorld:
    """Two nodes of four cores; four are guaranteed to ml, none to dev."""
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("ml", min={"cpu": "4"}, max={"cpu": "6"})
    world.add_quota("dev")
    return world


async def test_amounts_are_exposed_by_quota_resource_and_kind(world: QuotaWorld) -> None:
    world.come("ml", "a", cpu="500m")
    world.come("dev", "b", cpu="1")
    await world.settle()
    assert QUOTAS.amounts(world.engine.shared) == {
        ("ml/quota", "cpu", "used"): 0.5,
        ("ml/quota", "cpu", "min"): 4.0,
        ("ml/quota", "cpu", "borrowed"): 0.0,
        ("ml/quota", "cpu", "max"): 6.0,
        ("dev/quota", "cpu", "used"): 1.0,
        ("dev/quota", "cpu", "min"): 0.0,
        ("dev/quota", "cpu", "borrowed"): 1.0,
    }


async def test_pods_within_their_min_that_lack_nodes_are_counted_until_they_have_one(world: QuotaWorld) -> None:
    world.come("ml", "over", cpu="5")
    [wide] = world.add(request("ml", "wide", "4", {"example.com/gpu": "1"}))
    await world.settle()
    assert QUOTAS.unmet(world.engine.shared) == {"ml/quota": 1, "dev/quota": 0}
    world.delete(wide)
    await world.run(1.0)
    assert QUOTAS.unmet(world.engine.shared) == {"ml/quota": 0, "dev/quota": 0}


def test_without_the_plugin_no_amounts_are_exposed() -> None:
    assert QUOTAS.amounts({}) == {}
    assert QUOTAS.unmet({}) == {}
    assert QUOTAS.standing({}, "ml") == ()
