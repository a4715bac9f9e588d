"""Reclaim: who is below its min gets back what others borrow, and nobody loses what its min covers."""

import pytest

from tests.capacityscheduling.world import QuotaWorld
from tests.coscheduling.objects import make_member
from tests.gangscheduling.world import KIND, make_group, make_members


@pytest.fixture
def world() -> QuotaWorld:
    """Eight cores, of which ml and dev are guaranteed four each; ml has borrowed what dev does not use."""
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("ml", min={"cpu": "4"})
    world.add_quota("dev", min={"cpu": "4"})
    return world


async def fill(world: QuotaWorld, priority: int = 0) -> list[str]:
    keys = world.come("ml", *(f"ml-{n}" for n in range(8)), priority=priority)
    await world.settle()
    assert len(world.placed("ml")) == 8
    world.start_times(*keys)
    await world.settle()
    return keys


@pytest.mark.parametrize("priority", [-1, 0, 1000])
async def test_a_pod_below_min_evicts_what_is_borrowed_whatever_the_priorities(
    world: QuotaWorld, priority: int
) -> None:
    await fill(world, priority)
    world.come("dev", "a")
    await world.run(5.0)
    assert world.placed("dev") == ["a"]
    assert len({*world.evicted}) == 1
    assert len(world.placed("ml")) == 7


async def test_a_namespace_reclaims_its_min_and_no_more(world: QuotaWorld) -> None:
    await fill(world)
    keys = world.come("dev", *"abcdef")
    await world.run(30.0)
    assert len(world.placed("dev")) == 4
    assert len(world.placed("ml")) == 4
    assert len({*world.evicted}) == 4
    waiting = [key for key in keys if not world.node_of(key)]
    assert {world.reason(key)[0] for key in waiting} == {"QuotaExceeded"}


async def test_the_longest_running_pods_are_covered(world: QuotaWorld) -> None:
    keys = await fill(world)
    world.come("dev", *"abcd")
    await world.run(30.0)
    assert set(world.evicted) == set(keys[4:])


async def test_the_more_important_pods_of_the_borrower_are_covered(world: QuotaWorld) -> None:
    low = world.come("ml", *(f"low-{n}" for n in range(4)))
    await world.settle()
    world.come("ml", *(f"high-{n}" for n in range(4)), priority=5)
    await world.settle()
    world.start_times(*low)
    world.come("dev", *"abcd")
    await world.run(30.0)
    assert set(world.evicted) == set(low)


async def test_a_gang_claims_what_it_needs_at_once(world: QuotaWorld) -> None:
    await fill(world)
    world.gang("dev", "train", 4)
    await world.run(10.0)
    assert len(world.placed("dev")) == 4
    assert len({*world.evicted}) == 4


async def test_a_gang_that_would_not_fit_evicts_no_pod(world: QuotaWorld) -> None:
    await fill(world)
    keys = world.gang("dev", "train", 5)
    await world.run(30.0)
    assert world.evicted == []
    assert {world.reason(key)[0] for key in keys} == {"QuotaExceeded"}


async def test_a_gang_within_min_that_fits_no_nodes_evicts_no_pod(world: QuotaWorld) -> None:
    await fill(world)
    world.add_quota("dev", min={"cpu": "8"})
    fitting = world.gang("dev", "train", 1, cpu="2")
    large = world.gang("dev", "large", 1, cpu="5")
    await world.run(30.0)
    assert world.node_of(fitting[0])
    assert not world.node_of(large[0])
    assert len({*world.evicted}) == 2


async def test_a_gang_of_unlike_members_does_not_claim_beyond_min(world: QuotaWorld) -> None:
    world.add_quota("ml", min={"cpu": "1"})
    world.add_quota("idle", min={"cpu": "3"})
    await fill(world)
    world.add_group("train", 2, namespace="dev")
    members = {
        name: make_member(name, "train", namespace="dev", cpu=cpu) for name, cpu in zip("abc", "133", strict=True)
    }
    world.add(members["b"], members["c"], members["a"])
    await world.run(30.0)
    assert world.evicted == []
    world.add_quota("dev", min={"cpu": "6"})
    await world.run(30.0)
    assert len(world.placed("dev")) == 2


