"""The sets of pods that are worth a trial, against all sets of pods of small random clusters."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.contract import Placed
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import CPU, PODS
from muster.operator.defrag import bundles, choices
from muster.operator.defrag.bundles import NodeBundles, likeness, pods_of
from muster.operator.defrag.capacity import Destinations, FreeCapacity, WaitingDemand
from muster.operator.defrag.choices import MoveChoices
from muster.operator.defrag.movable import MovableUnit
from tests.builders import make_pod

NODES = ("one", "two", "three")
MOST = 4


def placed(name: str, node: str, cpu: int) -> Placed:
    """A pod of so many thousandths of a core."""
    pod = make_pod(name).requests(cpu=f"{cpu}m").node(node).owned_by("ReplicaSet", "web")
    return Placed(PodInfo(msgspec.convert(pod, Pod)), node)


def single(name: str, node: str, cpu: int) -> MovableUnit:
    """A pod that is moved alone."""
    return MovableUnit(f"default/{name}", False, (placed(name, node, cpu),))


def group(name: str, *nodes: str, cpu: int) -> MovableUnit:
    """A gang with a pod on each of these nodes."""
    return MovableUnit(name, True, tuple(placed(f"{name}-{at}", node, cpu) for at, node in enumerate(nodes)))


@st.composite
def questions(draw: st.DrawFn) -> tuple[FreeCapacity, WaitingDemand, list[MovableUnit]]:
    """Nodes with some free capacity, pods and a gang on them, and a number of pods that wait."""
    free = {node: {CPU: draw(st.integers(0, 3)), PODS: 9} for node in NODES}
    units = [
        single(f"p-{node}-{at}", node, cpu)
        for node in NODES
        for at, cpu in enumerate(draw(st.lists(st.integers(1, 3), max_size=3)))
    ]
    if draw(st.booleans()):
        units.append(group("gang", *draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=2)), cpu=2))
    each = {CPU: draw(st.integers(2, 5)), PODS: 1}
    areas: Sequence[Sequence[str]] = draw(st.sampled_from(([NODES], [NODES[:1], NODES[1:]])))
    return FreeCapacity(free, each), WaitingDemand(each, draw(st.integers(1, 3)), areas), units


def makes_places(capacity: FreeCapacity, demand: WaitingDemand, chosen: Iterable[MovableUnit]) -> bool:
    """Whether enough places are free in an area when these pods have left."""
    after = capacity.after([*pods_of(chosen)])
    return any(sum(after.places(node) for node in area) >= demand.pods for area in demand.areas)


Likes = tuple[tuple[str, int, int, str], ...]


def likes(chosen: Iterable[MovableUnit]) -> Likes:
    """A key that sets of equal pods have in common."""
    return tuple(sorted(map(likeness, chosen)))


@settings(max_examples=100, deadline=None)
@given(questions())
def test_all_sets_that_make_enough_places_are_named_and_those_without_a_needless_pod_are_known(
    question: tuple[FreeCapacity, WaitingDemand, list[MovableUnit]],
) -> None:
    capacity, demand, units = question
    search = MoveChoices(capacity, demand, units)
    for weight in range(1, MOST + 1):
        named = {likes(chosen): needed for chosen, needed in search.of_weight(weight)}
        helping = [
            some
            for size in range(1, len(units) + 1)
            for some in combinations(units, size)
            if sum(unit.weight for unit in some) == weight and makes_places(capacity, demand, some)
        ]
        assert named.keys() == {likes(some) for some in helping}
        at_once = makes_places(capacity, demand, ())
        for some in helping:
            needless = any(makes_places(capacity, demand, [unit for unit in some if unit is not each]) for each in some)
            if not needless:
                assert named[likes(some)]
            elif at_once and len(demand.areas) == 1:
                assert not named[likes(some)]
    assert not search.cut


def demand_of(cpu: int, pods: int = 1) -> WaitingDemand:
    return WaitingDemand({CPU: cpu, PODS: 1}, pods, [NODES])


def test_equal_pods_of_a_node_stand_for_each_other() -> None:
    free = {"one": {CPU: 0, PODS: 9}}
    units = [single(f"p-{at}", "one", 1) for at in range(30)]
    search = MoveChoices(FreeCapacity(free, {CPU: 3, PODS: 1}), WaitingDemand({CPU: 3, PODS: 1}, 1, [["one"]]), units)
    found = [chosen for weight in (1, 2, 3) for chosen, needed in search.of_weight(weight) if needed]
    assert [[unit.name for unit in chosen] for chosen in found] == [["default/p-0", "default/p-1", "default/p-2"]]


@pytest.mark.parametrize(
    ("module", "limit", "value", "weight"),
    [
        (choices, "_MOST_SETS", 0, 1),
        (choices, "_MOST_STEPS", 0, 1),
        (choices, "_MOST_GROUPS", 0, 2),
        (choices, "_MOST_SETS_OF_GROUPS", 0, 2),
        (bundles, "_MOST_SETS", 1, 1),
    ],
)
def test_a_search_that_leaves_sets_out_says_so(
    monkeypatch: pytest.MonkeyPatch, module: object, limit: str, value: int, weight: int
) -> None:
    free = {node: {CPU: 0, PODS: 9} for node in NODES}
    units = [single("a", "one", 2), single("b", "one", 3), group("gang", "two", "three", cpu=2)]

    def search() -> MoveChoices:
        found = MoveChoices(FreeCapacity(free, {CPU: 2, PODS: 1}), demand_of(2), units)
        assert [*found.of_weight(weight)] or value == 0
        return found

    assert not search().cut
    monkeypatch.setattr(module, limit, value)
    assert search().cut


def test_a_pod_without_another_node_that_has_its_amounts_is_not_worth_a_trial() -> None:
    free = {"one": {CPU: 0, PODS: 9}, "two": {CPU: 1, PODS: 9}, "three": {CPU: 2, PODS: 0}}
    destinations = Destinations(free)
    small, large, other = placed("small", "one", 1), placed("large", "one", 2), placed("other", "two", 1)
    assert destinations.may_take([small])
    assert not destinations.may_take([small], ["two"])
    assert not destinations.may_take([large]), "the third node takes no more pods"
    assert not destinations.may_take([placed("own", "two", 1)]), "its own node does not count"
    assert destinations.may_take([large, other]), "each takes the place of the other"
    assert not destinations.may_take([large, other], ["one"])


def test_a_bundle_has_no_pod_that_is_needless_for_its_places() -> None:
    units = [single("a", "one", 1), single("b", "one", 2), single("c", "one", 3)]
    found = NodeBundles("one", units, FreeCapacity({"one": {CPU: 0, PODS: 9}}, {CPU: 2, PODS: 1})).up_to(3)
    assert [([unit.name[-1] for unit in each.units], each.places) for each in found] == [
        (["b"], 1),
        (["c"], 1),
        (["a", "c"], 2),
        (["b", "c"], 2),
        (["a", "b", "c"], 3),
    ]
