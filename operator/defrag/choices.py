"""The sets of pods that are worth a trial for a waiting pod or gang, those with the fewest pods first.

`planner` asks for the sets of one weight after another. First come the sets of which the arithmetic needs every pod:
bundles of as many nodes as lack places, and groups. Then, if there are not too many, come all other sets by which
enough places become free, because another rule than that of amounts may keep the waiting pods off. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb

from .bundles import Bundle, Chosen, Likeness, NodeBundles, likeness, pods_of
from .capacity import FreeCapacity, WaitingDemand
from .movable import MovableUnit

_MOST_STEPS = 20_000
"""The steps of one search through the nodes."""
_MOST_SETS = 20_000
"""The number of sets up to which all of them are looked at."""
_MOST_GROUPS = 3
"""The groups in one set."""
_MOST_SETS_OF_GROUPS = 100


class MoveChoices:
    """The sets of units, by weight.

    Attributes:
        cut: whether sets of a weight that was asked for have been left out.
    """

    def __init__(self, capacity: FreeCapacity, demand: WaitingDemand, units: Sequence[MovableUnit]) -> None:
        self._capacity = capacity
        self._demand = demand
        self._units = units
        self._groups = [unit for unit in units if unit.group]
        self._on: dict[str, list[MovableUnit]] = {}
        for unit in units:
            if not unit.group:
                self._on.setdefault(unit.pods[0].node_name, []).append(unit)
        self._bundles = {node: NodeBundles(node, on_it, capacity) for node, on_it in self._on.items()}
        self._places = [{node: capacity.places(node) for node in area} for area in demand.areas]
        self._area_of = {node: at for at, area in enumerate(demand.areas) for node in area}
        self._enough = any(sum(places.values()) >= demand.pods for places in self._places)
        self._hopeful = False
        self.cut = False

    def of_weight(self, weight: int) -> Iterator[tuple[Chosen, bool]]:
        """The sets with so many pods, each with whether the arithmetic needs every pod of it.

        To be asked for each weight in turn: as long as no needed set is found, no other set makes enough places.
        """
        seen: set[tuple[Likeness, ...]] = set()
        for area in self._places:
            for chosen in self._needed(area, weight):
                if _is_new(chosen, seen):
                    yield chosen, True
        self._hopeful = self._hopeful or self._enough or bool(seen)
        if not self._hopeful:
            return
        sizes = range(1, min(weight, len(self._units)) + 1)
        if sum(comb(len(self._units), size) for size in sizes) > _MOST_SETS:
            self.cut = True
            return
        for chosen in (some for size in sizes for some in combinations(self._units, size)):
            if sum(unit.weight for unit in chosen) == weight and _is_new(chosen, seen) and self._makes_places(chosen):
                yield chosen, False

    def _makes_places(self, chosen: Chosen) -> bool:
        """Whether an area has enough places once these units have left."""
        if self._enough:
            return True
        pods = [*pods_of(chosen)]
        gains: Counter[int] = Counter()
        for node in {placed.node_name for placed in pods} & self._area_of.keys():
            area = self._area_of[node]
            gains[area] += self._capacity.places(node, pods) - self._places[area][node]
        return any(sum(self._places[area].values()) + gain >= self._demand.pods for area, gain in gains.items())

    def _needed(self, before: Mapping[str, int], weight: int) -> Iterator[Chosen]:
        """The sets in an area, whose nodes have so many places now: groups with pods on them, and bundles of them."""
        if sum(before.values()) >= self._demand.pods:
            return
        touching = [unit for unit in self._groups if unit.weight <= weight and unit.nodes & before.keys()]
        for groups in self._sets_of_groups(touching, weight):
            emptier = frozenset(node for unit in groups for node in unit.nodes)
            capacity = self._capacity.after([*pods_of(groups)])
            places = {**before, **{node: capacity.places(node) for node in emptier & before.keys()}}
            lacking, rest = self._demand.pods - sum(places.values()), weight - sum(unit.weight for unit in groups)
            if lacking <= 0 and rest == 0 and groups:
                yield groups
            elif lacking > 0 and rest > 0:
                bundles = {
                    node: NodeBundles(node, self._on[node], capacity) if node in emptier else self._bundles[node]
                    for node in before
                    if node in self._on
                }
                yield from (groups + singles for singles in self._singles([*bundles.values()], lacking, rest))

    def _sets_of_groups(self, groups: Sequence[MovableUnit], weight: int) -> Iterator[Chosen]:
        """The sets of groups with at most `weight` pods, the smallest first."""
        yield ()
        weights, count = sorted(unit.weight for unit in groups), 0
        for size in range(1, len(groups) + 1):
            if sum(weights[:size]) > weight:
                return
            for some in combinations(groups, size):
                count += 1
                if size > _MOST_GROUPS or count > _MOST_SETS_OF_GROUPS:
                    self.cut = True
                    return
                if sum(unit.weight for unit in some) <= weight:
                    yield some

    def _singles(self, nodes: Sequence[NodeBundles], lacking: int, weight: int) -> Iterator[Chosen]:
        """The sets of `weight` single pods, in bundles, by which `lacking` more places become free."""
        useful = [node for node in nodes if node.gain > 0]
        costs = _least_costs(useful, lacking)
        if len(costs) <= lacking or costs[lacking] > weight:
            return
        found = []
        for node in useful:
            most = weight - costs[max(0, lacking - node.gain)]
            if node.fewest <= most and (bundles := node.up_to(most)):
                found.append(bundles)
                self.cut = self.cut or node.cut
        found.sort(key=lambda bundles: (len(bundles[0].units), -bundles[0].places))
        places = _most_places(found, weight)
        steps = 0

        def picks(start: int, lacking: int, rest: int) -> Iterator[Chosen]:
            nonlocal steps
            for index in range(start, len(found)):
                if places[index][rest] < lacking:
                    return
                for bundle in found[index]:
                    steps += 1
                    if steps > _MOST_STEPS:
                        self.cut = True
                        return
                    left, still = rest - len(bundle.units), lacking - bundle.places
                    if left == 0 and still <= 0:
                        yield bundle.units
                    elif left > 0 and 0 < still <= places[index + 1][left]:
                        yield from (bundle.units + others for others in picks(index + 1, still, left))

        yield from picks(0, lacking, weight)


def _least_costs(nodes: Sequence[NodeBundles], lacking: int) -> list[int]:
    """By the number of places up to `lacking`, a lower bound of the pods that make them; shorter if that is impossible.

    As few nodes as could make the places are charged with the least that any nodes cost.
    """
    gains, fewest = sorted((node.gain for node in nodes), reverse=True), sorted(node.fewest for node in nodes)
    costs = [0]
    cost = 0
    for gain, least in zip(gains, fewest, strict=True):
        cost += least
        costs += [cost] * gain
        if len(costs) > lacking:
            break
    return costs


def _most_places(found: Sequence[Sequence[Bundle]], weight: int) -> list[list[int]]:
    """By the index of the first node and the number of pods, the most places that so many pods may make."""
    most = [[0] * (weight + 1)]
    for bundles in reversed(found):
        after = most[-1]
        row = [*after]
        for bundle in bundles:
            size = len(bundle.units)
            for rest in range(size, weight + 1):
                row[rest] = max(row[rest], after[rest - size] + bundle.places)
        most.append(row)
    return most[::-1]


def _is_new(chosen: Chosen, seen: set[tuple[Likeness, ...]]) -> bool:
    """Whether no set of equal pods was seen."""
    key = tuple(sorted(map(likeness, chosen)))
    if key in seen:
        return False
    seen.add(key)
    return True
