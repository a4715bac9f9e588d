"""A gang, or a tree of gangs, among a stream of small pods: it waits for ever, or with a reservation until its time."""

from collections.abc import Mapping

import pytest

from muster.framework.model.times import parse_time
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_members
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite
from tests.gangscheduling.world import make_group as make_native_group
from tests.gangscheduling.world import make_members as make_native_members

LONG, SIZE, RUNS = 1800.0, 4, 60


class Stream(VirtualScheduler):
    """Nodes of 4 cores on which pods of one core run for a minute each; as many as have ended come again."""

    def __init__(self, reservation: Mapping[str, object], *, says_its_end: bool = True) -> None:
        super().__init__(
            configuration=configuration_of(["Coscheduling", "Reservation"], args={"Reservation": reservation})
        )
        self.add_nodes(*(make_node(f"n{number}", cpu="4") for number in range(SIZE)))
        self._says_its_end = says_its_end
        self._until: dict[str, float] = {}
        self._made = 0

    def small(self) -> PodDict:
        """One more pod of the stream."""
        self._made += 1
        pod = make_pod(f"small-{self._made}").requests(cpu="1")
        return pod.annotations({"muster-scheduler.io/run-seconds": str(RUNS + 10)}) if self._says_its_end else pod

    def add_gang(self) -> None:
        """A gang that needs all nodes."""
        self.api.put("podgroups", make_group("gang", SIZE))
        self.add(*make_members("gang", SIZE, cpu="4"))

    def gang_runs(self) -> bool:
        """Whether the gang has started."""
        return all(self.node_of(f"default/gang-{number}") for number in range(SIZE))

    async def flow(self, seconds: float) -> None:
        """Let so much time pass, in steps of five seconds in which some end and others come; ends with the gang."""
        end = self.clock.now() + seconds
        while self.clock.now() < end and not (self._gang_came() and self.gang_runs()):
            now = self.clock.now()
            for key, pod in [*self.api.pods.items()]:
                if "small" in key and pod["spec"].get("nodeName") and key not in self._until:
                    self._until[key] = now + RUNS
            over = [key for key, until in self._until.items() if until <= now]
            for key in over:
                del self._until[key]
                self.delete(key)
            waiting = sum("small" in key and not pod["spec"].get("nodeName") for key, pod in self.api.pods.items())
            self.add(*(self.small() for _ in range(4 - waiting)))
            await self.run(5)

    def _gang_came(self) -> bool:
        return "default/gang-0" in self.api.pods


class StreamWithTree(Stream):
    """A stream with a tree of two gangs, which share the four nodes, and of a part that is too large."""

    def add_gang(self) -> None:
        self.api.put(COMPOSITE_KIND, make_composite("tree", 2))
        for part, size in (("gang", 2), ("huge", 9), ("gong", 2)):
            self.api.put(KIND, make_native_group(part, size, parentCompositePodGroupName="tree"))
            self.add(*make_native_members(part, size, cpu="4"))

    def gang_runs(self) -> bool:
        return all(self.node_of(f"default/{part}-{number}") for part in ("gang", "gong") for number in range(2))


class StreamWithMinResources(Stream):
    """A stream with a gang that says how much it needs in all."""

    def add_gang(self) -> None:
        self.api.put("podgroups", make_group("gang", SIZE, min_resources={"cpu": "16"}))
        self.add(*make_members("gang", SIZE, cpu="4"))


class StreamWithMoreToCome(Stream):
    """A stream with a gang that needs capacity for more members than exist, as a driver does for its executors."""

    def add_gang(self) -> None:
        self.api.put("podgroups", make_group("gang", 1, min_resources={"cpu": "14500m", "memory": "1Gi"}))
        self.add(*make_members("gang", 1, cpu="2"))

    def gang_runs(self) -> bool:
        return bool(self.node_of("default/gang-0"))


KINDS = [Stream, StreamWithTree, StreamWithMinResources, StreamWithMoreToCome]


async def started_within(stream: Stream, seconds: float) -> bool:
    try:
        await stream.flow(90)
        stream.add_gang()
        await stream.flow(seconds)
        return stream.gang_runs()
    finally:
        await stream.kill()


@pytest.mark.parametrize("kind", KINDS)
async def test_without_a_reservation_small_pods_starve_the_gang(kind: type[Stream]) -> None:
    assert not await started_within(kind({"afterSeconds": 0}), LONG)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("says_its_end", [True, False])
async def test_with_a_reservation_it_starts(says_its_end: bool, kind: type[Stream]) -> None:
    stream = kind({"afterSeconds": 300}, says_its_end=says_its_end)
    assert await started_within(stream, 300 + 3 * RUNS)
    stream.check()


async def test_a_gang_starts_by_the_reported_time_and_pods_that_end_before_are_placed_meanwhile() -> None:
    stream = Stream({"afterSeconds": 120})
    await stream.flow(90)
    stream.add_gang()
    await stream.flow(130)
    [note] = stream.notes("default/gang-0", "CapacityReserved")
    assert note.startswith("Capacity for 4 pods is reserved on 4 nodes: they start by ")
    by, _, condition = note.partition("they start by ")[2].partition(" at the latest, ")
    reported = parse_time(by)
    assert condition == "unless the leader changes."

    await stream.flow(30)
    assert stream.conditions["default/gang-0"][1].endswith(note)
    assert stream.clock.wall() < reported - 5
    stream.delete(next(key for key, pod in stream.api.pods.items() if "small" in key and pod["spec"].get("nodeName")))
    for name, seconds in (("long", 3000), ("brief", 5)):
        pod = make_pod(name).requests(cpu="1").annotations({"muster-scheduler.io/run-seconds": str(seconds)})
        stream.add(pod)
        await stream.run(1)
    assert (stream.node_of("default/long"), bool(stream.node_of("default/brief"))) == ("", True)
    assert stream.conditions["default/long"][1].count("had their capacity reserved") == 1
    stream.delete("default/brief")

    await stream.flow(2 * RUNS)
    assert stream.gang_runs()
    assert stream.clock.wall() <= reported + 5
    await stream.kill()
