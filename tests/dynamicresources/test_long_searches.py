"""A search for devices that takes long is taken in steps: none of them is long, and what comes of it is the same."""

import gc
from collections.abc import Callable
from random import Random
from typing import Any
from weakref import ref

import msgspec
import pytest

from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.profile_handle import ProfileHandle
from muster.plugins.dynamicresources import answers, nodes, search
from muster.plugins.dynamicresources.devices import DeviceKind, Verdict
from muster.testing.slices import slices_of
from tests.builders import PodDict, make_node, make_pod
from tests.clocks import Ticks
from tests.coscheduling.objects import make_group, make_member
from tests.dynamicresources.bench import Attempt, Bench
from tests.dynamicresources.objects import (
    claiming_pod,
    device,
    exactly,
    make_claim,
    make_class,
    make_slice,
)
from tests.dynamicresources.searches import (
    HARD,
    MOST_STEPS,
    SLOTS,
    Cluster,
    of_different_slots,
    pairs_of,
    placed,
    typed,
)
from tests.dynamicresources.test_kept_answers import Story, pods

_NO_ROOM = (
    "0/4 nodes are available: 4 cannot allocate all claims. preemption: 0/4 nodes are available: 4 Preemption is "
)
_TOO_FEW = _NO_ROOM + "not helpful for scheduling."


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least that can be done at a time."""
    monkeypatch.setattr(search, "STEPS_IN_A_PART", 1)
    monkeypatch.setattr(answers, "STEPS_IN_A_PART", 4)
    monkeypatch.setattr(nodes, "_STEPS_AT_ONCE", 1)
    monkeypatch.setattr(nodes, "_STEPS_BETWEEN", 1)


def test_no_step_searches_for_long_and_others_are_decided_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Cluster(monkeypatch, *HARD)
    world.add(claiming_pod("hard", "hard"))
    assert world.step()
    world.add(*(make_pod(f"easy-{number}") for number in range(5)))

    for _ in range(10):
        world.step()

    assert len(placed(world.engine)) == 5
    assert not world.message("hard")
    world.settle()
    assert world.message("hard") == _TOO_FEW
    assert max(world.steps) <= MOST_STEPS
    assert sum(world.steps) > 20 * MOST_STEPS


def test_pods_of_one_problem_share_its_search(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Cluster(monkeypatch, *HARD)
    alone.add(claiming_pod("hard", "hard"))
    alone.settle()
    monkeypatch.undo()

    several = Cluster(monkeypatch, *HARD, *(of_different_slots(SLOTS + 1, f"hard-{number}") for number in range(5)))
    several.add(*(claiming_pod(f"hard-{number}", f"hard-{number}") for number in range(5)))
    several.settle()

    assert [several.message(f"hard-{number}") for number in range(5)] == [_TOO_FEW] * 5
    assert sum(several.steps) == sum(alone.steps)


def pod_goes(world: Cluster) -> None:
    world.engine.pod_handler.on_delete(typed(claiming_pod("hard", "hard")))


def claim_goes(world: Cluster) -> None:
    world.lose("hard")


def slices_go(world: Cluster) -> None:
    for number in range(4):
        world.lose(f"gpus-n{number}")


def node_goes(world: Cluster) -> None:
    world.engine.node_handler.on_delete(msgspec.convert(make_node("n0", cpu="4"), Node))


def devices_come(world: Cluster) -> None:
    world.put(pairs_of(SLOTS + 1, "n2", number=2))


MIDWAY: dict[str, tuple[Callable[[Cluster], None], str]] = {
    "the pod": (pod_goes, ""),
    "its claim": (claim_goes, 'could not find ResourceClaim "default/hard"'),
    "the slices": (slices_go, _TOO_FEW),
    "a node": (node_goes, _TOO_FEW.replace("4", "3")),
    "what lacked comes": (devices_come, ""),
}


@pytest.mark.parametrize("what", MIDWAY)
def test_an_object_that_goes_in_the_middle_of_a_search_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    change, message = MIDWAY[what]
    world = Cluster(monkeypatch, *HARD)
    world.add(claiming_pod("hard", "hard"))
    for _ in range(40):
        world.step()

    change(world)
    world.add(make_pod("easy"))
    world.settle()

    assert message in world.message("hard")
    assert bool(message) == bool(world.message("hard"))
    assert "easy" in placed(world.engine)
    assert placed(world.engine).get("hard") == ("n2" if what == "what lacked comes" else None)
    assert not world.engine.scheduler.has_long_work
    waiting = sum(world.engine.queue.contents.counts().values())
    assert waiting == bool(message)


def test_a_search_ends_however_fast_devices_change(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Cluster(monkeypatch, *HARD)
    world.engine.standstill._now = Ticks()
    world.add(claiming_pod("hard", "hard"))
    version = 0
    while not world.message("hard"):
        assert world.step()
        if not world.engine.standstill.under_way:
            version += 1
            world.put(*(pairs_of(SLOTS, f"n{number}", number=number, version=version) for number in range(4)))
        assert len(world.steps) < 20_000
    assert world.message("hard") == _TOO_FEW
    assert max(world.steps) <= MOST_STEPS


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", range(12))
def test_devices_that_are_found_in_parts_while_they_change_are_those_that_are_found_in_one_go(seed: int) -> None:
    story, random = Story(seed), Random(seed)
    longest = 0
    for _ in range(12):
        attempts = [story.kept.attempt(pod) for pod in pods()]
        for _ in range(random.randrange(6)):
            for attempt in attempts:
                longest += goes_on(attempt, random.randrange(4))
            story.step()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(nodes, "_STEPS_AT_ONCE", 1_000_000)
            fresh = story.anew()
            theirs = [fresh.attempt(pod) for pod in pods()]
            found = [attempt.nodes() for attempt in theirs]
        for mine, their, feasible in zip(attempts, theirs, found, strict=True):
            while mine.state.long_work.left is not None or not known(mine):
                left_of(mine)()
            assert mine.nodes() == feasible
            for name in feasible[:1]:
                assert mine.reserve(name) is their.reserve(name) is None
                assert mine.planned(name) == their.planned(name)
                mine.unreserve(name)
                their.unreserve(name)
    assert longest > 20


def known(attempt: Attempt) -> bool:
    """Whether Filter answered in one go."""
    attempt.nodes()
    return attempt.state.long_work.left is None


def left_of(attempt: Attempt) -> Callable[[], bool]:
    assert attempt.state.long_work.left is not None
    (_, work), attempt.state.long_work.left = attempt.state.long_work.left, None
    return work


def goes_on(attempt: Attempt, steps: int) -> bool:
    """Ask Filter, and take some of the steps that it leaves; whether it left any."""
    if known(attempt):
        return False
    left = slices_of(left_of(attempt))
    for _ in range(steps):
        next(left, None)
    return True


@pytest.mark.parametrize(("seconds", "node"), [(0.1, "n1"), (10.0, "n0")])
def test_a_search_that_takes_too_long_is_given_up_in_the_words_of_kube_scheduler(
    monkeypatch: pytest.MonkeyPatch, seconds: float, node: str
) -> None:
    clock = Ticks(seconds)
    monkeypatch.setattr(ProfileHandle, "stopwatch", property(lambda handle: clock))
    world = Cluster(monkeypatch, *HARD)
    world.add(claiming_pod("hard", "hard"))
    world.settle()

    text = f"node {node}: timed out trying to allocate devices"
    assert world.message("hard") == f'running "DynamicResources" filter plugin: {text}'
    assert world.engine.queue.contents.counts()["backoff"] == 1
    assert max(world.steps) <= MOST_STEPS
    assert len(world.steps) < 3 / seconds + 10  # seconds of searching, as counted here


def test_members_of_a_gang_are_searched_for_in_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [of_different_slots(SLOTS + 1, f"gang-{number}") for number in range(3)]
    room_for_two = pairs_of(SLOTS + 1, "n0", number=0)
    world = Cluster(monkeypatch, HARD[0], *claims, room_for_two, *HARD[3:], make_group("gang", 3))
    world.engine.standstill._now = Ticks()
    world.add(*members("gang", 3))
    world.settle()

    assert not placed(world.engine)
    assert world.engine.queue.contents.counts()["unschedulable"] == 3
    assert max(world.steps) <= MOST_STEPS
    assert sum(world.steps) > 10 * MOST_STEPS

    world.put(pairs_of(SLOTS + 1, "n3", number=3))
    world.settle()
    assert set(placed(world.engine)) == {"gang-0", "gang-1", "gang-2"}
    assert set(placed(world.engine).values()) == {"n0", "n3"}
    assert max(world.steps) <= MOST_STEPS


def members(group: str, count: int) -> list[PodDict]:
    found = []
    for number in range(count):
        member = make_member(f"{group}-{number}", group)
        member["spec"]["resourceClaims"] = [{"name": "c0", "resourceClaimName": f"{group}-{number}"}]
        found.append(member)
    return found


def test_preemption_waits_for_a_device_search_on_full_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a dry run, devices are not looked at until the victims are removed."""
    room = pairs_of(SLOTS + 1, "n2", number=2)
    world = Cluster(monkeypatch, *HARD[:4], room, HARD[5], cpu="1")
    for number in range(4):
        world.add(make_pod(f"low-{number}").requests(cpu="1").priority(0), node=f"n{number}")
    pod = claiming_pod("hard", "hard").requests(cpu="1").priority(10)
    world.add(pod)
    world.settle()

    [info] = [PodInfo(typed(pod))]
    assert world.engine.nominator.nominated_node(info.uid) == "n2"
    assert max(world.steps) <= 2 * MOST_STEPS
    assert sum(world.steps) > 10 * MOST_STEPS


