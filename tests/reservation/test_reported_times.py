"""Holders start by the times that their reservations report, whatever pods arrive, if pods end when declared."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muster.plugins.reservation.plugin import reserved_in
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group, make_members
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite
from tests.gangscheduling.world import make_group as make_native_group
from tests.gangscheduling.world import make_members as make_native_members

AFTER, MOST, COMING, WITHIN, LATE = 20, 4, 60, 400, 2.0
RACK = "example.com/rack"
ONE_RACK: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": RACK}]}}


class Other(NamedTuple):
    """A pod of no group: when it comes, what it takes, and how long it runs once it has a node."""

    comes: int
    cpu: int
    runs: int


class Gang(NamedTuple):
    """A gang that stays for ever: when it comes, how many it is, what each takes, how many of them have to be in one
    rack, if they have to, and how much has to be free besides; None where it does not say what it needs in all."""

    comes: int
    size: int
    cpu: int
    slices_of: int = 0
    more: int | None = None


class Tree(NamedTuple):
    """A tree of gangs that stay for ever: when it comes, its gangs, how many of them it needs, which have to be in one
    rack each, and whether all of it has to be."""

    comes: int
    gangs: list[tuple[int, int]]
    needed: int
    in_rack: list[bool]
    in_one_rack: bool


class Cluster(VirtualScheduler):
    """Pods come and end as they said; gangs and trees of gangs wait among them. Every other node is in one rack."""

    def __init__(
        self,
        nodes: list[int],
        others: list[Other],
        gangs: Sequence[Gang] = (),
        most: int = MOST,
        trees: Sequence[Tree] = (),
    ) -> None:
        args = {"Reservation": {"afterSeconds": AFTER, "mostReservations": most}}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
        for number, cpu in enumerate(nodes):
            self.add_nodes(make_node(f"n{number}", cpu=str(cpu)).labels({RACK: f"r{number % 2}"}))
        self._others = {f"default/other-{number}": other for number, other in enumerate(others)}
        self._gangs = {f"gang-{number}": gang for number, gang in enumerate(gangs)}
        self._trees = {f"tree-{number}": tree for number, tree in enumerate(trees)}
        self._ends: dict[str, float] = {}
        self._reported: dict[str, float] = {}

    @property
    def all_run(self) -> bool:
        """Whether every pod that has not ended has a node."""
        return all(pod["spec"].get("nodeName") for pod in self.api.pods.values())

    @property
    def broken(self) -> list[str]:
        """Pods without a node although the reported time of their start has passed."""
        for capacity in reserved_in(self.engine.shared):
            for uid in capacity.members if capacity.promised else ():
                self._reported.setdefault(uid, capacity.start)
        late = {uid for uid, moment in self._reported.items() if moment + LATE < self.clock.now()}
        return [key for key, pod in self.api.pods.items() if pod["metadata"]["uid"] in late and not self.node_of(key)]

    @property
    def wrongly_held(self) -> list[str]:
        """Pods for which capacity is reserved though they do not wait, or twice."""
        reserved = [uid for capacity in reserved_in(self.engine.shared) for uid in capacity.members]
        waiting = {pod["metadata"]["uid"] for key, pod in self.api.pods.items() if not self.node_of(key)}
        return [uid for uid, times in Counter(reserved).items() if times > 1 or uid not in waiting]

    async def second(self, number: int) -> None:
        """One second passes; those end that said so, and those come whose time it is."""
        for name, gang in self._gangs.items():
            if gang.comes == number:
                self.api.put("podgroups", self._group(name, gang))
                self.add(*make_members(name, gang.size, cpu=str(gang.cpu)))
        for name, tree in self._trees.items():
            if tree.comes == number:
                self._add_tree(name, tree)
        for key, other in self._others.items():
            if other.comes == number:
                pod = make_pod(key.partition("/")[2]).requests(cpu=str(other.cpu))
                self.add(pod.annotations({"muster-scheduler.io/run-seconds": str(other.runs)}))
            elif key in self.api.pods and self.node_of(key) and self._ends_by(key, other) <= self.clock.now():
                self.delete(key)
        await self.run(1)

    def _group(self, name: str, gang: Gang) -> dict[str, Any]:
        slices = {"muster-scheduler.io/slice-topology": RACK, "muster-scheduler.io/slice-size": str(gang.slices_of)}
        in_all = None if gang.more is None else {"cpu": gang.size * gang.cpu + gang.more}
        return make_group(name, gang.size, min_resources=in_all, annotations=slices if gang.slices_of else {})

    def _add_tree(self, name: str, tree: Tree) -> None:
        self.api.put(COMPOSITE_KIND, make_composite(name, tree.needed, **(ONE_RACK if tree.in_one_rack else {})))
        for number, ((size, cpu), in_rack) in enumerate(zip(tree.gangs, tree.in_rack, strict=True)):
            part, more = f"{name}-{number}", ONE_RACK if in_rack else {}
            self.api.put(KIND, make_native_group(part, size, parentCompositePodGroupName=name, **more))
            self.add(*make_native_members(part, size, cpu=str(cpu)))

    def _ends_by(self, key: str, other: Other) -> float:
        return self._ends.setdefault(key, self.clock.now() + other.runs - 1)


_nodes = st.lists(st.integers(2, 4), min_size=2, max_size=4)
_others = st.lists(
    st.builds(Other, st.integers(0, COMING), st.integers(1, 3), st.integers(5, 90)), min_size=6, max_size=24
)
_gangs = st.lists(st.builds(Gang, st.integers(0, 40), st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=4)
_demanding = st.builds(
    Gang,
    st.integers(0, 40),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2),
    st.one_of(st.none(), st.integers(0, 3)),
)


@st.composite
def _trees(draw: st.DrawFn) -> Tree:
    gangs = draw(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 4)), min_size=2, max_size=3))
    in_rack = draw(st.lists(st.booleans(), min_size=len(gangs), max_size=len(gangs)))
    return Tree(draw(st.integers(0, 40)), gangs, draw(st.integers(1, len(gangs))), in_rack, draw(st.booleans()))


async def start_by_the_reported_times(cluster: Cluster) -> None:
    try:
        for number in range(WITHIN):
            await cluster.second(number)
            assert cluster.broken == []
            assert cluster.wrongly_held == []
            if number > COMING and cluster.all_run:
                break
    finally:
        await cluster.kill()


@settings(max_examples=40, phases=[Phase.generate], deadline=None)
@given(_nodes, _others, _gangs, st.integers(1, MOST))
async def test_no_group_starts_later_than_reported(
    nodes: list[int], others: list[Other], gangs: list[Gang], most: int
) -> None:
    await start_by_the_reported_times(Cluster(nodes, others, gangs, most))


@settings(max_examples=40, phases=[Phase.generate], deadline=None)
@given(
    st.lists(st.integers(2, 4), min_size=3, max_size=5),
    _others,
    st.lists(_demanding, min_size=1, max_size=3),
    st.integers(1, MOST),
)
async def test_no_gang_in_slices_or_with_min_resources_starts_later_than_reported(
    nodes: list[int], others: list[Other], gangs: list[Gang], most: int
) -> None:
    await start_by_the_reported_times(Cluster(nodes, others, gangs, most))


@settings(max_examples=40, phases=[Phase.generate], deadline=None)
@given(
    st.lists(st.integers(2, 4), min_size=3, max_size=5),
    _others,
    st.lists(_trees(), min_size=1, max_size=3),
    st.integers(1, MOST),
)
async def test_no_part_of_a_tree_starts_later_than_reported(
    nodes: list[int], others: list[Other], trees: list[Tree], most: int
) -> None:
    await start_by_the_reported_times(Cluster(nodes, others, most=most, trees=trees))


BESIDE = [
    *[(3, 1, 82), (49, 1, 80), (3, 3, 79), (25, 2, 21), (9, 1, 28), (60, 3, 47), (44, 1, 48), (51, 1, 90)],
    *[(54, 3, 49), (26, 2, 8), (59, 2, 62), (48, 1, 50), (42, 1, 36), (0, 3, 6), (21, 2, 71), (32, 3, 13)],
]


async def test_a_later_reservation_of_room_that_is_not_free_yet_keeps_a_gang_off_nothing_of_its_own() -> None:
    await start_by_the_reported_times(Cluster([4, 3], [Other(*each) for each in BESIDE], [Gang(3, 2, 3)]))


TOGETHER = [
    *[(10, 3, 89), (38, 1, 54), (18, 3, 59), (36, 3, 10), (46, 3, 74), (39, 3, 71), (11, 3, 53), (28, 1, 70)],
    *[(8, 1, 11), (44, 1, 82), (36, 2, 69), (14, 3, 72), (33, 1, 67), (39, 2, 85), (30, 3, 13), (15, 3, 16)],
]


EARLY = [
    *[(16, 2, 14), (50, 1, 12), (24, 1, 18), (37, 3, 12), (37, 1, 42), (32, 1, 26), (23, 1, 31), (54, 3, 90)],
    *[(56, 3, 64), (22, 2, 37), (45, 2, 16), (32, 2, 13), (7, 3, 23), (13, 1, 88), (49, 2, 49)],
]


async def test_an_early_start_leaves_the_capacity_that_another_reservation_needs_sooner_even_if_its_own_was_lent() -> (
    None
):
    gangs = [Gang(0, 1, 4), Gang(7, 1, 1), Gang(7, 1, 1)]
    await start_by_the_reported_times(Cluster([2, 3], [Other(*each) for each in EARLY], gangs))


async def test_a_gang_takes_no_more_of_a_node_than_is_held_for_it_there_where_the_rest_is_held_for_a_pod() -> None:
    gangs = [Gang(24, 3, 1), Gang(32, 2, 3), Gang(38, 2, 2)]
    await start_by_the_reported_times(Cluster([4, 4], [Other(*each) for each in TOGETHER], gangs))
