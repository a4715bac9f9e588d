"""Gangs: the groups of a history, with their members, and trees of them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from .acts import CPUS, NODE_CPU, RACK, ZONE, Act
from .traits import REQUIRED, Traits, healing_of, min_resources_of, traits_of

_URGENT = 0.25
_NATIVE = 0.3
"""The shares of groups of high priority, and of native groups."""
_CLAIMING = 0.2
_GIVING_WAY = 0.15
_ENDING = 0.15
"""The shares of histories with gangs that need devices, gangs in the way of more important pods, and gangs that end."""
_HELD = 0.3
"""The share of histories in which operators hold groups."""
_TREES = 0.25
_NESTED = 0.3
"""The share of histories with trees of groups, and of trees with a group of groups in them."""


def gang_of(seed: str, random: Random, number: int, at: float) -> Iterator[Act]:
    """A group and its members, in any order; sometimes more members than needed, sometimes too few for good."""
    name, minimum = f"gang-{number}", random.randint(2, 5)
    members = minimum + random.choice((-1, 0, 0, 0, 1, 2))
    cpu, native = random.choice(CPUS), random.random() < _NATIVE
    urgent = Random(f"{seed}/urgency of {name}").random() < _URGENT
    heals = healing_of(seed, name)
    in_all = () if native else min_resources_of(seed, name, minimum * cpu)
    group = (name, minimum, native, (*traits_of(seed, name, native), *heals, *in_all), urgent)
    if heals:
        yield Act(at + 5.0, "owner_comes", (name, max(members, minimum), cpu, native, urgent))
    yield Act(at + random.choice((0.0, 0.0, 1.0)), "group_comes", group)
    for member in range(members):
        comes = at + random.choice((0.0, 0.1, 3.0 * random.random()))
        yield Act(comes, "member_comes", (name, member, cpu, native, urgent))


def claiming_gangs_of(seed: str, seconds: float) -> Iterator[Act]:
    """Gangs whose members need a device each, and devices."""
    random = Random(f"{seed}/claiming gangs")
    if random.random() >= _CLAIMING:
        return
    for _ in range(random.randint(1, 4)):
        yield Act(random.uniform(0.0, seconds * 0.6), "devices_come", (random.random(), random.randint(1, 4)))
    for number in range(random.randint(1, 2)):
        name, minimum, native = f"claiming-{number}", random.randint(2, 3), random.random() < _NATIVE
        at, cpu = random.uniform(0.0, seconds * 0.7), random.choice(CPUS)
        urgent = random.random() < _URGENT
        traits = traits_of(seed, name, native) if random.random() < 0.5 else ()
        yield Act(at + random.random(), "group_comes", (name, minimum, native, traits, urgent))
        for member in range(minimum + random.choice((0, 0, 1))):
            yield Act(at + random.random(), "claiming_member_comes", (name, member, cpu, native, urgent))


def gangs_giving_way_of(seed: str, seconds: float) -> Iterator[Act]:
    """Gangs, some with spare members, and later pods of high priority that need most of a node each."""
    random = Random(f"{seed}/gangs giving way")
    if random.random() >= _GIVING_WAY:
        return
    for number in range(random.randint(1, 2)):
        name, minimum, cpu = f"lesser-{number}", random.randint(2, 3), random.choice(CPUS[1:])
        at = random.uniform(0.0, seconds * 0.4)
        yield Act(at, "group_comes", (name, minimum, False))
        for member in range(minimum + random.choice((0, 1, 1, 2))):
            yield Act(at, "member_comes", (name, member, cpu, False))
    greater = (random.randint(1, 3), random.choice((NODE_CPU, NODE_CPU, 3000)), "", True)
    yield Act(random.uniform(seconds * 0.5, seconds * 0.9), "pods_come", ("greater", *greater))


def gangs_ending_of(seed: str, seconds: float) -> Iterator[Act]:
    """Native gangs whose members run to their ends, except the last, which is recreated each time."""
    random = Random(f"{seed}/gangs ending")
    if random.random() >= _ENDING:
        return
    for number in range(random.randint(1, 3)):
        name, minimum = f"ending-{number}", random.randint(2, 4)
        at = random.uniform(0.0, seconds * 0.4)
        yield Act(at, "group_comes", (name, minimum, True))
        for member in range(minimum):
            yield Act(at, "member_comes", (name, member, CPUS[0], True))
        for member in range(minimum - 1):
            at += random.uniform(5.0, 10.0)
            yield Act(at, "member_ends", (f"{name}-{member}",))
            yield Act(at + random.choice((0.0, 0.01, 0.1)), "member_is_made_again", (f"{name}-{minimum - 1}",))


def holds_of(seed: str, seconds: float) -> Iterator[Act]:
    """Operators hold groups for a while, and sometimes a gang is created with a hold, in any order with its members."""
    random = Random(f"{seed}/holds")
    if random.random() >= _HELD:
        return
    for _ in range(random.randint(1, 3)):
        at = random.uniform(0.0, seconds * 0.8)
        yield Act(at, "group_is_held", (random.random(), random.uniform(1.0, seconds - at)))
    if random.random() < 0.6:
        name, minimum, native = "held", random.randint(2, 3), random.random() < _NATIVE
        at = random.uniform(0.0, seconds * 0.5)
        yield Act(at, "held_group_comes", (name, minimum, native, random.uniform(5.0, seconds - at)))
        for member in range(minimum + random.choice((0, 0, 1))):
            yield Act(max(0.0, at + random.uniform(-2.0, 5.0)), "member_comes", (name, member, CPUS[0], native))


def losses_of(seed: str, seconds: float) -> Iterator[Act]:
    """Losses of members in groups that heal, after all troubles."""
    random = Random(f"{seed}/losses")
    for _ in range(random.randint(0, 2)):
        yield Act(seconds + random.uniform(20.0, 40.0), "member_is_lost", (random.random(),))


def trees_of(seed: str, seconds: float) -> Iterator[Act]:
    """Groups of groups, their parts and the members of these, in any order."""
    random = Random(f"{seed}/trees")
    if random.random() < _TREES:
        for number in range(random.choice((1, 1, 2))):
            yield from _tree(random, f"tree-{number}", random.uniform(0.0, seconds * 0.7))


def _tree(random: Random, name: str, at: float) -> Iterator[Act]:
    """A tree of two or three parts of equal size, sometimes with fewer members than it needs."""
    parts, minimum, cpu = random.randint(2, 3), random.randint(1, 2), random.choice(CPUS[:3])
    level, rack = random.choice(("", "", ZONE, RACK)), random.random() < 0.2
    urgent = random.random() < _URGENT
    parents, top = [name] * parts, parts
    if random.random() < _NESTED:
        parents[1:], top = [f"{name}-inner"] * (parts - 1), 2
        yield Act(at + random.random(), "tree_comes", (parents[-1], random.randint(1, parts - 1), "", name, urgent))
    yield Act(at + random.random(), "tree_comes", (name, random.randint(1, top), level, "", urgent))
    for number, parent in enumerate(parents):
        part, comes = f"{name}-{number}", at + random.choice((0.0, 0.0, 3.0 * random.random()))
        traits: Traits = ((REQUIRED, RACK),) if rack else ()
        yield Act(comes + random.random(), "group_comes", (part, minimum, True, traits, urgent, parent))
        for member in range(minimum + random.choice((-1, 0, 0, 0, 1))):
            yield Act(comes + random.random(), "member_comes", (part, member, cpu, True, urgent))
