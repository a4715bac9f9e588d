"""A storm on a real API server: gangs of random size come in pieces, too many for the cluster, while pods and nodes go.

`tests.coscheduling.chaos` has the like in virtual time, again and again; here an API server decides what comes when.
"""

from collections.abc import Callable, Iterator
from operator import itemgetter
from random import Random

from tests.builders import NodeDict, PodDict, make_node
from tests.coscheduling.objects import GROUP_LABEL, make_member
from tests.coscheduling.real.gangs import GangCluster

GANGS, LARGEST, SHARE = 60, 40, 0.6
_DELETIONS, _LOSSES, _ENDS = 30, 4, 12
_CORES = 16

Happening = Callable[[], None]


class Storm:
    """What is to happen to a cluster, drawn from `random`.

    Attributes:
        needed: the minMember of each gang that comes.
        nodes: to be there first; they have capacity for a part of the gangs.
    """

    def __init__(self, cluster: GangCluster, random: Random) -> None:
        self.needed: dict[str, int] = {}
        self._cluster = cluster
        self._random = random
        self._alive: dict[str, PodDict] = {}
        self._plan: list[tuple[float, Happening]] = []
        cores = sum(self._plan_gang(f"gang-{number}") for number in range(GANGS))
        self.nodes = [make_node(f"storm-{n}", cpu=str(_CORES)) for n in range(round(cores * SHARE / _CORES))]
        for count, happen in (
            (_DELETIONS, self._delete_a_pod),
            (_LOSSES, self._lose_a_node),
            (_ENDS, self._end_a_gang),
        ):
            self._plan += [(random.random(), happen) for _ in range(count)]

    def happenings(self) -> Iterator[Happening]:
        """What happens, in its order."""
        return (happen for _, happen in sorted(self._plan, key=itemgetter(0)))

    def _plan_gang(self, name: str) -> int:
        """A PodGroup and its members, at random moments; returns how many cores they ask for."""
        random = self._random
        size, cpu = random.randint(2, LARGEST), random.choice((1, 1, 2, 4))
        needed = self.needed[name] = random.choice((size, size, random.randint(1, size)))
        self._plan.append((random.random(), lambda: self._cluster.add_group(name, needed)))
        for number in range(size):
            pod = make_member(f"{name}-{number}", name, cpu=str(cpu))
            self._plan.append((random.random(), lambda pod=pod: self._add(pod)))  # type: ignore[misc]
        return size * cpu

    def _add(self, pod: PodDict) -> None:
        self._cluster.add(pod)
        self._alive[pod.name] = pod

    def _delete(self, name: str) -> PodDict:
        self._cluster.delete(name)
        return self._alive.pop(name)

    def _delete_a_pod(self) -> None:
        """Every second one has a successor."""
        if not self._alive:
            return
        pod = self._delete(self._random.choice([*self._alive]))
        if self._random.random() < 0.5:
            pod["metadata"]["name"] += "-again"
            self._add(pod)

    def _lose_a_node(self) -> None:
        """The node's pods go with it, and it comes back empty."""
        node: NodeDict = self._random.choice(self.nodes)
        path = "/api/v1/nodes"
        self._cluster.api.delete(f"{path}/{node.name}")
        for pod, its_node in self._cluster.nodes().items():
            if its_node == node.name and pod in self._alive:
                self._delete(pod)
        self._cluster.api.post(path, node)

    def _end_a_gang(self) -> None:
        """The gang of a bound pod has done its work: its bound pods end."""
        bound = [pod for pod in self._cluster.nodes() if pod in self._alive]
        if not bound:
            return
        gang = self._alive[self._random.choice(bound)]["metadata"]["labels"][GROUP_LABEL]
        for name in self._cluster.nodes(gang):
            if self._alive.pop(name, None) is not None:
                self._cluster.set_phase(name, "Succeeded")
