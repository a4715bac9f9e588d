"""A tree of groups claims the `min` of its quota for what it needs, and preempts by priority with all that waits."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.capacityscheduling.world import QuotaWorld
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite, make_group, make_members


class World(QuotaWorld):
    """A cluster of eight cores with two quotas of four: ml uses all, and trees of dev come."""

    async def fill(self) -> None:
        """The cores are used by pods of ml, which has borrowed half of them."""
        keys = self.come("ml", *(f"ml-{n}" for n in range(8)))
        await self.settle()
        self.start_times(*keys)
        await self.settle()
        assert len(self.placed("ml")) == 8

    def tree(self, needed: int, name: str = "tree", **spec: Any) -> None:
        """A group of groups comes that needs so many parts."""
        self.api.put(COMPOSITE_KIND, make_composite(name, needed, namespace="dev", **spec))

    def part(
        self, name: str, least: int | None, cpus: Sequence[str], parent: str = "tree", *, priority: int = 0, **more: str
    ) -> list[str]:
        """A group of a tree comes, with a pod for each amount of cpu."""
        self.api.put(
            KIND, make_group(name, least, namespace="dev", parentCompositePodGroupName=parent, priority=priority)
        )
        pods = make_members(name, len(cpus), priority=priority)
        for pod, cpu in zip(pods, cpus, strict=True):
            pod["metadata"]["namespace"] = "dev"
            pod.requests({"cpu": cpu})
            pod["spec"].update({"nodeSelector": more} if more else {})
        return self.add(*pods)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    made.nodes(2)
    made.add_quota("ml", min={"cpu": "4"})
    made.add_quota("dev", min={"cpu": "4"})
    await made.fill()
    yield made
    await made.kill()


async def test_a_tree_with_more_members_than_it_needs_claims_for_those_that_it_needs(world: World) -> None:
    world.tree(1)
    world.part("g", 4, ["1"] * 6)
    await world.run(30.0)
    assert (len(world.placed("dev")), len({*world.evicted})) == (4, 4)
    await world.run(600.0)
    assert (len(world.placed("dev")), len({*world.evicted})) == (4, 4)


async def test_a_tree_with_more_parts_than_it_needs_claims_for_the_first_ones(world: World) -> None:
    world.tree(2)
    for name in "abc":
        world.part(name, 2, ["1"] * 2)
    await world.run(30.0)
    assert world.placed("dev") == ["a-0", "a-1", "b-0", "b-1"]
    assert len({*world.evicted}) == 4
    await world.run(600.0)
    assert len({*world.evicted}) == 4


async def test_a_part_that_no_eviction_helps_is_not_claimed_for(world: World) -> None:
    world.tree(2)
    world.part("a", 2, ["1"] * 2, zone="nowhere")
    for name in "bc":
        world.part(name, 2, ["1"] * 2)
    await world.run(30.0)
    assert world.placed("dev") == ["b-0", "b-1", "c-0", "c-1"]
    assert len({*world.evicted}) == 4


async def test_a_tree_of_trees_claims_for_the_parts_that_it_needs(world: World) -> None:
    world.tree(2)
    for name in ("left", "right", "third"):
        world.tree(1, name, parentCompositePodGroupName="tree")
        for part in "xy":
            world.part(f"{name}-{part}", 2, ["1"] * 3, name)
    await world.run(30.0)
    assert world.placed("dev") == ["left-x-0", "left-x-1", "right-x-0", "right-x-1"]
    assert len({*world.evicted}) == 4


async def test_a_tree_claims_for_smaller_members_and_parts_if_the_first_ones_exceed_min(world: World) -> None:
    world.tree(1)
    world.part("a", 2, ["3", "3", "3"])
    world.part("b", 2, ["3", "3", "1", "1"])
    await world.run(30.0)
    assert world.placed("dev") == ["b-2", "b-3"]
    assert len({*world.evicted}) == 2


async def test_a_tree_whose_least_need_exceeds_min_claims_nothing(world: World) -> None:
    world.tree(2)
    world.part("a", 2, ["1", "1", "3"])
    world.part("b", 1, ["3", "3"])
    await world.run(60.0)
    assert (world.placed("dev"), world.evicted) == ([], [])


async def test_a_tree_that_runs_claims_for_one_more_part_at_a_time(world: World) -> None:
    world.tree(1)
    world.part("a", 2, ["1"] * 2)
    await world.run(30.0)
    assert len(world.placed("dev")) == 2
    for name in "bc":
        world.part(name, 2, ["1"] * 2)
    await world.run(60.0)
    assert world.placed("dev") == ["a-0", "a-1", "b-0", "b-1"]
    assert len({*world.evicted}) == 4


async def test_a_tree_that_claims_may_need_fewer_parts_and_evicts_no_more_for_the_others(world: World) -> None:
    world.grace = 5.0
    world.tree(1)
    for name in "abc":
        world.part(name, 2, ["1"] * 2)
    await world.run(60.0)
    assert world.placed("dev") == ["a-0", "a-1", "b-0", "b-1"]
    assert len({*world.evicted}) == 4


async def test_a_budget_keeps_the_claim_of_a_tree_off(world: World) -> None:
    world.api.put(
        "poddisruptionbudgets",
        {
            "metadata": {"name": "all", "namespace": "ml"},
            "spec": {"selector": {"matchLabels": {"app": "kept"}}},
            "status": {"disruptionsAllowed": 1},
        },
    )
    for key in [key for key in world.api.pods if key.startswith("ml/")]:
        world.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update(app="kept"))
    await world.settle()
    world.tree(1)
    world.part("g", 4, ["1"] * 6)
    await world.run(30.0)
    assert world.evicted == []


@pytest.mark.parametrize("quota", [False, True])
async def test_a_tree_preempts_by_priority_with_all_of_its_members_as_in_kube_scheduler(quota: bool) -> None:
    """Six pods are tried, and six evicted, although four suffice."""
    world = World()
    world.nodes(2)
    if quota:
        world.add_quota("ml", min={"cpu": "4"})
        world.add_quota("dev", min={"cpu": "4"})
    world.come("dev", *(f"low-{n}" for n in range(8)))
    await world.settle()
    world.tree(1, priority=10)
    world.part("g", 4, ["1"] * 6, priority=10)
    await world.run(60.0)
    assert len({*world.evicted}) == 6
    assert len([name for name in world.placed("dev") if name.startswith("g-")]) == 6
    await world.kill()


async def test_a_tree_that_may_not_evict_all_on_account_of_its_priority_evicts_nothing_below_its_need() -> None:
    """Two pods of its namespace and six that `min` covers: no claim, and by priority too few members would fit."""
    world = World()
    world.nodes(2)
    world.add_quota("ml", min={"cpu": "6"})
    world.add_quota("dev", min={"cpu": "2"})
    world.come("ml", *(f"ml-{n}" for n in range(6)))
    world.come("dev", "low-0", "low-1")
    await world.settle()
    world.tree(1, priority=10)
    world.part("g", 4, ["1"] * 6, priority=10)
    await world.run(60.0)
    assert world.evicted == []
    await world.kill()
