"""Random situations that `parity` plays for Muster and kube-scheduler: nodes, what runs on them, groups that come."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Group:
    """A group to be.

    Attributes:
        running: so many of its members are on the first node before.
        later: a minCount to come.
        odd: one of its pods has another priority.
        high: it may evict pods of groups that are not, and pods of none, unless it is `meek`.
        whole: it is evicted as a whole.
        parent: the composite that it is a part of; "" for none.
    """

    name: str
    min_count: int | None
    members: int
    cpu: int
    running: int = 0
    rack: bool = False
    later: int | None = None
    odd: bool = False
    high: bool = False
    meek: bool = False
    whole: bool = False
    parent: str = ""


@dataclass(frozen=True)
class Composite:
    """A group of groups. It comes before its parts."""

    name: str
    min_group_count: int | None
    parent: str = ""
    rack: bool = False
    high: bool = False


@dataclass(frozen=True)
class Situation:
    """A cluster, by the cpu and rack of its nodes and how many pods of one cpu run on each, and groups that come.

    `composites` are there before.
    """

    nodes: tuple[tuple[int, str], ...]
    groups: tuple[Group, ...]
    running: tuple[int, ...]
    composites: tuple[Composite, ...] = ()

    @property
    def evicts(self) -> bool:
        """Whether a group may evict any pod."""
        return any(group.high and not group.meek for group in self.groups)


def make_situation(seed: int) -> Situation:
    """A situation that depends on the seed alone."""
    random = Random(seed)
    sizes = random.sample(range(1, 8), random.randint(2, 5))  # of unlike nodes fewer are equally good
    nodes = tuple((cpu, random.choice("ab")) for cpu in sizes)
    groups = []
    for number in range(random.randint(1, 2)):
        basic = random.random() < 0.2
        least = random.randint(1, 5)
        members = max(1, least + random.choice((-1, 0, 0, 0, 0, 1, 2)))
        cpu = random.choice((1, 1, 2))
        begun = random.randint(1, members - 1) if members > 1 and not number and random.random() < 0.25 else 0
        running = min(begun, nodes[0][0] // cpu)
        changes = not basic and random.random() < 0.25
        later = max(1, least + random.choice((-2, -1, 1))) if changes else None
        name = f"group-{number}"
        rack, odd = random.random() < 0.3, random.random() < 0.05
        high = random.random() < (0.5 if number else 0.15)
        meek, whole = random.random() < 0.15, random.random() < 0.3
        least_or_none = None if basic else least
        groups.append(Group(name, least_or_none, members, cpu, running, rack, later, odd, high, meek, whole))
    crowded = random.random() < 0.3
    first = max(group.running * group.cpu for group in groups)
    free = [cpu - (0 if number else first) for number, (cpu, _) in enumerate(nodes)]
    return Situation(nodes, tuple(groups), tuple(random.randint(0, cpu) if crowded else 0 for cpu in free))


def make_tree_situation(seed: int) -> Situation:
    """A composite that depends on the seed alone: its parts come one after another, some of an inner one."""
    random = Random(seed)
    sizes = random.sample(range(1, 8), random.randint(2, 5))
    nodes = tuple((cpu, random.choice("ab")) for cpu in sizes)
    parts = random.randint(2, 4)
    high = random.random() < 0.3
    least = None if random.random() < 0.25 else random.randint(1, parts)
    composites = [Composite("root", least, rack=random.random() < 0.3, high=high)]
    if random.random() < 0.4:
        least = None if random.random() < 0.25 else random.randint(1, 2)
        composites.append(Composite("inner", least, "root", random.random() < 0.3, high))
    groups = []
    for number in range(parts):
        needed = None if random.random() < 0.25 else random.randint(1, 3)
        members = max(1, (needed or 1) + random.choice((-1, 0, 0, 0, 1)))
        cpu = random.choice((1, 1, 2))
        rack = random.random() < 0.2
        later = max(1, needed + random.choice((-1, 1))) if needed is not None and random.random() < 0.2 else None
        parent = random.choice(composites).name
        groups.append(Group(f"part-{number}", needed, members, cpu, rack=rack, later=later, high=high, parent=parent))
    crowded = high or random.random() < 0.3
    running = tuple(random.randint(0, cpu) if crowded else 0 for cpu, _ in nodes)
    return Situation(nodes, tuple(groups), running, tuple(composites))
