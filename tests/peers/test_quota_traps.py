"""Faults that users of scheduler-plugins have met with CapacityScheduling, each as its report describes it.

docs/conformance.md lists all of them, also those that the tests of the plugin tell.
"""

from typing import Any

import pytest

from tests.capacityscheduling.world import QuotaWorld, request
from tests.coscheduling.objects import make_member

GPU = "example.com/gpu"


async def test_a_namespace_gets_a_guaranteed_device_while_all_devices_are_used() -> None:
    """Issue 683: with all that is guaranteed in use, nothing was evicted."""
    world = QuotaWorld()
    world.nodes(1, cpu="32", **{GPU: "5"})
    world.add_quota("ml", min={GPU: "4"}, max={GPU: "5"})
    world.add_quota("dev", min={GPU: "1"}, max={GPU: "5"})
    world.add(*(request("ml", name, "1", {GPU: "1"}) for name in "abcde"))
    await world.settle()
    assert len(world.placed("ml")) == 5
    world.add(request("dev", "one", "1", {GPU: "1"}))
    await world.run(5.0)
    assert world.placed("dev") == ["one"]
    assert len(world.evicted) == 1


async def test_a_claim_takes_back_what_it_needs_and_no_more_while_its_victims_still_run() -> None:
    """Issue 211: what was borrowed stayed with the borrower, and while victims took their time others were evicted."""
    world = QuotaWorld()
    world.grace = 5.0
    world.nodes(1, cpu="4")
    world.add_quota("ml", min={"cpu": "0"}, max={"cpu": "4"})
    world.add_quota("dev", min={"cpu": "2"}, max={"cpu": "4"})
    world.add_quota("idle", min={"cpu": "2"})
    world.come("ml", *"abcd")
    await world.settle()
    assert len(world.placed("ml")) == 4
    world.come("dev", *"efgh")
    await world.run(30.0)
    assert (len(world.placed("ml")), len(world.placed("dev"))) == (2, 2)
    assert len({*world.evicted}) == 2


async def test_two_namespaces_claim_at_once_without_counting_each_others_nominated_pods() -> None:
    """Issue 380: what was being freed for one namespace counted against the min of another."""
    world = QuotaWorld()
    world.grace = 5.0
    world.nodes(2)
    world.add_quota("ml", min={})
    world.add_quota("dev", min={"cpu": "4"})
    world.add_quota("ops", min={"cpu": "4"})
    world.come("ml", *(f"ml-{n}" for n in range(8)))
    await world.settle()
    assert len(world.placed("ml")) == 8
    world.gang("dev", "one", 4)
    world.gang("ops", "two", 4)
    await world.run(4.0)
    assert len({*world.evicted}) == 8
    await world.run(20.0)
    assert (len(world.placed("dev")), len(world.placed("ops"))) == (4, 4)


@pytest.mark.parametrize(
    ("fields", "placed"),
    [({}, 6), ({"max": {}}, 6), ({"max": {"cpu": "2"}}, 2), ({"min": {"cpu": "3"}}, 3)],
)
async def test_a_quota_may_lack_min_or_max_or_both(fields: dict[str, Any], placed: int) -> None:
    """Issues 508 and 424: without `min` or `max` the scheduler crashed, and then took what is absent for 0."""
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("ml", **fields)
    world.come("ml", *"abcdef")
    await world.settle()
    assert len(world.placed("ml")) == placed


async def test_a_borrower_gives_back_a_pod_that_is_larger_than_what_it_borrows() -> None:
    """The review of pull request 73: no pod was evicted without which its namespace would be below its min."""
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("ml", min={"cpu": "4"})
    world.add_quota("dev", min={"cpu": "4"})
    first, second = world.come("ml", "a", "b", cpu="3")
    await world.settle()
    world.start_times(first, second)
    world.come("dev", "whole", cpu="4")
    await world.run(10.0)
    assert world.placed("dev") == ["whole"]
    assert world.evicted == [second]


async def test_of_two_gangs_whose_pods_come_in_turn_one_gets_the_quota() -> None:
    """Gangs against quota: pod by pod, each of them would hold a half, and neither would start."""
    world = QuotaWorld()
    world.nodes(4)
    world.add_quota("ml", min={"cpu": "4"}, max={"cpu": "4"})
    for group in ("one", "two"):
        world.add_group(group, 3, namespace="ml")
    world.add(*(make_member(f"{group}-{n}", group, namespace="ml") for n in range(3) for group in ("one", "two")))
    await world.run(10.0)
    assert world.placed("ml") == ["one-0", "one-1", "one-2"]
    assert {world.reason(f"ml/two-{n}")[0] for n in range(3)} == {"QuotaExceeded"}
