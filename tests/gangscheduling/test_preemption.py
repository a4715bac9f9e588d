"""Native groups preempt as a whole, and are evicted as their disruption mode says."""

from collections.abc import AsyncIterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from muster.framework.contract import Disruption, PodGroupInfo, PodInfo, Status
from muster.framework.groups import Announcement
from muster.framework.scheduler.attempt import Attempt
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.framework.scheduler.preemption_trial import PreemptionTrial
from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS
from muster.plugins.capacityscheduling.plugin import CapacityScheduling
from muster.plugins.defaultpreemption.group_search import GroupPreemption, GroupSearch
from muster.plugins.gangscheduling.api import NAME
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.plugins.gangscheduling.record import NativePodGroupReason
from tests.builders import PodDict, make_node
from tests.capacityscheduling.objects import make_quota
from tests.coscheduling.preemption.evicting import EvictingWorld, plain
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite, make_group, make_members
from tests.scheduler.played_extender import PlayedExtender, only


class World(EvictingWorld):
    """A cluster whose API takes evictions."""

    def native(self, name: str, count: int, *, min_count: int | None, priority: int, **spec: Any) -> list[str]:
        """A group with so many pods."""
        self.api.put(KIND, make_group(name, min_count, priority=priority, **spec))
        pods = make_members(name, count, priority=priority)
        for pod in pods:
            pod["spec"].update({key: spec[key] for key in spec if key == "preemptionPolicy"})
        return self.add(*pods)

    def said(self, group: str) -> Announcement:
        """The last word on a native group."""
        groups = self.engine.shared[NAME]
        assert isinstance(groups, NativePodGroups)
        found = groups.record(f"default/{group}").announced
        assert found is not None
        return found

    def bound_of(self, group: str) -> int:
        """How many of its pods are bound."""
        return sum(key.startswith(f"default/{group}-") for key in self.bound())


def nominated(world: World, group: str) -> dict[str, str]:
    """The nominated node of each pod of the group that has one."""
    found = world.engine.nominator.nominations()
    return {pod.name: node for pod, node in found if pod.name.startswith(f"{group}-")}


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[PodGroupInfo]:
    """The groups for which victims are looked for, one for each search."""
    groups = list[PodGroupInfo]()
    run = GroupSearch.run

    def noted(search: GroupSearch) -> GroupPreemption | Status:
        groups.append(search._group)
        return run(search)

    monkeypatch.setattr(GroupSearch, "run", noted)
    return groups


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.kill()


