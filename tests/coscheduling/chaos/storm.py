"""A storm: gangs of random size that come in pieces, on a cluster that is too small, while pods and nodes go."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from random import Random
from typing import Any

from tests.builders import make_node
from tests.coscheduling.chaos.watch import GangWatch, group_of, is_alive, overcommitted, startable
from tests.coscheduling.objects import make_group, make_member
from tests.coscheduling.world import World

BIND_ROUND_SECONDS = 1.0
_CORES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What a storm is like.

    Attributes:
        seed: of all that is random.
        gangs: how many come.
        largest: members of the largest; the smallest have 2.
        share: of what they ask for altogether, so much is there.
        seconds: how long things happen.
        deletions: how many pods are deleted; half of them are made anew under another name.
        node_losses: how many nodes go; each comes back later.
        ends: share of the started gangs that end and free their capacity.
        changes: how many PodGroups ask for more or for less, are deleted, or are made anew.
        placement: the plugin's way.
        stopwatch: what decisions are cut into slices by; by default they are made in one step.
    """

    seed: int
    gangs: int = 20
    largest: int = 40
    share: float = 0.6
    seconds: float = 60.0
    deletions: int = 20
    node_losses: int = 3
    ends: float = 0.3
    changes: int = 0
    placement: str = "Transaction"
    stopwatch: Callable[[], float] = lambda: 0.0


