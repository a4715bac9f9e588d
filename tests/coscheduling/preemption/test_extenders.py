"""A gang preempts only on nodes that extenders allow, and evicts only pods that they agree to."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from muster.framework.contract import PodInfo, Victims
from muster.framework.contract.extender import MetaVictims
from muster.framework.scheduler import group_consultation
from tests.builders import make_node
from tests.scheduler.played_extender import PlayedExtender, only

from .evicting import EvictingWorld, Extended, plain

MakeExtended = Callable[[PlayedExtender], EvictingWorld]
SHORT = "0 of the 2 members that it needs fit: 0/2 nodes are available: 2 Insufficient cpu."


@dataclass
class Agreeing(PlayedExtender):
    """Agrees to evictions on some nodes, all of those that it is asked about but for `spares`, by name."""

    agrees_on: Sequence[str] = ()
    spares: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.supports_preemption = True

    async def process_preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        await super().process_preemption(pod, victims)
        return {
            node: MetaVictims([each.uid for each in found.pods if each.name != self.spares], found.violations)
            for node, found in victims.items()
            if node in self.agrees_on
        }


@pytest.fixture
async def make_extended() -> AsyncIterator[MakeExtended]:
    """Two full nodes; evictions cost least on b."""
    worlds: list[Extended] = []

    def make(extender: PlayedExtender) -> Extended:
        world = Extended(extender)
        world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
        world.fill("a", 2, priority=5)
        world.fill("b", 2)
        worlds.append(world)
        return world

    yield make
    for world in worlds:
        world.check()
        await world.kill()


def asked(extender: PlayedExtender, verb: str) -> list[str]:
    return [line for line in extender.asked if line.startswith(verb)]


async def test_pods_are_evicted_on_nodes_that_the_extender_accepts(make_extended: MakeExtended) -> None:
    extender = PlayedExtender(filters=only("a"), pods="gang")
    world = make_extended(extender)
    gang = world.gang("gang", 2, priority=10)
    await world.run(200)

    assert sorted(world.evicted) == ["default/low-a-5-0", "default/low-a-5-1"]
    assert sorted(world.bound("gang")) == sorted(gang)
    assert len(extender.asked) == 4, "once each before the evictions, once each after them"


async def test_no_pod_is_evicted_on_nodes_that_the_extender_rejects(make_extended: MakeExtended) -> None:
    extender = PlayedExtender(filters=only("c"), pods="gang")
    world = make_extended(extender)
    gang = world.gang("gang", 2, priority=10)
    await world.run(200)

    assert world.evicted == []
    assert world.conditions[gang[0]][1] == (
        f"pod group default/gang is unschedulable, {SHORT} "
        "pod group preemption: 0/2 nodes are available: 1 a failed, 1 b failed."
    )
    assert len(extender.asked) == 2


async def test_pods_are_evicted_on_all_nodes_that_the_extender_accepts(make_extended: MakeExtended) -> None:
    extender = PlayedExtender(pods="gang", filters=only("b"))
    world = make_extended(extender)
    world.add_nodes(make_node("c", cpu="1"))
    [other] = world.fill("c", 1)
    gang = world.gang("gang", 3, priority=10)
    extender.filters = only("b", "c")
    await world.run(30)

    assert sorted(world.evicted) == ["default/low-b-0-0", "default/low-b-0-1", other]
    assert sorted(world.bound("gang")) == sorted(gang)


async def test_a_gang_evicts_no_pod_if_an_extender_fails(make_extended: MakeExtended) -> None:
    extender = PlayedExtender(filters=only("a"), pods="gang", fails="down")
    world = make_extended(extender)
    gang = world.gang("gang", 2, priority=10)
    await world.run(5)
    assert world.evicted == []
    assert world.conditions[gang[0]][:2] == ("SchedulerError", "down")

    extender.fails = ""
    await world.run(60)
    assert sorted(world.evicted) == ["default/low-a-5-0", "default/low-a-5-1"]
    assert len(world.bound("gang")) == 2


async def test_a_gang_evicts_only_victims_that_the_extender_agrees_to(make_extended: MakeExtended) -> None:
    extender = Agreeing(pods="gang", agrees_on=["a"])
    world = make_extended(extender)
    world.gang("gang", 2, priority=10)
    await world.run(30)

    assert sorted(world.evicted) == ["default/low-a-5-0", "default/low-a-5-1"]
    assert len(world.bound("gang")) == 2
    both = "low-{0}-0,low-{0}-1"
    on_a, on_b = both.format("a-5"), both.format("b-0")
    assert sorted(asked(extender, "preempt")) == [
        f"preempt gang-{number}: {node}={pods}" for number in range(2) for node, pods in (("a", on_a), ("b", on_b))
    ]


def nodes(world: EvictingWorld, count: int) -> None:
    """Full nodes come; on each, evictions cost more than on the one before."""
    world.add_nodes(*(make_node(f"n{number:02}", cpu="2") for number in range(count)))
    for number in range(count):
        world.fill(f"n{number:02}", 2, priority=number)


async def test_nodes_on_which_the_extender_refuses_do_not_keep_a_gang_from_the_one_on_which_it_agrees() -> None:
    extender = Agreeing(pods="gang", agrees_on=["n11"])
    world = Extended(extender)
    nodes(world, 12)
    world.gang("gang", 2, priority=50)
    await world.run(30)

    assert sorted(world.evicted) == ["default/low-n11-11-0", "default/low-n11-11-1"]
    assert len(world.bound("gang")) == 2
    assert len(asked(extender, "preempt")) == 12 * 2
    await world.kill()


async def test_an_extender_that_refuses_on_all_nodes_is_asked_about_a_bounded_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_consultation, "ROUNDS", 7)
    extender = Agreeing(pods="gang")
    world = Extended(extender)
    nodes(world, 12)
    gang = world.gang("gang", 2, priority=50)
    await world.run(30)

    assert world.evicted == []
    assert world.conditions[gang[0]][1].endswith("pod group preemption: no candidate node for preemption")
    assert len(asked(extender, "preempt")) == 7 * 2
    await world.kill()


async def test_a_gang_is_rejected_if_the_pods_that_the_extender_agrees_to_evict_are_replaced_again_and_again() -> None:
    extender = Agreeing(pods="gang", agrees_on=["n00"])
    world = Extended(extender)
    nodes(world, 1)
    agree, reasons = extender.process_preemption, list[str]()

    async def replaced(pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        _, reason, _ = world.conditions.get(gang[0], ("", "", ""))
        reasons.append(reason)
        if not reason:
            world.delete(victims["n00"].pods[0].key)
            world.add(plain(f"low-{len(reasons)}").node("n00"))
        return await agree(pod, victims)

    extender.process_preemption = replaced  # type: ignore[method-assign]
    gang = world.gang("gang", 1, priority=50)
    await world.run(30)

    assert reasons[:-1] == [""] * 5
    assert reasons[-1].endswith("pod group preemption: no candidate node for preemption")
    assert world.bound("gang") == gang
    await world.kill()


@pytest.mark.parametrize(
    "extender",
    [Agreeing(pods="gang"), Agreeing(pods="gang", agrees_on=["a", "b"], spares="low-a-5-1")],
    ids=["to nothing", "but for one victim on a, and b is not enough"],
)
async def test_no_pod_is_evicted_without_the_extenders_agreement(
    make_extended: MakeExtended, extender: Agreeing
) -> None:
    world = make_extended(extender)
    gang = world.gang("gang", 4, priority=10)
    await world.run(200)

    assert world.evicted == []
    assert world.bound("gang") == []
    assert "pod group preemption: " in world.conditions[gang[0]][1]
    assert "being asked" not in world.conditions[gang[0]][1]
    assert len(asked(extender, "preempt")) <= 4 * 5


async def test_a_gang_that_the_extender_refuses_after_all_is_not_tried_without_end(make_extended: MakeExtended) -> None:
    def b_unless_it_is_free(node: str) -> str:
        return f"{node} failed" if node == "a" or extender.asked[-1].endswith(": b") else ""

    extender = PlayedExtender(pods="gang", filters=b_unless_it_is_free)
    world = make_extended(extender)
    world.add_nodes(make_node("c", cpu="1"))
    world.fill("c", 1, priority=6)
    gang = world.gang("gang", 2, priority=10)
    await world.run(200)

    assert sorted(world.evicted) == ["default/low-b-0-0", "default/low-b-0-1"]
    assert world.conditions[gang[0]][1].endswith(": 0/3 nodes are available: 1 b failed, 2 Insufficient cpu.")
    assert len(extender.asked) < 20