async def test_a_group_evicts_as_many_as_it_needs_and_says_so_on_its_condition(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.fill("a", 4)
    await world.settle()
    world.native("high", 3, min_count=3, priority=10)
    await world.settle()
    said = world.said("high")
    assert (said.reason, said.message) == (
        NativePodGroupReason.UNSCHEDULABLE,
        "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining, "
        "pod group preemption: found a placement for podgroup, preempting 3 victims",
    )
    assert len(world.evicted) == 3
    await world.run(30)
    assert (world.bound_of("high"), world.bound_of("low")) == (3, 1)


@pytest.mark.parametrize("others", [0, 1])
async def test_a_group_that_only_nominations_of_its_own_members_keep_out_starts(world: World, others: int) -> None:
    """As a new leader finds it: more members are nominated to the node than there is capacity for."""
    world.add_nodes(make_node("a", cpu=str(2 + others)))
    world.fill("a", others)
    await world.settle()
    world.api.put(KIND, make_group("g", 2, priority=10))
    world.add(*(pod.nominated("a") for pod in make_members("g", 4, priority=10)))
    await world.settle()
    assert world.evicted == []

    await world.run(5)
    assert world.bound_of("g") >= 2


@pytest.mark.parametrize(("group", "evicted"), [({"all": {}}, 3), ({"single": {}}, 1), (None, 1)])
async def test_members_go_one_by_one_unless_the_mode_says_that_all_do(
    world: World, group: dict[str, object] | None, evicted: int
) -> None:
    world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
    mode = {} if group is None else {"disruptionMode": group}
    world.native("low", 3, min_count=None, priority=1, **mode)
    await world.settle()
    assert len(world.bound()) == 3
    world.native("high", 2, min_count=2, priority=10)
    await world.run(30)
    assert len(world.evicted) == evicted
    assert world.bound_of("high") == 2


class Extended(World):
    """A world with an extender that lets the pods `left-` and `right-` have node a alone."""

    def build(self, ports: Ports) -> Engine:
        self.extenders = [PlayedExtender(filters=only("a"), pods=name) for name in ("left", "right")]
        return super().build(replace(ports, extenders=self.extenders))


async def test_a_tree_evicts_pods_on_nodes_that_extenders_accept() -> None:
    world = Extended()
    world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
    expected = world.fill("a", 2, priority=5)
    world.fill("b", 2)
    await world.settle()
    world.api.put(COMPOSITE_KIND, make_composite("job", 2, priority=10))
    for name in ("left", "right"):
        world.native(name, 1, min_count=1, priority=10, parentCompositePodGroupName="job")
    await world.run(200)

    assert sorted(world.evicted) == sorted(expected)
    assert world.bound_of("left") + world.bound_of("right") == 2
    assert [len(extender.asked) for extender in world.extenders] == [2, 2]
    await world.kill()


async def test_parts_of_a_tree_that_a_trial_has_placed_use_their_quota_once() -> None:
    """They are nominated, too, when the victims have gone."""
    world = World(plugins={CapacityScheduling.name: CapacityScheduling})
    world.api.put(ELASTIC_QUOTAS.resource, make_quota("default", max={"cpu": "4"}))
    world.add_nodes(make_node("a", cpu="8"))
    world.fill("a", 4)
    await world.settle()
    world.api.put(COMPOSITE_KIND, make_composite("job", 2, priority=10))
    for name in ("left", "right"):
        world.native(name, 2, min_count=2, priority=10, parentCompositePodGroupName="job")
    await world.run(200)

    assert len(world.evicted) == 4
    assert (world.bound_of("left"), world.bound_of("right")) == (2, 2)
    await world.kill()


async def test_a_pod_by_itself_takes_a_group_of_mode_all_as_a_whole(world: World) -> None:
    world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
    low = world.native("low", 4, min_count=2, priority=1, disruptionMode={"all": {}})
    await world.settle()
    world.add(PodDict(plain("alone")).priority(5))
    await world.run(30)
    assert sorted(world.evicted) == sorted(low)
    assert world.node_of("default/alone")


async def test_the_disruption_of_a_pod_is_queried_once_per_decision(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, disruption = list[str](), NativePodGroups.disruption

    def noted(groups: NativePodGroups, pod: PodInfo) -> Disruption | None:
        asked.append(pod.name)
        return disruption(groups, pod)

    monkeypatch.setattr(NativePodGroups, "disruption", noted)
    world.add_nodes(*(make_node(f"n{number}", cpu="2") for number in range(4)))
    world.native("low", 8, min_count=2, priority=1, disruptionMode={"all": {}})
    await world.settle()
    asked.clear()
    world.add(PodDict(plain("alone")).priority(5))
    world.step()
    assert len(asked) == 1


async def test_a_group_that_does_not_fit_without_all_others_either_says_what_it_lacks_then(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.fill("a", 2)
    await world.settle()
    world.native("high", 6, min_count=6, priority=10)
    await world.settle()
    assert world.said("high").message == (
        "minCount (6) cannot be satisfied: 2 scheduled, 3 remaining, "
        "pod group preemption: minCount (6) cannot be satisfied: 4 scheduled, 1 remaining"
    )
    assert not world.evicted


async def test_a_group_that_may_not_preempt_waits(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.fill("a", 4)
    await world.settle()
    world.native("high", 2, min_count=2, priority=10, preemptionPolicy="Never")
    await world.run(30)
    assert world.said("high").message == (
        "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, "
        "pod group preemption: not eligible due to preemptionPolicy=Never."
    )
    assert world.evicted == []


async def test_an_attempt_of_a_group_that_evicts_is_counted_as_kube_scheduler_counts_it() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="4"))
    world.fill("a", 1)
    world.native("low", 3, min_count=3, priority=1, disruptionMode={"all": {}})
    await world.settle()
    world.native("high", 4, min_count=4, priority=10)
    await world.run(30)
    await world.kill()
    metrics = world.metrics
    attempts = {result: number for (result, _), number in metrics.podgroup_schedule_attempts.values().items()}
    assert attempts == {"scheduled": 2, "waiting_on_preemption": 1}
    assert metrics.workload_preemption_attempts.values() == {("Success",): 1}
    assert (metrics.workload_preemption_victims.counts(), metrics.workload_preemption_victims.sums()) == (
        {(): 1},
        {(): 4},
    )
    assert metrics.preemption_workload_disruptions.sums() == {("podgroup",): 1}


async def test_a_group_without_victims_is_counted_as_unschedulable() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="4"))
    world.native("high", 5, min_count=5, priority=10)
    await world.settle()
    await world.kill()
    metrics = world.metrics
    assert metrics.podgroup_schedule_attempts.values() == {("unschedulable", "muster"): 1}
    assert metrics.workload_preemption_attempts.values() == {("UnschedulableAndUnresolvable",): 1}
    assert metrics.workload_preemption_victims.counts() == {(): 0}