class Storm:
    """One storm over one world. `faults` is what must not have happened."""

    def __init__(self, weather: Weather) -> None:
        self.weather = weather
        self.random = Random(weather.seed)
        self.world = World({"placement": weather.placement}, seed=weather.seed, stopwatch=weather.stopwatch)
        self.watch = GangWatch(BIND_ROUND_SECONDS)
        self.faults: list[str] = []
        self._numbers = count()
        self._bound_to: defaultdict[str, list[str]] = defaultdict(list)
        self._plans: list[tuple[float, int, Callable[[], None]]] = []
        self._watch_from_outside()

    async def blow(self) -> None:
        """Let it all happen, then let it settle."""
        world, random = self.world, self.random
        world.latency = lambda: random.random() * 0.05
        world.binder.latency = lambda: random.random() * 0.1
        world.slices = lambda: random.choice((0, 0, 1, 3))
        self._plan()
        for moment, _, happen in sorted(self._plans, key=lambda plan: plan[:2]):
            await world.run(moment - world.clock.now())
            self.watch.look(world.clock.now())
            happen()
        await world.run(100.0)
        self.watch.look(world.clock.now())
        self.faults += self.watch.faults
        self.faults += startable(*self._objects())

    # What is to happen.

    def _plan(self) -> None:
        weather, random, start = self.weather, self.random, self.world.clock.now()
        asked = 0
        for number in range(weather.gangs):
            name, size = f"gang-{number}", random.randint(2, weather.largest)
            cpu = random.choice((1, 1, 2, 4))
            asked += size * cpu
            needed = size if random.random() < 0.7 else random.randint(1, size)
            self._at(start + random.random() * weather.seconds / 2, partial(self._add_group, name, needed))
            for member in range(size):
                pod = make_member(f"{name}-{member}", name, cpu=str(cpu))
                self._at(start + random.random() * weather.seconds / 2, partial(self.world.add, pod))
        for number in range(max(1, round(asked * weather.share / _CORES))):
            self.world.add_nodes(make_node(f"node-{number}", cpu=str(_CORES), pods="1000"))
        for _ in range(weather.deletions):
            self._at(start + random.random() * weather.seconds, self._delete_a_pod)
        for _ in range(weather.node_losses):
            self._at(start + random.random() * weather.seconds, self._lose_a_node)
        for _ in range(round(weather.gangs * weather.ends)):
            self._at(start + (0.3 + 0.7 * random.random()) * weather.seconds, self._end_a_gang)
        for _ in range(weather.changes):
            self._at(start + random.random() * weather.seconds, self._change_a_group)

    def _at(self, moment: float, happen: Callable[[], Any]) -> None:
        self._plans.append((moment, next(self._numbers), happen))

    def _later(self, happen: Callable[[], Any]) -> None:
        """In the world's own time, because the plans are being worked off."""
        self.world.clock.call_later(self.random.random() * 5, happen)

    def _add_group(self, name: str, needed: int) -> None:
        self.world.api.put("podgroups", make_group(name, needed))

    def _delete_a_pod(self) -> None:
        pods = [*self.world.api.pods]
        if not pods:
            return
        key = self.random.choice(pods)
        pod = self.world.api.pods[key]
        if self.random.random() < 0.5:
            name = f"{pod['metadata']['name']}-{next(self._numbers)}"
            successor = make_member(name, pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"])
            successor["spec"]["containers"] = pod["spec"]["containers"]
            self._later(lambda: self.world.add(successor))
        if self.random.random() < 0.3 and is_alive(pod):
            self.world.terminate(key)
            self._later(lambda: self.world.delete(key))
        else:
            self.world.delete(key)

    def _lose_a_node(self) -> None:
        nodes = [*self.world.api.objects["nodes"]]
        if len(nodes) < 2:
            return
        name = self.random.choice(nodes)
        node = self.world.api.objects["nodes"][name]
        self.world.api.delete("nodes", name)
        for key in self._on(name):
            self._later(partial(self.world.delete, key))
        self._later(lambda: self._bring_back(name, node))

    def _bring_back(self, name: str, node: dict[str, Any]) -> None:
        """A node that comes back is empty: its pods are gone by then."""
        for key in self._on(name):
            self.world.delete(key)
        self.world.add_nodes(node)

    def _on(self, node: str) -> list[str]:
        return [key for key in self._bound_to[node] if key in self.world.api.pods]

    def _end_a_gang(self) -> None:
        started = {group_of(self.world.api.pods[key]) for key in self.world.bound()} - {None}
        if not started:
            return
        gang = self.random.choice(sorted(filter(None, started)))
        for key, pod in [*self.world.api.pods.items()]:
            if group_of(pod) == gang and pod["spec"].get("nodeName"):
                self.world.set_phase(key, "Succeeded")

    def _change_a_group(self) -> None:
        groups = [*self.world.api.objects["podgroups"]]
        if not groups:
            return
        key = self.random.choice(groups)
        group = self.world.api.objects["podgroups"][key]
        what = self.random.random()
        if what < 0.6:
            self.world.change_group(key, minMember=max(1, group["spec"]["minMember"] + self.random.randint(-5, 3)))
        else:
            self.world.api.delete("podgroups", key)
            self._later(lambda: self._add_group(group["metadata"]["name"], group["spec"]["minMember"]))

    # What is seen of it.

    def _objects(self) -> Iterator[dict[str, dict[str, Any]]]:
        objects = self.world.api.objects
        return iter((objects["nodes"], objects["pods"], objects["podgroups"]))

    def _watch_from_outside(self) -> None:
        report, api, clock = self.world.api.report, self.world.api, self.world.clock
        before: dict[str, dict[str, Any]] = {}

        def watch(kind: str, key: str, obj: dict[str, Any] | None) -> None:
            now = clock.now()
            if kind == "podgroups":
                self.watch.group_changed(key, None if obj is None else obj["spec"]["minMember"], now)
            elif kind == "pods" and obj is None:
                self.watch.pod_gone(key, before.pop(key), now)
            elif kind == "pods" and obj is not None:
                if obj["spec"].get("nodeName") and not before.get(key, obj)["spec"].get("nodeName"):
                    self._bound_to[obj["spec"]["nodeName"]].append(key)
                    self._bound(obj)
                before[key] = obj
                self.watch.pod_changed(key, obj, now)
            report(kind, key, obj)

        api.report = watch  # type: ignore[method-assign]

    def _bound(self, pod: dict[str, Any]) -> None:
        """A pod was bound just now. The node may have gone meanwhile; if it is there it must have had capacity."""
        name = pod["spec"]["nodeName"]
        node = self.world.api.objects["nodes"].get(name)
        if node is not None:
            self.faults += overcommitted({name: node}, {key: self.world.api.pods[key] for key in self._on(name)})
