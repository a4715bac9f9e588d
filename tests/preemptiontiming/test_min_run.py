"""The minimum run time: no pod or gang is evicted before it has run so long, whoever wants its capacity."""

import pytest

from tests.preemptiontiming.world import TimingWorld, high, low, members


@pytest.fixture
def world() -> TimingWorld:
    """Pods run undisturbed for a minute, on nodes for one each."""
    world = TimingWorld(minRunSeconds=60)
    world.nodes("one")
    return world


async def test_a_pod_is_evicted_once_it_has_run_so_long_and_the_preemptor_says_until_when(world: TimingWorld) -> None:
    world.runs(low("victim"), "one", since=20)
    date = world.date(40)
    [key] = world.add(high("urgent"))
    await world.run(39.5)
    assert world.message(key).endswith(
        f"1 Insufficient cpu. preemption: no victims may be evicted before {date} due to their minimum run time"
    )
    assert world.evicted == []
    await world.run(1)
    assert world.evicted == ["default/victim"]
    await world.run(3)
    assert world.node_of(key) == "one"


async def test_a_victim_that_has_run_long_enough_is_preferred_to_one_that_costs_less(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("cheap"), "one", since=10)
    world.runs(high("dear", priority=50), "two", since=100)
    world.add(high("urgent"))
    await world.run(1)
    assert world.evicted == ["default/dear"]


async def test_a_preemptor_that_needs_one_of_two_victims_waits_for_the_first_of_them_alone(world: TimingWorld) -> None:
    world.runs(high("first", cpu="1", priority=50), "one", since=50)
    world.runs(low("second", cpu="1"), "one", since=10)
    world.add(high("urgent", cpu="1"))
    await world.run(9)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["default/first"]


async def test_a_pod_that_was_bound_and_has_not_started_is_protected(world: TimingWorld) -> None:
    [bound] = world.add(low("victim"))
    await world.run(1)
    assert world.node_of(bound) == "one"
    world.add(high("urgent"))
    await world.run(100)
    assert world.evicted == []
    world.started(bound)
    await world.run(59)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == [bound]


async def test_a_pod_held_at_permit_or_in_binding_is_protected(world: TimingWorld) -> None:
    world.binder.latency = lambda: 5.0
    [first] = world.add(low("victim"))
    await world.run(1)
    world.add(high("urgent"))
    await world.run(20)
    assert world.node_of(first) == "one"
    assert world.evicted == []


async def test_a_system_critical_pod_evicts_what_has_just_started(world: TimingWorld) -> None:
    world.runs(low("victim"), "one", since=1)
    world.add(high("system", priority=2_000_000_000))
    await world.run(1)
    assert world.evicted == ["default/victim"]


@pytest.mark.parametrize(
    ("of_class", "of_group", "seconds"),
    [("10", "", 10), ("", "10", 10), ("10", "30", 30), ("30", "0", 0), ("soon", "", 60), ("10", "4294967296", 10)],
)
async def test_a_group_goes_before_its_class_and_both_before_the_argument_where_they_can_be_read(
    world: TimingWorld, of_class: str, of_group: str, seconds: int
) -> None:
    world.priority_class("batch", min_run=of_class)
    world.group("gang", 1, min_run=of_group)
    [pod] = members("gang", 1)
    world.runs(pod.priority_class("batch"), "one", since=0)
    world.add(high("urgent"))
    if seconds:
        await world.run(seconds - 0.5)
        assert world.evicted == []
    await world.run(1.5)
    assert world.evicted == ["default/gang-0"]


async def test_a_gang_is_protected_since_its_last_member_started(world: TimingWorld) -> None:
    world.nodes("two")
    world.group("gang", 2)
    old, new = members("gang", 2)
    world.runs(old, "one", since=1000)
    world.runs(new, "two", since=20)
    world.add(high("urgent"))
    await world.run(39)
    assert world.evicted == []
    await world.run(2)
    assert sorted(world.evicted) == ["default/gang-0", "default/gang-1"]


