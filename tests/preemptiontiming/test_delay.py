"""The delay: a pod or gang waits for a node before it evicts others, and says until when."""

import pytest

from tests.preemptiontiming.world import PLUGINS, TimingWorld, high, low, members


@pytest.fixture
def world() -> TimingWorld:
    """One full node, and preemptors that wait for half a minute."""
    world = TimingWorld(delaySeconds=30)
    world.nodes("one")
    world.runs(low("victim"), "one", since=1000)
    return world


async def test_a_pod_evicts_others_once_its_delay_has_passed_and_says_until_when_it_waits(world: TimingWorld) -> None:
    date = world.date(30)
    [key] = world.add(high("urgent"))
    await world.run(1)
    assert world.message(key).endswith(
        f"1 Insufficient cpu. preemption: not eligible before {date} due to a preemption delay of 30s"
    )
    await world.run(28.5)
    assert world.evicted == []
    await world.run(1.5)
    assert world.evicted == ["default/victim"]
    await world.run(5)
    assert world.node_of(key) == "one"


async def test_a_node_that_comes_first_saves_the_victim(world: TimingWorld) -> None:
    [key] = world.add(high("urgent"))
    await world.run(20)
    world.nodes("two")
    await world.run(60)
    assert world.node_of(key) == "two"
    assert world.evicted == []


async def test_a_pod_that_may_evict_nobody_does_not_speak_of_its_delay(world: TimingWorld) -> None:
    [key] = world.add(low("equal"))
    await world.run(1)
    assert "delay" not in world.message(key)
    [never] = world.add(high("never", priority=50).priority(50, preemption_policy="Never"))
    await world.run(1)
    assert world.message(never).endswith("preemption: not eligible due to preemptionPolicy=Never.")


async def test_a_system_critical_pod_does_not_wait(world: TimingWorld) -> None:
    world.add(high("system", priority=2_000_000_000))
    await world.run(1)
    assert world.evicted == ["default/victim"]


async def test_a_profile_without_the_plugin_does_not_wait() -> None:
    world = TimingWorld(plugins=PLUGINS[:-1])
    world.nodes("one")
    world.runs(low("victim"), "one", since=1000)
    world.priority_class("patient", delay="30")
    world.add(high("urgent").priority_class("patient"))
    await world.run(1)
    assert world.evicted == ["default/victim"]


@pytest.mark.parametrize(
    ("of_class", "of_group", "seconds"),
    [("10", "", 10), ("", "10", 10), ("10", "60", 60), ("60", "0", 0), ("soon", "", 30), ("10", "-1", 10)],
)
async def test_a_group_goes_before_its_class_and_both_before_the_argument_where_they_can_be_read(
    world: TimingWorld, of_class: str, of_group: str, seconds: int
) -> None:
    world.nodes("two")
    world.runs(low("other"), "two", since=1000)
    world.priority_class("patient", delay=of_class)
    world.group("gang", 2, delay=of_group)
    pods = [pod.priority_class("patient") for pod in members("gang", 2, priority=100)]
    world.add(*pods)
    if seconds:
        await world.run(seconds - 0.5)
        assert world.evicted == []
    await world.run(1.5)
    assert len(world.evicted) == 2


async def test_a_gang_says_why_it_waits_and_waits_for_as_many_members_as_it_needs(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("other"), "two", since=1000)
    world.group("gang", 2)
    first, second = members("gang", 2, priority=100)
    world.add(first)
    await world.run(20)
    date = world.date(30)
    [key] = world.add(second)
    await world.run(2)
    assert f"pod group preemption: not eligible before {date} due to a preemption delay of 30s" in world.message(key)
    await world.run(27.5)
    assert world.evicted == []
    await world.run(2)
    assert len(world.evicted) == 2


async def test_a_new_leader_continues_the_delay(world: TimingWorld) -> None:
    world.add(high("urgent"))
    await world.run(20)
    await world.kill()
    world.start()
    await world.run(9)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["default/victim"]


async def test_equal_pods_evict_each_after_its_own_delay(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("other"), "two", since=1000)
    world.add(high("first"))
    await world.run(10)
    world.add(high("second"))
    await world.run(21)
    assert len(world.evicted) == 1
    await world.run(10)
    assert len(world.evicted) == 2


async def test_the_delay_of_a_gang_that_lacked_members_begins_when_it_lacks_none(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("other"), "two", since=1000)
    world.group("gang", 3)
    first, second = world.add(*members("gang", 2, priority=100))
    await world.run(40)
    assert [world.conditions[key][0] for key in (first, second)] == ["WaitingForPods"] * 2
    world.group("gang", 2)
    await world.run(2)
    assert [world.conditions[key][0] for key in (first, second)] == ["Unschedulable"] * 2
    await world.run(27)
    assert world.evicted == []
    await world.run(3)
    assert len(world.evicted) == 2


async def test_a_pod_over_its_quota_evicts_a_pod_of_its_namespace_once_its_delay_has_passed(world: TimingWorld) -> None:
    world.quota("default", "2", most="2")
    date = world.date(30)
    [key] = world.add(high("urgent"))
    await world.run(29)
    assert world.conditions[key][0] == "QuotaExceeded"
    assert world.message(key).endswith(f"preemption: not eligible before {date} due to a preemption delay of 30s")
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["default/victim"]


async def test_a_gang_over_its_quota_evicts_within_its_namespace_once_its_delay_has_passed(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("other"), "two", since=1000)
    world.quota("default", "4", most="4")
    early, late = members("gang", 2, priority=100)
    world.add(early)
    await world.run(5)
    world.group("gang", 2)
    await world.run(5)
    assert world.conditions["default/gang-0"][0] == "WaitingForPods"
    world.add(late)
    await world.run(29)
    assert {world.conditions[f"default/gang-{number}"][0] for number in range(2)} == {"QuotaExceeded"}
    assert world.evicted == []
    await world.run(2)
    assert sorted(world.evicted) == ["default/other", "default/victim"]


async def test_the_delay_of_a_pod_begins_anew_when_quota_lets_it_in(world: TimingWorld) -> None:
    world.quota("ml", "1", most="1")
    [key] = world.add(high("urgent", namespace="ml"))
    await world.run(40)
    assert world.conditions[key][0] == "QuotaExceeded"
    world.quota("ml", "4", most="4")
    await world.run(29)
    assert world.conditions[key][0] == "Unschedulable"
    assert world.evicted == []
    await world.run(3)
    assert world.evicted == ["default/victim"]


async def test_a_new_leader_counts_the_delay_from_the_end_of_the_wait_for_quota(world: TimingWorld) -> None:
    world.quota("ml", "1", most="1")
    world.add(high("urgent", namespace="ml"))
    await world.run(40)
    world.quota("ml", "4", most="4")
    await world.run(20)
    await world.kill()
    world.start()
    await world.run(8)
    assert world.evicted == []
    await world.run(3)
    assert world.evicted == ["default/victim"]
