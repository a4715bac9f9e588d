"""Reservations when the leader changes: a new one knows how long each pod has waited, and keeps the reported times."""

import re
from collections.abc import Sequence
from math import inf
from random import Random

import pytest

from muster.framework.contract import PodInfo
from muster.framework.model.times import parse_time
from muster.testing import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_members
from tests.reservation.leaders import WITHOUT_LEADER, Leaders

EXAMPLES, AFTER, EVERY, STEP, SIZE = 20, 300, 350.0, 5, 4
LATE = WITHOUT_LEADER + STEP + 1.0
"""Pods end within a step of the time that they said, and the leader may change just then."""
_BY = re.compile(r"they start by (\S+) at the latest")


class Stream(Leaders):
    """Nodes of 4 cores on which pods run that say when they end; as many as have ended come again.

    Attributes:
        draw: what is drawn from the seed.
    """

    def __init__(self, seed: int) -> None:
        args = {"Reservation": {"afterSeconds": AFTER}}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
        self.draw = Random(seed)
        self._published: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._members: dict[str, list[str]] = {}
        self._made = 0
        self.add_nodes(*(make_node(f"n{number}", cpu="4") for number in range(SIZE)))

    def small(self) -> PodDict:
        """One more pod of the stream; its name may come before all others, or after them."""
        self._made += 1
        name = f"{self.draw.choice('az')}-small-{self._made}"
        pod = make_pod(name).requests(cpu=str(self.draw.randint(1, 2)))
        return pod.annotations({"muster-scheduler.io/run-seconds": str(self.draw.randint(30, 120))})

    def gang_comes(self, name: str, size: int) -> None:
        """A gang comes that needs whole nodes."""
        self.api.put("podgroups", make_group(name, size))
        self._members[name] = self.add(*make_members(name, size, cpu="4"))

    def times(self) -> dict[str, tuple[float, float]]:
        """When each gang was to start as published first, and when it did; infinity for never."""
        return {gang: (self._published[gang], self._started.get(gang, inf)) for gang in self._members}

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        super().unscheduled(pod, reason=reason, message=message, nominated_node=nominated_node)
        if found := _BY.search(message):
            gang = pod.name.rpartition("-")[0]
            self._published.setdefault(gang, parse_time(found[1]) - self.clock.EPOCH)

    async def flow(self, seconds: float) -> None:
        """Time passes, until all gangs that came have started."""
        end = self.clock.now() + seconds
        while self.clock.now() < end and not (self._members and self._started.keys() == self._members.keys()):
            self.end_pods()
            nodeless = sum("-small-" in key and not pod["spec"].get("nodeName") for key, pod in self.api.pods.items())
            self.add(*(self.small() for _ in range(4 - nodeless)))
            await self.pass_time(STEP)
            for gang, members in self._members.items():
                if all(map(self.node_of, members)):
                    self._started.setdefault(gang, self.clock.now())

    def end_pods(self) -> None:
        for key, pod in [*self.api.pods.items()]:
            if "-small-" in key and "startTime" in pod.get("status", {}):
                runs = float(pod["metadata"]["annotations"]["muster-scheduler.io/run-seconds"])
                if parse_time(pod["status"]["startTime"]) - self.clock.EPOCH + runs <= self.clock.now() + STEP:
                    self.delete(key)


@pytest.mark.parametrize("sizes", [(4,), (2, 2)], ids=["one gang", "two gangs"])
async def test_a_gang_starts_as_published_also_after_a_change_of_the_leader(sizes: Sequence[int]) -> None:
    late: dict[tuple[int, str], tuple[float, float]] = {}
    for seed in range(EXAMPLES):
        stream = Stream(seed)
        await stream.flow(60)
        stream.change_leader_every(EVERY, stream.clock.now() + stream.draw.uniform(100, EVERY))
        for number, size in enumerate(sizes):
            stream.gang_comes(f"gang-{number}", size)
            await stream.flow(stream.draw.randint(STEP, 60))
        await stream.flow(3600)
        late |= {(seed, gang): times for gang, times in stream.times().items() if times[1] > times[0] + LATE}
        await stream.kill()
    assert late == {}
