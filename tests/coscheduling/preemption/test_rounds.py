"""Gangs and pods of all priorities come and go on a full cluster, at random, for a thousand rounds."""

from random import Random

import pytest

from tests.builders import make_node
from tests.coscheduling.objects import make_member

from .conftest import MakeWorld
from .evicting import EvictingWorld, plain
from .oracle import Judge

_ROUNDS = 50
_SEEDS = 20


class Life:
    """What happens in one world."""

    def __init__(self, world: EvictingWorld, random: Random) -> None:
        self.world = world
        self.random = random
        self.gangs: dict[str, int] = {}
        self.priority_of: dict[str, int] = {}
        self.count = 0

    def something_happens(self) -> None:
        happens = self.random.choices((self.gang_comes, self.pods_come, self.gang_goes, self.pod_goes), (4, 2, 1, 1))
        happens[0]()

    def gang_comes(self) -> None:
        self.count += 1
        name, size = f"g{self.count}", self.random.randint(1, 6)
        priority = self.random.randint(0, 5)
        quorum = self.random.randint(max(1, size - 2), size)
        Judge.min_members = {**Judge.min_members, f"default/{name}": quorum}
        self.gangs[name] = quorum
        self.world.add_group(name, quorum)
        cpu, mixed = self.random.choice(("1", "1", "2")), self.random.random() < 0.5
        for n in range(size):  # a gang has the priority of its highest member
            own = self.random.randint(0, priority) if n and mixed else priority
            self._remember(self.world.add(make_member(f"{name}-{n}", name, cpu=cpu).priority(own)), own)
        self.priority_of[str(self.world.api.objects["podgroups"][f"default/{name}"]["metadata"]["uid"])] = priority

    def pods_come(self) -> None:
        self.count += 1
        priority = self.random.randint(0, 4)
        pods = [plain(f"p{self.count}-{n}", self.random.choice("123")) for n in range(self.random.randint(1, 4))]
        self._remember(self.world.add(*(pod.priority(priority) for pod in pods)), priority)

    def gang_goes(self) -> None:
        if self.gangs:
            name = self.random.choice([*self.gangs])
            del self.gangs[name]
            self.world.delete(*(key for key in [*self.world.api.pods] if key.startswith(f"default/{name}-")))
            if self.random.random() < 0.5:
                self.world.api.delete("podgroups", f"default/{name}")

    def pod_goes(self) -> None:
        pods = [key for key in self.world.api.pods if key.startswith("default/p")]
        if pods:
            self.world.delete(self.random.choice(pods))

    def check(self) -> None:
        """No gang is bound in part."""
        for name, quorum in self.gangs.items():
            there = [key for key in self.world.left(*self.world.bound(name)) if self._stays(key)]
            assert not there or len(there) >= quorum, (name, there)

    def check_causes(self) -> None:
        """Each eviction was for a pod of strictly higher priority."""
        for key, reason, note in self.world.events:
            if reason == "Preempted":
                uid = note.split()[3]
                assert self.priority_of[key] < self.priority_of[uid], (key, note)

    def _stays(self, key: str) -> bool:
        return "deletionTimestamp" not in self.world.api.pods[key]["metadata"]

    def _remember(self, keys: list[str], priority: int) -> None:
        for key in keys:
            self.priority_of[key] = priority
            self.priority_of[str(self.world.api.pods[key]["metadata"]["uid"])] = priority


@pytest.mark.parametrize("seed", range(_SEEDS))
async def test_preemption_evicts_only_the_pods_that_are_needed_and_only_for_more_important_ones(
    seed: int, make_world: MakeWorld
) -> None:
    random = Random(seed)
    world = make_world(plugins={"Judge": Judge}, seed=seed)
    world.grace = random.choice((0.0, 1.0, 7.0))
    world.add_nodes(*(make_node(f"n{n}", cpu=str(random.randint(3, 8))) for n in range(random.randint(2, 5))))
    Judge.judged = 0
    Judge.faults.clear()
    life = Life(world, random)
    for _ in range(_ROUNDS):
        life.something_happens()
        await world.run(random.choice((0.0, 0.5, 3.0, 15.0)))
        life.check()
    await world.run(120)
    came_of_it = [*world.bound()], len(world.evicted)
    await world.run(900)

    # Where nothing happens nobody goes on evicting, and the sweep of unschedulable pods finds nobody who was forgotten.
    assert ([*world.bound()], len(world.evicted)) == came_of_it
    life.check()
    life.check_causes()
    assert Judge.faults == []
    assert Judge.judged
    world.check()
