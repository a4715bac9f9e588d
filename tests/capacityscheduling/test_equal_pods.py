"""Equal pods of several namespaces: what one of them may not claim says nothing about the others."""

import pytest

from tests.capacityscheduling.world import QuotaWorld


@pytest.mark.parametrize("others", [0, 1, 20])
async def test_a_pod_claims_soon_however_many_equal_pods_of_others_may_not(others: int) -> None:
    """ml borrows what dev may have; the pod of dev is within its `min` only once another one of dev has ended."""
    world = QuotaWorld()
    world.nodes(4, cpu="2")
    for namespace, cpu in (("ml", "2"), ("dev", "5"), ("idle", "200")):
        world.add_quota(namespace, min={"cpu": cpu})
    for namespace in ("ml", "dev"):
        for number in range(4):
            world.come(namespace, f"{namespace}-{number}")
            await world.settle()
    world.come("ml", *(f"big-{number}" for number in range(others)), cpu="2")
    await world.run(30.0)
    world.come("dev", "big", cpu="2")
    await world.run(30.0)
    assert "big" not in world.placed("dev")

    world.delete("dev/dev-3")
    await world.run(30.0)

    assert "big" in world.placed("dev")
    assert len(world.evicted) == 1