def test_devices_that_share_counters_are_as_before_when_a_trial_is_undone() -> None:
    """So what was found in a trial of a gang is known when its members are reserved for real."""
    counters = [{"name": "memory", "counters": {"units": {"value": "2"}}}]
    taken = [{"counterSet": "memory", "counters": {"units": {"value": "1"}}}]
    parts = [device(f"p{number}") | {"consumesCounters": taken} for number in range(3)]
    bench = Bench(make_node("n0"))
    one: dict[str, Any] = {"node": "n0", "pool": "p", "count": 2}
    bench.put(make_class("gpu"), make_slice("sets", sharedCounters=counters, **one), make_slice("parts", *parts, **one))
    bench.put(*(make_claim(f"wanted-{number}", exactly(1)) for number in range(2)))
    inventory = bench.devices.inventory
    before = inventory.state(inventory.site(0))

    first, second = (bench.attempt(claiming_pod(f"user-{number}", f"wanted-{number}")) for number in range(2))
    states = []
    for _ in range(2):
        assert first.nodes() == ["n0"]
        assert first.reserve("n0") is None
        assert second.nodes() == ["n0"]
        assert second.reserve("n0") is None
        states.append(inventory.state(inventory.site(0)))
        second.unreserve("n0")
        first.unreserve("n0")
        assert inventory.state(inventory.site(0)) == before
    assert states[0] == states[1] != before