async def test_a_pod_that_needs_no_guaranteed_resource_claims_nothing() -> None:
    world = QuotaWorld()
    world.nodes(1, cpu="2", gpu="2")
    world.add_quota("ml", min={"gpu": "1"})
    world.add_quota("dev", min={"gpu": "1"})
    world.come("ml", "one", "two", gpu="1")
    await world.settle()
    assert world.placed("ml") == ["one", "two"]
    world.come("dev", "of-cpu")
    await world.run(30.0)
    assert world.evicted == []
    world.come("dev", "of-gpu", gpu="1")
    await world.run(30.0)
    assert world.placed("dev") == ["of-gpu"]


async def test_a_borrowed_gang_goes_as_a_whole(world: QuotaWorld) -> None:
    keys = world.come("ml", *(f"ml-{n}" for n in range(4)))
    await world.settle()
    world.start_times(*keys)
    world.gang("ml", "extra", 4)
    await world.settle()
    assert len(world.placed("ml")) == 8
    world.come("dev", "a")
    await world.run(5.0)
    assert world.placed("dev") == ["a"]
    assert sorted(world.evicted) == [f"ml/extra-{n}" for n in range(4)]


async def test_a_pod_that_is_within_its_min_is_not_evicted_for_a_higher_priority(world: QuotaWorld) -> None:
    world.come("ml", *(f"ml-{n}" for n in range(4)))
    world.come("dev", *(f"dev-{n}" for n in range(4)))
    await world.settle()
    world.come("dev", "urgent", priority=1000)
    world.come("none", "urgent", priority=1000)
    await world.run(30.0)
    assert world.placed("ml") == [f"ml-{n}" for n in range(4)]
    assert world.placed("none") == []
    assert len(world.placed("dev")) == 4


async def test_a_pod_without_quota_evicts_borrowed_pods_of_lower_priority(world: QuotaWorld) -> None:
    await fill(world)
    world.come("none", "equal")
    await world.run(5.0)
    assert world.placed("none") == []
    world.come("none", "urgent", priority=1)
    await world.run(5.0)
    assert world.placed("none") == ["urgent"]
    assert len({*world.evicted}) == 1


@pytest.mark.parametrize(
    ("namespace", "purpose"),
    [
        ("dev", "reclaiming borrowed capacity for a pod within the min of its quota"),
        ("none", "preempting to accommodate a higher priority pod"),
    ],
)
async def test_a_borrowed_pod_says_what_it_was_evicted_for(world: QuotaWorld, namespace: str, purpose: str) -> None:
    world.grace = None
    await fill(world)
    world.come(namespace, "one", priority=1)
    await world.run(5.0)
    [victim] = world.evicted
    [condition] = world.api.pods[victim]["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "PreemptionByScheduler")
    assert condition["message"].endswith(f": {purpose}")


async def test_the_systems_own_pods_go_where_they_have_to(world: QuotaWorld) -> None:
    world.come("ml", *(f"ml-{n}" for n in range(4)))
    world.come("dev", *(f"dev-{n}" for n in range(4)))
    await world.settle()
    world.come("kube-system", "proxy", priority=2_000_001_000)
    await world.run(5.0)
    assert world.placed("kube-system") == ["proxy"]


async def test_inside_a_namespace_priority_decides_as_ever(world: QuotaWorld) -> None:
    world.add_quota("ml", min={"cpu": "4"}, max={"cpu": "4"})
    world.come("ml", *(f"ml-{n}" for n in range(4)))
    await world.settle()
    world.come("ml", "urgent", priority=1)
    await world.run(5.0)
    assert "urgent" in world.placed("ml")
    assert len(world.placed("ml")) == 4
    assert len({*world.evicted}) == 1


async def test_a_gang_at_the_max_of_its_quota_evicts_pods_of_lower_priority(world: QuotaWorld) -> None:
    world.add_quota("ml", max={"cpu": "4"})
    world.come("ml", *(f"ml-{n}" for n in range(4)))
    await world.settle()
    world.gang("ml", "urgent", 3, priority=1)
    await world.run(10.0)
    assert [name for name in world.placed("ml") if name.startswith("urgent")] == ["urgent-0", "urgent-1", "urgent-2"]
    assert len({*world.evicted}) == 3


async def test_a_budget_keeps_a_claim_off(world: QuotaWorld) -> None:
    world.api.put(
        "poddisruptionbudgets",
        {
            "metadata": {"name": "all", "namespace": "ml"},
            "spec": {"selector": {"matchLabels": {"app": "kept"}}},
            "status": {"disruptionsAllowed": 1},
        },
    )
    keys = await fill(world)
    for key in keys:
        world.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update(app="kept"))
    await world.settle()
    world.gang("dev", "train", 2)
    await world.run(10.0)
    assert world.evicted == []
    world.come("dev", "one")
    await world.run(10.0)
    assert len({*world.evicted}) == 1


