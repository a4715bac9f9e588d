"""What reservations promise comes true in the whole engine, whoever else comes, as long as pods end when they said."""

from typing import NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muster.framework.model.times import parse_time
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group, make_members

AFTER, WITHIN, LATE = 20, 400, 2.0


class Other(NamedTuple):
    """A pod of no group: when it comes, what it takes, and how long it runs once it has a node."""

    comes: int
    cpu: int
    runs: int


class Cluster(VirtualScheduler):
    """Pods come and end as they said; a gang waits among them."""

    def __init__(self, nodes: list[int], others: list[Other], most: int) -> None:
        args = {"Reservation": {"afterSeconds": AFTER, "mostReservations": most}}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
        self.add_nodes(*(make_node(f"n{number}", cpu=str(cpu)) for number, cpu in enumerate(nodes)))
        self._others = {f"default/other-{number}": other for number, other in enumerate(others)}
        self._ends: dict[str, float] = {}

    def add_gang(self, size: int, cpu: int) -> None:
        """The gang comes."""
        self.api.put("podgroups", make_group("gang", size))
        self.add(*make_members("gang", size, cpu=str(cpu)))

    @property
    def gang_runs(self) -> bool:
        """Whether all of it has nodes."""
        gang = [pod for key, pod in self.api.pods.items() if "gang" in key]
        return bool(gang) and all(pod["spec"].get("nodeName") for pod in gang)

    @property
    def broken(self) -> list[str]:
        """Who has no node although it was promised to start before."""
        first: dict[str, float] = {}
        for key, reason, note in self.events:
            if reason == "RoomReserved" and "they start by" in note and "gang" in key:
                first.setdefault(key, parse_time(note.split()[-4]))
        late = (key for key, moment in first.items() if moment + LATE < self.clock.wall())
        return [key for key in late if key in self.api.pods and not self.node_of(key)]

    async def second(self, number: int) -> None:
        """One second passes; those end that said so, and those come whose time it is."""
        for key, other in self._others.items():
            if other.comes == number:
                pod = make_pod(key.partition("/")[2]).requests(cpu=str(other.cpu))
                self.add(pod.annotations({"muster-scheduler.io/run-seconds": str(other.runs)}))
            elif key in self.api.pods and self.node_of(key) and self._ends_by(key, other) <= self.clock.now():
                self.delete(key)
        await self.run(1)

    def _ends_by(self, key: str, other: Other) -> float:
        return self._ends.setdefault(key, self.clock.now() + other.runs - 1)


_others = st.lists(st.builds(Other, st.integers(0, 60), st.integers(1, 3), st.integers(5, 90)), min_size=6, max_size=24)


async def keeps_its_promises(cluster: Cluster, size: int, cpu: int) -> None:
    try:
        for number in range(WITHIN):
            if number == 3:
                cluster.add_gang(size, cpu)
            await cluster.second(number)
            assert cluster.broken == []
            if cluster.gang_runs:
                break
    finally:
        await cluster.kill()


@settings(max_examples=40, phases=[Phase.generate], deadline=None)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=4), _others, st.integers(1, 3), st.integers(2, 4))
async def test_no_reserved_gang_starts_later_than_promised(
    nodes: list[int], others: list[Other], size: int, cpu: int
) -> None:
    await keeps_its_promises(Cluster(nodes, others, most=1), size, cpu)


BESIDE = [
    *[(3, 1, 82), (49, 1, 80), (3, 3, 79), (25, 2, 21), (9, 1, 28), (60, 3, 47), (44, 1, 48), (51, 1, 90)],
    *[(54, 3, 49), (26, 2, 8), (59, 2, 62), (48, 1, 50), (42, 1, 36), (0, 3, 6), (21, 2, 71), (32, 3, 13)],
]


async def test_a_later_reservation_of_room_that_is_not_free_yet_keeps_a_gang_off_nothing_of_its_own() -> None:
    cluster = Cluster([4, 3], [Other(*each) for each in BESIDE], most=4)
    await keeps_its_promises(cluster, 2, 3)
    assert cluster.gang_runs
