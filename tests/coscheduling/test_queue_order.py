"""The order of the queue: by priority, then group by group, and total."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract.plugin import QueuedPod
from muster.framework.groups.annotations import GroupMeta
from muster.plugins.coscheduling.api import PodGroup, PodGroupSpec
from tests.builders import make_pod
from tests.coscheduling.objects import make_member
from tests.coscheduling.world import World

ORDINARY = ""


def queued(world: World, name: str, group: str = ORDINARY, *, priority: int = 0, at: float = 0.0) -> QueuedPod:
    """A pod of the world that entered the queue so many seconds after the world began."""
    pod = make_member(name, group) if group else make_pod(name)
    [key] = world.add(pod.priority(priority))
    info = world.engine.known.get(key)
    assert info is not None
    return QueuedPod(info, 1000.0 + at, 1000.0 + at)


def order(world: World, *pods: QueuedPod) -> list[str]:
    """The pods' names, who goes first first."""
    return [pod.info.name for pod in sorted(pods, key=world.plugin().sort_key)]


@pytest.mark.parametrize(
    ("first", "second"),
    [(ORDINARY, ORDINARY), ("old", ORDINARY), (ORDINARY, "old"), ("old", "young"), ("young", "old")],
    ids=["two pods", "a member and a pod", "a pod and a member", "members of two", "members of two, younger first"],
)
def test_the_higher_priority_goes_first_whatever_the_times(first: str, second: str) -> None:
    world = World()
    for group in ("old", "young"):
        world.add_group(group, 2)
        world.clock.move_to(world.clock.now() + 1)
    low = queued(world, "low", first, priority=10, at=0)
    high = queued(world, "high", second, priority=100, at=9)

    assert order(world, low, high) == ["high", "low"]


def test_of_two_pods_the_one_that_came_earlier_goes_first() -> None:
    world = World()

    assert order(world, queued(world, "late", at=2), queued(world, "early", at=1)) == ["early", "late"]


def test_a_pod_that_came_before_a_group_goes_before_all_of_its_members() -> None:
    world = World()
    world.add_group("g", 2)
    early = queued(world, "early", at=0)
    world.clock.move_to(1001.0)
    members = [queued(world, f"g-{number}", "g", at=1 + number) for number in range(2)]
    world.clock.move_to(1009.0)
    late = queued(world, "late", at=2)

    assert order(world, late, *members, early) == ["early", "g-0", "g-1", "late"]


def created(name: str, moment: str) -> PodGroup:
    """A PodGroup as the API shows it."""
    return PodGroup(GroupMeta(name=name, namespace="default", creation_timestamp=moment), PodGroupSpec(min_member=1))


def test_another_process_orders_groups_as_the_first_did_whatever_it_saw_first() -> None:
    groups = [
        created("third", "2026-01-01T00:00:02Z"),
        created("first", "2026-01-01T00:00:00Z"),
        created("second", "2026-01-01T00:00:01Z"),
    ]
    seen: list[list[str]] = []
    for listed in (groups, groups[::-1]):
        world = World()
        world.clock.move_to(1000.0 + len(seen) * 77)
        for group in listed:
            world.groups.follow_group(group.key, group)
            world.clock.move_to(world.clock.now() + 5)
        names = [group.metadata.name for group in listed]
        seen.append(order(world, *(queued(world, f"pod-{name}", name) for name in names)))

    assert seen == [["pod-first", "pod-second", "pod-third"]] * 2


def test_a_group_is_as_old_as_its_podgroup_whenever_its_members_came() -> None:
    world = World()
    world.add_group("made-first", 1)
    world.clock.move_to(1001.0)
    world.add_group("filled-first", 1)
    filled = queued(world, "f", "filled-first", at=1)
    world.clock.move_to(1002.0)
    made = queued(world, "m", "made-first", at=2)

    assert order(world, made, filled) == ["m", "f"]


