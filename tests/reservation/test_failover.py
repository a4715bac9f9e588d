"""Reservations when the leader changes: a new one knows since when everybody has waited, and keeps what was said."""

import re
from collections.abc import Callable
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
        published: the times that were said in conditions and Events, seconds on the clock.
        waiting: those that are to wait long.
    """

    def __init__(self, seed: int) -> None:
        args = {"Reservation": {"afterSeconds": AFTER}}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
        self.draw = Random(seed)
        self.published: list[float] = []
        self._until: dict[str, float] = {}
        self._made = 0
        self.add_nodes(*(make_node(f"n{number}", cpu="4") for number in range(SIZE)))
        self.waiting: list[str] = []

    def small(self) -> PodDict:
        """One more pod of the stream; its name may come before all others, or after them."""
        self._made += 1
        name = f"{self.draw.choice('az')}-small-{self._made}"
        pod = make_pod(name).requests(cpu=str(self.draw.randint(1, 2)))
        return pod.annotations({"muster-scheduler.io/run-seconds": str(self.draw.randint(30, 120))})

    def come(self, *pods: PodDict) -> None:
        """Those come that are to wait long."""
        self.waiting += self.add(*pods)

    @property
    def all_run(self) -> bool:
        """Whether those have started."""
        return all(map(self.node_of, self.waiting))

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        super().unscheduled(pod, reason=reason, message=message, nominated_node=nominated_node)
        self._read(message)

    def event(
        self, regarding: PodInfo, *, kind: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        super().event(regarding, kind=kind, reason=reason, action=action, note=note, related=related)
        self._read(note)

    def _read(self, text: str) -> None:
        found = _BY.search(text)
        if found:
            self.published.append(parse_time(found[1]) - self.clock.EPOCH)

    async def flow(self, seconds: float) -> None:
        """Time passes, until those that wait have started."""
        end = self.clock.now() + seconds
        while self.clock.now() < end and not (self.waiting and self.all_run):
            now, short = self.clock.now(), 4
            for key, pod in [*self.api.pods.items()]:
                if "-small-" not in key:
                    continue
                if not pod["spec"].get("nodeName"):
                    short -= 1
                elif "startTime" in pod.get("status", {}):
                    runs = float(pod["metadata"]["annotations"]["muster-scheduler.io/run-seconds"])
                    if parse_time(pod["status"]["startTime"]) - self.clock.EPOCH + runs <= now + STEP:
                        self.delete(key)
            self.add(*(self.small() for _ in range(short)))
            await self.pass_time(STEP)


def gang(stream: Stream) -> None:
    stream.api.put("podgroups", make_group("gang", SIZE))
    stream.come(*make_members("gang", SIZE, cpu="4"))


@pytest.mark.parametrize("kind", [gang])
async def test_who_waits_long_starts_as_was_published_whoever_leads(kind: Callable[[Stream], None]) -> None:
    wrong = {}
    for seed in range(EXAMPLES):
        stream = Stream(seed)
        await stream.flow(60)
        kind(stream)
        stream.change_leader_every(EVERY, stream.clock.now() + stream.draw.uniform(100, EVERY))
        await stream.flow(3600)
        if not stream.all_run or stream.clock.now() > min(stream.published) + LATE:
            wrong[seed] = (stream.clock.now(), stream.published)
        await stream.kill()
    assert wrong == {}