async def test_a_gang_is_evicted_when_its_last_member_elsewhere_has_run_so_long(world: TimingWorld) -> None:
    world.nodes("small", cpu="1")
    world.group("gang", 2)
    world.runs(members("gang", 1)[0], "one", since=1000)
    world.runs(members("gang", 2, cpu="1")[1], "small", since=20)
    world.add(high("urgent"))
    await world.run(39)
    assert world.evicted == []
    await world.run(2)
    assert sorted(world.evicted) == ["default/gang-0", "default/gang-1"]


async def test_a_gang_waits_for_its_victims_and_says_until_when(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("first"), "one", since=1000)
    world.runs(low("second"), "two", since=20)
    date = world.date(40)
    world.group("gang", 2)
    key, _ = world.add(*members("gang", 2, priority=100))
    await world.run(2)
    wanted = f"pod group preemption: no victims may be evicted before {date} due to their minimum run time"
    assert wanted in world.message(key)
    await world.run(37)
    assert world.evicted == []
    await world.run(2)
    assert sorted(world.evicted) == ["default/first", "default/second"]
    await world.run(5)
    assert [world.node_of(each) != "" for each in world.api.pods] == [True, True]


async def test_borrowed_capacity_is_reclaimed_only_after_that_time(world: TimingWorld) -> None:
    world.nodes("two")
    world.quota("ml", "2")
    world.quota("dev", "2")
    world.runs(low("a", namespace="ml"), "one", since=30)
    world.runs(low("b", namespace="ml"), "two", since=20)
    [key] = world.add(low("claim", namespace="dev"))
    await world.run(2)
    assert "no victims may be evicted before" in world.message(key)
    await world.run(37)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["ml/b"]


async def test_a_preemptor_that_no_eviction_would_help_does_not_speak_of_time(world: TimingWorld) -> None:
    world.runs(low("victim"), "one", since=1)
    [key] = world.add(high("large", cpu="4"))
    await world.run(1)
    assert "minimum run time" not in world.message(key)


async def test_a_terminating_pod_is_not_protected(world: TimingWorld) -> None:
    world.nodes("two")
    world.runs(low("leaving"), "one", since=1)
    world.terminate("default/leaving")
    world.runs(high("dear", priority=50), "two", since=1000)
    [key] = world.add(high("urgent"))
    await world.run(1)
    world.delete("default/leaving")
    await world.run(5)
    assert world.evicted == []
    assert world.node_of(key) == "one"


async def test_a_new_leader_continues_the_protection(world: TimingWorld) -> None:
    world.runs(low("victim"), "one", since=20)
    world.add(high("urgent"))
    await world.run(20)
    await world.kill()
    world.start()
    await world.run(19)
    assert world.evicted == []
    await world.run(2)
    assert world.evicted == ["default/victim"]


async def test_equal_pods_evict_all_that_has_run_long_enough_one_after_another(world: TimingWorld) -> None:
    world.grace = None
    names = [f"node-{number}" for number in range(6)]
    world.nodes(*names)
    world.runs(low("victim-0"), "one", since=30)
    for number, name in enumerate(names, 1):
        world.runs(low(f"victim-{number}"), name, since=30)
    world.add(*(high(f"urgent-{number}") for number in range(5)))
    await world.run(29)
    assert world.evicted == []
    await world.run(3)
    assert len(world.evicted) == 5


async def test_a_changed_annotation_counts_at_once_and_old_outcomes_do_not(world: TimingWorld) -> None:
    world.priority_class("batch", min_run="1000")
    world.runs(low("victim").priority_class("batch"), "one", since=100)
    [key] = world.add(high("urgent"))
    await world.run(10)
    assert "no victims may be evicted before" in world.message(key)
    world.priority_class("batch", min_run="10")
    await world.run(2)
    assert world.evicted == ["default/victim"]


async def test_a_changed_annotation_of_a_group_counts_within_a_second(world: TimingWorld) -> None:
    world.group("gang", 1, min_run="1000")
    [pod] = members("gang", 1)
    world.runs(pod, "one", since=100)
    world.add(high("urgent"))
    await world.run(10)
    assert world.evicted == []
    world.group("gang", 1, min_run="10")
    await world.run(2)
    assert world.evicted == ["default/gang-0"]