@pytest.mark.usefixtures("own_objects_alone")
def test_an_abandoned_search_does_not_keep_the_devices_in_memory() -> None:
    bench = Bench(*(make_node(f"n{number}") for number in range(4)))
    bench.put(*HARD)
    attempt = bench.attempt(claiming_pod("hard", "hard"))
    assert goes_on(attempt, 3)
    inventory = ref(bench.devices.inventory)
    assert inventory() is not None

    del bench, attempt
    for _ in range(2):  # first the search goes, then the devices to which its stack referred
        gc.collect()
    assert inventory() is None


def test_claims_for_more_devices_than_the_search_can_nest_are_refused_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [make_claim(f"c{number}", exactly(32)) for number in range(20)]
    pools = [
        make_slice(f"s{number}", *(device(f"d{each}") for each in range(64)), node="n0", pool=f"p{number}")
        for number in range(10)
    ]
    world = Cluster(monkeypatch, make_class("gpu"), *claims, *pools)
    world.add(claiming_pod("greedy", *(f"c{number}" for number in range(20))))
    world.settle()
    assert "the pod's claims ask for too many devices at once" in world.message("greedy")


def test_an_expression_that_takes_long_is_a_step_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a kind of device is not worked out again, so each step may have one evaluation."""
    numbers = ", ".join(map(str, range(14)))
    long = f"[{numbers}].all(x, [{numbers}].all(y, [{numbers}].all(z, x + y + z >= 0)))"
    expressions = [f"device.driver != 'd{number}' && {long}" for number in range(3)]
    devices = [make_slice(f"gpus-n{number}", device("d0", number=number), node=f"n{number}") for number in range(4)]
    world = Cluster(monkeypatch, make_class("gpu"), *devices, make_claim("hard", exactly(2, *expressions)))
    evaluations, evaluate = [0], DeviceKind._evaluate

    def counted(kind: DeviceKind, expression: str) -> Verdict:
        evaluations[-1] += 1
        return evaluate(kind, expression)

    monkeypatch.setattr(DeviceKind, "_evaluate", counted)
    world.add(claiming_pod("hard", "hard"))
    while world.step():
        evaluations.append(0)

    assert sum(evaluations) == 12
    assert max(evaluations) == 1
    assert world.message("hard") == _TOO_FEW