async def test_capacity_that_was_freed_for_a_claim_is_not_borrowed_again(world: QuotaWorld) -> None:
    world.add_quota("idle", min={"cpu": "8"})
    world.grace = 5.0
    await fill(world, priority=1000)
    world.come("ml", "waits", priority=1000)
    await world.settle()
    world.come("dev", "a")
    await world.run(20.0)
    assert world.placed("dev") == ["a"]
    assert "waits" not in world.placed("ml")
    assert len({*world.evicted}) == 1


async def test_two_gangs_of_a_namespace_do_not_both_claim_the_same_min(world: QuotaWorld) -> None:
    world.grace = 5.0
    await fill(world)
    world.gang("dev", "one", 3)
    world.gang("dev", "two", 3)
    await world.run(30.0)
    assert len(world.placed("dev")) == 3
    assert len({*world.evicted}) == 3


async def test_an_evicted_borrower_does_not_claim_its_place_back(world: QuotaWorld) -> None:
    await fill(world)
    world.come("dev", *"abcd")
    await world.run(20.0)
    assert len({*world.evicted}) == 4
    world.come("ml", *(f"again-{n}" for n in range(4)))
    await world.run(60.0)
    assert len({*world.evicted}) == 4
    assert len(world.placed("dev")) == 4


async def test_a_min_that_is_raised_lets_a_waiting_gang_claim(world: QuotaWorld) -> None:
    world.add_quota("dev", min={"cpu": "4"}, max={"cpu": "8"})
    world.add_quota("ops", min={"cpu": "8"})
    await fill(world)
    keys = world.gang("dev", "train", 6)
    await world.run(5.0)
    assert world.evicted == []
    assert {world.reason(key)[0] for key in keys} == {"Unschedulable"}
    world.add_quota("ml", min={"cpu": "2"})
    world.add_quota("dev", min={"cpu": "6"})
    await world.run(10.0)
    assert len(world.placed("dev")) == 6


async def test_a_department_gets_back_what_another_has_borrowed() -> None:
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("dept", min={"cpu": "6"})
    world.add_quota("ml", min={"cpu": "1"}, parent="dept/quota")
    world.add_quota("dev", min={"cpu": "1"}, parent="dept/quota")
    world.add_quota("ops", min={"cpu": "2"})
    world.come("ops", *(f"ops-{n}" for n in range(8)))
    await world.settle()
    assert len(world.placed("ops")) == 8
    world.come("ml", *"abcdef")
    await world.run(30.0)
    assert len(world.placed("ml")) == 6
    assert len(world.placed("ops")) == 2
    world.come("dev", "a")
    await world.run(10.0)
    assert world.placed("dev") == ["a"]
    assert (len(world.placed("ml")), len(world.placed("ops"))) == (5, 2)


@pytest.mark.parametrize("later", [1, 2])
async def test_members_beyond_the_quorum_evict_pods_of_their_quota_although_nodes_have_capacity(later: int) -> None:
    world = QuotaWorld()
    world.nodes(2)
    world.add_quota("default", max={"cpu": "4"})
    world.api.put(KIND, make_group("native", 1, priority=10))
    world.add(*make_members("native", 1, priority=10))
    world.come("default", "low-0", "low-1", "low-2")
    await world.settle()
    assert world.placed("default") == ["low-0", "low-1", "low-2", "native-0"]

    world.add(*make_members("native", later, first=1, priority=10))
    await world.run(30.0)
    assert len({*world.evicted}) == later
    assert {f"native-{number}" for number in range(later + 1)} < {*world.placed("default")}