async def evicted(seed: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The evictions for two gangs that keep to their leaders, and their nominations; the seed chooses the cluster."""
    random, world = Random(seed), World()
    nodes = [f"n{number}" for number in range(5)]
    world.add_nodes(*(make_node(name, cpu="4").zone(random.choice(("a", "b"))) for name in nodes))
    for number in range(16):
        pod = plain(f"low-{number}", random.choice(("500m", "1", "2")))
        pod.labels(app=random.choice(("web", "db"))).priority(random.randint(0, 5)).node(random.choice(nodes))
        world.add(pod)
    await world.settle()
    for name in ("one", "two"):
        world.api.put(KIND, make_group(name, 3, priority=10))
        leader, *others = make_members(name, 3, cpu=random.choice(("1", "2")), priority=10)
        for pod in others:
            pod.near("topology.kubernetes.io/zone", {"leads": name})
        world.add(leader.labels(leads=name), *others)
    await world.run(5)
    await world.kill()
    return world.evicted, world.nominations


async def test_capacity_on_the_nodes_of_returned_pods_is_looked_at_first_which_saves_trials_and_changes_no_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials: list[str] = []
    fits = PreemptionTrial._fits

    def counted_fits(trial: PreemptionTrial, attempt: Attempt, reserved: list[Attempt]) -> bool:
        trials.append(attempt.node_name)
        return fits(trial, attempt, reserved)

    monkeypatch.setattr(PreemptionTrial, "_fits", counted_fits)
    found = [await evicted(seed) for seed in range(20)]
    quick = len(trials)
    assert sum(bool(victims) for victims, _ in found) > 10

    monkeypatch.setattr(PreemptionTrial, "_pass_on_nodes", lambda self, attempts: True)
    assert found == [await evicted(seed) for seed in range(20)]
    assert quick < (len(trials) - quick) / 2


async def test_a_group_evicts_a_pod_that_keeps_it_out_of_a_zone_from_a_node_that_no_member_can_use(
    world: World,
) -> None:
    """kube-scheduler removes all pods of lower priority in the cluster, and then returns those that may stay."""
    world.add_nodes(make_node("cordoned").labels(zone="a").unschedulable(), make_node("free").labels(zone="a"))
    world.add(PodDict(plain("low")).labels(app="x").node("cordoned"), PodDict(plain("other")).node("cordoned"))
    await world.settle()
    world.api.put(KIND, make_group("high", 2, priority=10))
    world.add(*(pod.apart("zone", {"app": "x"}) for pod in make_members("high", 2, priority=10)))
    await world.run(30)
    assert world.evicted == ["default/low"]
    assert world.bound_of("high") == 2


@pytest.mark.parametrize("min_count", [1, None])
async def test_a_group_evicts_at_once_for_all_members_that_then_fit(world: World, min_count: int | None) -> None:
    """kube-scheduler nominates every member that fits without the pods of lower priority."""
    world.add_nodes(make_node("a", cpu="4"))
    world.fill("a", 3)
    world.fill("a", 1, priority=20)
    await world.settle()
    world.native("high", 4, min_count=min_count, priority=10)
    await world.settle()
    assert "preempting 3 victims" in world.said("high").message
    assert len(world.evicted) == 3
    assert nominated(world, "high") == {f"high-{number}": "a" for number in range(3)}
    await world.run(30)
    assert world.bound_of("high") == 3


_ZONE: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}


@pytest.mark.parametrize(
    ("sizes", "free", "members", "victims"),
    [((3, 4), 1, 2, 2), ((3, 7), 0, 3, 3), ((2, 6), 0, 3, 2), ((1, 6), 0, 3, 3)],
    ids=["more evictions", "all members", "fewer members", "too small"],
)
async def test_a_group_evicts_pods_in_the_domain_that_scores_highest_without_them(
    world: World, sizes: tuple[int, int], free: int, members: int, victims: int
) -> None:
    """kube-scheduler chose these domains, and evicted as many pods."""
    small, large = sizes
    world.add_nodes(
        make_node("a", cpu=str(small), memory="0").labels(zone="a"),
        make_node("b", cpu=str(large), memory="0").labels(zone="b"),
    )
    world.fill("a", small)
    world.fill("b", large - free)
    await world.settle()
    world.native("high", members, min_count=2, priority=10, **_ZONE)
    await world.run(30)
    zone = "a" if small >= 2 else "b"
    assert {key.split("-")[1] for key in world.evicted} == {zone}
    assert (len(world.evicted), world.bound_of("high")) == (victims, victims)


@pytest.mark.parametrize("of_part", [False, True])
async def test_a_tree_evicts_pods_in_the_domain_that_scores_highest_without_them(world: World, of_part: bool) -> None:
    world.add_nodes(*(make_node(name, cpu=cpu).labels(zone=name) for name, cpu in (("a", "3"), ("b", "4"))))
    world.fill("a", 3)
    world.fill("b", 3)
    await world.settle()
    world.api.put(COMPOSITE_KIND, make_composite("job", 1, priority=10, **({} if of_part else _ZONE)))
    more = _ZONE if of_part else {}
    world.native("part", 2, min_count=2, priority=10, parentCompositePodGroupName="job", **more)
    await world.run(200)
    assert sorted(world.evicted) == ["default/low-a-0-1", "default/low-a-0-2"]
    assert world.bound_of("part") == 2


async def test_a_group_evicts_no_pod_for_a_member_that_fits_in_its_domain_without(world: World) -> None:
    """The other domain has more capacity, and more of it is free."""
    world.add_nodes(
        make_node("a-0", cpu="2").labels(zone="a"),
        make_node("a-1", cpu="1").labels(zone="a"),
        make_node("b", cpu="6").labels(zone="b"),
    )
    world.fill("a-0", 2)
    world.fill("b", 5)
    await world.settle()
    world.native("high", 2, min_count=2, priority=10, **_ZONE)
    await world.run(30)
    assert [key.split("-")[1] for key in world.evicted] == ["a"]
    assert world.bound_of("high") == 2


@pytest.mark.parametrize("runs", [0, 2])
async def test_a_group_chooses_a_domain_only_if_none_of_its_pods_runs(
    world: World, searches: list[PodGroupInfo], runs: int
) -> None:
    world.add_nodes(make_node("a", cpu="4").labels(zone="a"))
    world.fill("a", 4 - runs)
    await world.settle()
    world.native("high", 3, min_count=2, priority=10, **_ZONE)
    await world.settle()
    assert (searches[0].wanted, searches[0].chooses_domain) == (3 - runs, not runs)


async def test_a_group_that_affinity_binds_to_pods_of_lower_priority_evicts_others(world: World) -> None:
    """Without all pods that it may evict it fits nowhere."""
    world.add_nodes(make_node("a", cpu="3").labels(zone="a"))
    world.add(PodDict(plain("wanted")).labels(app="x").priority(5).node("a"))
    world.fill("a", 2)
    await world.settle()
    world.api.put(KIND, make_group("high", 2, priority=10, **_ZONE))
    world.add(*(pod.near("zone", {"app": "x"}) for pod in make_members("high", 2, priority=10)))
    await world.run(30)
    assert sorted(world.evicted) == ["default/low-a-0-0", "default/low-a-0-1"]
    assert world.bound_of("high") == 2


NO_CAPACITY = "0/1 nodes are available: 1 Insufficient cpu."


async def test_members_beyond_the_quorum_preempt_together(world: World) -> None:
    """As kube-scheduler's next cycle of the group: without `large` there is room for both, and `small` may stay."""
    world.add_nodes(make_node("a", cpu="4"))
    world.add(PodDict(plain("large", "2")).priority(5).node("a"), PodDict(plain("small")).node("a"))
    await world.settle()
    world.native("high", 3, min_count=1, priority=10)
    await world.settle()
    assert world.evicted == ["default/large"]
    assert nominated(world, "high") == {"high-1": "a", "high-2": "a"}
    await world.run(30)
    assert world.evicted == ["default/large"]
    assert (world.bound_of("high"), world.node_of("default/small")) == (3, "a")


@pytest.mark.parametrize("topology", [{}, {"schedulingConstraints": {"topology": [{"key": "zone"}]}}])
@pytest.mark.parametrize("later", [True, False])
async def test_a_member_beyond_the_quorum_evicts_a_pod_that_keeps_it_out_from_another_node(
    world: World, later: bool, topology: dict[str, Any]
) -> None:
    world.add_nodes(*(make_node(name).labels(zone="a", name=name) for name in ("first", "second")))
    world.add(PodDict(plain("low")).labels(app="x").node("first"))
    await world.settle()
    world.api.put(KIND, make_group("high", 1, priority=10, **topology))
    one, other = make_members("high", 2, priority=10)
    other.node_selector({"name": "second"}).apart("zone", {"app": "x"})
    world.add(*([one] if later else [one, other]))
    await world.run(30)
    if later:
        world.add(other)
        await world.run(30)
    assert world.evicted == ["default/low"]
    assert world.bound_of("high") == 2


@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("low", [0, 20])
async def test_the_condition_of_a_member_beyond_the_quorum_does_not_mention_preemption(
    world: World, low: int, later: bool
) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.grace = None
    world.fill("a", 1, priority=low)
    await world.settle()
    world.native("high", 1 if later else 2, min_count=1, priority=10)
    await world.settle()
    if later:
        world.add(*make_members("high", 1, first=1, priority=10))
        await world.settle()
    assert world.conditions["default/high-1"][1] == NO_CAPACITY
    assert world.evicted == ([] if low else ["default/low-a-0-0"])


async def test_later_members_that_no_eviction_helps_cost_no_trial_of_their_group(
    world: World, searches: list[PodGroupInfo]
) -> None:
    world.add_nodes(make_node("a", cpu="3"))
    world.fill("a", 1, cpu="500m")
    world.fill("a", 1, cpu="1500m", priority=20)
    world.native("high", 1, min_count=1, priority=10)
    await world.settle()
    world.add(*make_members("high", 20, first=1, priority=10))
    await world.run(30)
    assert (world.bound_of("high"), world.evicted, searches) == (1, [], [])