def test_groups_of_one_moment_go_by_name_and_namespace_and_members_by_their_own_times() -> None:
    world = World()
    pods = []
    for namespace, group in (("b", "x"), ("a", "y"), ("a", "x")):
        world.add_group(group, 2, namespace=namespace)
        for number, at in ((0, 5), (1, 4)):
            [key] = world.add(make_member(f"{group}-{number}", group, namespace=namespace))
            info = world.engine.known.get(key)
            assert info is not None
            pods.append(QueuedPod(info, 1000.0 + at, 1000.0))

    keys = [pod.info.key for pod in sorted(pods, key=world.plugin().sort_key)]

    assert keys == ["a/x-1", "a/x-0", "a/y-1", "a/y-0", "b/x-1", "b/x-0"]


def test_of_groups_of_the_same_age_the_failed_ones_come_last() -> None:
    world = World()
    for name in ("failing", "other"):
        world.add_group(name, 1)
    failing, other = queued(world, "f", "failing", at=0), queued(world, "o", "other", at=0)
    assert order(world, other, failing) == ["f", "o"]

    world.clock.move_to(1005.0)
    world.groups.failed("default/failing")

    assert order(world, other, failing) == ["o", "f"]
    world.groups.state("default/failing").forget_failures()
    assert order(world, other, failing) == ["f", "o"]


def test_a_group_has_the_highest_priority_of_its_members() -> None:
    world = World()
    for name in ("mixed", "middle"):
        world.add_group(name, 2)
    low = queued(world, "low", "mixed", priority=-5)
    between = queued(world, "between", "middle", priority=7)
    assert order(world, low, between) == ["between", "low"]
    high = queued(world, "high", "mixed", priority=10)

    assert order(world, low, between, high) == ["high", "low", "between"]
    world.delete("default/high")
    assert order(world, low, between) == ["between", "low"]


@pytest.mark.parametrize(
    ("policies", "may"), [((), True), (("Never",), False), (("PreemptLowerPriority", "Never"), False)]
)
def test_a_member_that_never_preempts_speaks_for_its_group(policies: tuple[str, ...], may: bool) -> None:
    world = World()
    world.add_group("g", 3)
    world.add(make_member("plain", "g"))
    for number, policy in enumerate(policies):
        pod = make_member(f"g-{number}", "g")
        pod["spec"]["preemptionPolicy"] = policy
        world.add(pod)

    assert world.groups.record("default/g").may_preempt is may


def test_a_label_that_names_no_podgroup_makes_no_group() -> None:
    world = World()

    assert order(world, queued(world, "b", "nowhere", at=1), queued(world, "a", at=2)) == ["b", "a"]


pods_of_groups = st.lists(
    st.tuples(
        st.sampled_from([ORDINARY, "g1", "g2", "g3", "nowhere"]),
        st.sampled_from([0, 1]),
        st.integers(0, 3),
        st.booleans(),
    ),
    min_size=2,
    max_size=30,
)


@given(pods_of_groups, st.lists(st.sampled_from(["g1", "g2", "g3"]), max_size=3), st.randoms())
def test_the_order_is_total_and_members_of_a_group_are_never_parted(
    shapes: list[tuple[str, int, int, bool]], failing: list[str], random: object
) -> None:
    world = World()
    for group in ("g1", "g2", "g3"):
        world.add_group(group, 2)
    pods = []
    for number, (group, priority, at, later) in enumerate(shapes):
        if later:
            world.clock.move_to(world.clock.now() + 1)
        pods.append(queued(world, f"pod-{number}", group, priority=priority, at=at))
    for group in failing:
        world.groups.failed(f"default/{group}")
    keys = [world.plugin().sort_key(pod) for pod in pods]

    assert len(set(keys)) == len(keys)
    assert all((one < other) != (other < one) for one, other in pairwise(keys))
    assert len({tuple(map(type, key)) for key in keys}) == 1
    in_order = sorted(pods, key=world.plugin().sort_key)
    assert order(world, *reversed(in_order)) == [pod.info.name for pod in in_order]
    blocks = [shapes[int(pod.info.name[4:])][0] for pod in in_order]
    runs = [block for index, block in enumerate(blocks) if index == 0 or blocks[index - 1] != block]
    grouped = [run for run in runs if run.startswith("g")]
    assert len(grouped) == len(set(grouped))
