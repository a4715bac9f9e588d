"""A gang that could be helped, and who is in its way: pods that never end, and a stream of small pods that do.

Everything is drawn from a seed. The pods say nothing about their end, or some say that it is far away. A service ends
when it said so, and a small pod long before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from random import Random

from muster.plugins.reservation.rounds import SLACK_SECONDS, starts_within
from muster.testing import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_members
from tests.reservation.leaders import WITHOUT_LEADER, Leaders

POOL = "example.com/pool"
RACK = "example.com/rack"
_WAITING = 4


@dataclass(frozen=True)
class Pace:
    """How long things take, in seconds.

    Attributes:
        after: how long a pod waits until there is a reservation.
        longest: how long small pods run at most.
        step: how much time passes at once.
        leader_every: how long a leader lives.
    """

    after: int
    longest: int
    step: int
    leader_every: float = inf

    @property
    def within(self) -> float:
        """The bound, with less slack: nothing fails here but leaders, and pods end at once."""
        slack = 2 * self.step + (WITHOUT_LEADER if self.leader_every < inf else 0.0)
        return starts_within(self.after, self.longest, self.leader_every) - SLACK_SECONDS + slack


ONE_LEADER = Pace(after=40, longest=30, step=5)
MANY_LEADERS = Pace(after=300, longest=120, step=15, leader_every=300.0)


class Crowd(Leaders):
    """Nodes of 4 cores, of which small pods take whatever comes free.

    Attributes:
        pace: how long things take.
        draw: what is drawn from the seed.
        says: after how many seconds services may say that they end, in terms of the time until there is a reservation;
            empty if none says so. Small pods may say the last of them.
        size: how many members the gang has; each of them needs a node of its own.
    """

    def __init__(self, seed: int, pace: Pace = ONE_LEADER, says: Sequence[int] = ()) -> None:
        args = {"Reservation": {"afterSeconds": pace.after}}
        super().__init__(configuration=configuration_of(["Coscheduling", "Reservation"], args=args))
        self.pace = pace
        self.says = says
        self.draw = Random(seed)
        self.size = 0
        self._ends: dict[str, float] = {}
        self._until: dict[str, float] = {}
        self._made = 0
        self._came = 0.0
        if pace.leader_every < inf:
            self.change_leader_every(pace.leader_every, self.clock.now() + self.draw.uniform(0, pace.leader_every))

    def add_node(self, name: str, *, services: int = 0, **labels: str) -> None:
        """A node with so many services, and full of small pods."""
        self.add_nodes(make_node(name, cpu="4").labels({f"example.com/{key}": value for key, value in labels.items()}))
        left = 4
        for number in range(services):
            cpu = self.draw.randint(1, left - (services - number - 1))
            left -= cpu
            service = make_pod(f"service-{name}-{number}").requests(cpu=str(cpu)).node(name)
            if seconds := self._say(service, self.says):
                self._ends[f"default/service-{name}-{number}"] = self.clock.now() + seconds
            self.add(service)
        while left:
            small = self._small(most=left)
            left -= int(small["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            self.add(make_pod(small["metadata"]["name"]) | {"spec": small["spec"] | {"nodeName": name}})

    def add_gang(self, size: int, **annotations: str) -> None:
        """The gang comes."""
        self.size, self._came = size, self.clock.now()
        self.api.put("podgroups", make_group("gang", size, annotations=annotations))
        self.add(*(self.member(pod) for pod in make_members("gang", size, cpu="4")))

    def member(self, pod: PodDict) -> PodDict:
        """A member of the gang, as it is to be."""
        return pod

    def gang_runs(self) -> bool:
        """Whether the gang has started."""
        return all(self.node_of(f"default/gang-{number}") for number in range(self.size))

    async def waited(self) -> float:
        """How long the gang waits until it starts, in seconds; far more than it may, if it does not."""
        while not self.gang_runs() and self.clock.now() < self._came + 2 * self.pace.within:
            await self.step_on()
        return self.clock.now() - self._came

    async def step_on(self) -> None:
        """Some seconds pass; pods that have run for long enough end, and other small ones come."""
        now, waiting = self.clock.now(), 0
        over = [key for key, end in self._ends.items() if end <= now]
        for key in over:
            del self._ends[key]
            self.delete(key)
        for key, pod in [*self.api.pods.items()]:
            if "/small" not in key:
                continue
            if not pod["spec"].get("nodeName"):
                waiting += 1
            elif self._until.setdefault(key, now + self.draw.randint(self.pace.step, self.pace.longest)) <= now:
                del self._until[key]
                self.delete(key)
        self.add(*(self._small() for _ in range(_WAITING - waiting)))
        await self.pass_time(self.pace.step)

    def _small(self, most: int = 2) -> PodDict:
        self._made += 1
        small = make_pod(f"small-{self._made}").requests(cpu=str(self.draw.randint(1, min(2, most))))
        self._say(small, self.says[-1:])
        return small

    def _say(self, pod: PodDict, says: Sequence[int]) -> int:
        """After how many seconds the pod says that it ends; 0 for one pod of three, that says nothing."""
        if not says or not self.draw.randrange(3):
            return 0
        seconds = self.draw.choice(says) * self.pace.after
        pod["spec"]["activeDeadlineSeconds"] = seconds
        return seconds
