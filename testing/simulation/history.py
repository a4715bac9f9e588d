"""The history of a simulation, derived from its seed: a list of acts, each with its time.

`scale_of` chooses the amounts, and `history_of` the acts; `gangs` adds groups, and `crowd` long streams of pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from muster.plugins.reservation.rounds import starts_within

from .acts import CPUS, NODE_CPU, Act
from .crowd import SETTLED_SECONDS, Crowd, acts_of, after_seconds_of, crowd_of
from .gangs import claiming_gangs_of, gang_of, gangs_ending_of, gangs_giving_way_of, holds_of, losses_of, trees_of
from .quotas import quotas_of
from .timing import PreemptionTimes, timing_of, with_times

__all__ = ["CPUS", "NODE_CPU", "ZONES", "Act", "Scale", "history_of", "scale_of"]

ZONES = ("east", "west")
_URGENT = 0.1
"""The share of pods of high priority."""
_PLAIN = 0.5
"""The share of histories without rare acts."""
_WHOLE = 0.1
"""The share of histories with a pod that needs a whole node, and waits for it at most times."""
_BUDGETED = 0.4
"""The share of histories with PodDisruptionBudgets."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The amount of events in a history.

    Attributes:
        replicas: processes of Muster.
        seconds: how long it goes on.
        troubles: faults of machines and networks.
        nodes, pods, gangs: that come; `pods` in groups of one to four.
        changes: nodes and pods that change, end or go, and what others do.
        after_seconds: how long pods and groups wait before capacity is reserved for them.
        crowd: what comes and ends all the time, if anything does.
        timing: the times around preemption, if there are any.
    """

    replicas: int
    seconds: float = 60.0
    troubles: int = 8
    nodes: int = 3
    pods: int = 8
    gangs: int = 2
    changes: int = 12
    after_seconds: int = 300
    crowd: Crowd | None = None
    timing: PreemptionTimes | None = None

    @property
    def quiet_at(self) -> float:
        """The time at which the history ends."""
        return self.seconds if self.crowd is None else max(self.seconds, self.crowd.seconds + self.crowd.longest)

    @property
    def decided_at(self) -> float:
        """The time by which capacity has been reserved for all pods and groups that it can help."""
        return SETTLED_SECONDS + starts_within(self.after_seconds, SETTLED_SECONDS)


def scale_of(seed: str) -> Scale:
    """The scale for this seed: anything from a quiet day to a very bad one."""
    random, after_seconds = Random(f"{seed}/scale"), after_seconds_of(seed)
    scale = Scale(
        replicas=random.choice((1, 2, 2, 3)),
        troubles=random.choice((0, 2, 6, 12)),
        nodes=random.choice((1, 2, 2, 3, 5)),
        pods=random.randint(1, 14),
        gangs=random.choice((0, 0, 1, 2, 4)),
        changes=random.choice((0, 6, 12, 24)),
        after_seconds=after_seconds,
        timing=timing_of(seed),
    )
    crowd = crowd_of(seed, after_seconds)
    if crowd is None:
        return scale
    return replace(scale, crowd=crowd, nodes=min(scale.nodes + 1, 4), pods=random.randint(0, 1), gangs=0)


def history_of(seed: str, scale: Scale) -> list[Act]:
    """All acts, in order."""
    random = Random(f"{seed}/history")
    acts = [Act(0.0, "node_comes", (f"node-{number}", random.choice(ZONES))) for number in range(scale.nodes)]
    times = sorted(random.uniform(0.0, scale.seconds * 0.8) for _ in range(scale.pods))
    acts += [Act(at, "pods_come", _pods(random, number)) for number, at in enumerate(times)]
    for number in range(scale.gangs):
        acts += gang_of(seed, random, number, random.uniform(0.0, scale.seconds * 0.7))
    for kinds, many in ((_CHANGES, scale.changes), (_TROUBLES, scale.troubles)):
        for number in range(many):
            what, draw = random.choice(kinds)
            acts.append(Act(random.uniform(0.0, scale.seconds), what, draw(random, number)))
    if scale.crowd is not None:
        acts += acts_of(seed, scale.crowd, scale.nodes)
    else:
        acts += trees_of(seed, scale.seconds)
        acts += losses_of(seed, scale.seconds)
        acts += holds_of(seed, scale.seconds)
        acts += claiming_gangs_of(seed, scale.seconds)
        acts += gangs_giving_way_of(seed, scale.seconds)
        acts += gangs_ending_of(seed, scale.seconds)
        acts += _wholes(seed, scale.seconds)
        acts += quotas_of(seed, scale.seconds)
    if scale.timing is not None:
        acts = [*with_times(seed, scale.seconds, acts)]
    return sorted([*acts, *_rarities(seed, scale.seconds), *_budgets(seed, scale)], key=lambda act: act.at)


def _rarities(seed: str, seconds: float) -> Iterator[Act]:
    """The acts of every other history: devices and pods that claim them, and changes of groups and nodes."""
    random = Random(f"{seed}/rarities")
    if random.random() < _PLAIN:
        return
    for _ in range(random.randint(0, 4)):
        yield Act(random.uniform(0.0, seconds * 0.6), "devices_come", (random.random(), random.randint(1, 3)))
    for number in range(random.randint(0, 4)):
        name = f"claimer-{number}"
        pods = (name, random.randint(1, 3), random.choice(CPUS), Random(f"{seed}/devices of {name}").choice((1, 1, 2)))
        yield Act(random.uniform(0.0, seconds * 0.8), "claimers_come", pods)
    for _ in range(random.randint(0, 3)):
        yield Act(random.uniform(0.0, seconds), "group_changes", (random.random(), random.choice((-1, 1))))
        yield Act(random.uniform(0.0, seconds), "node_grows", (random.random(), random.choice(CPUS)))


def _wholes(seed: str, seconds: float) -> Iterator[Act]:
    """A pod that needs a whole node."""
    random = Random(f"{seed}/whole node")
    if random.random() < _WHOLE:
        yield Act(random.uniform(0.0, seconds * 0.5), "pods_come", ("colossus", 1, NODE_CPU, "", False))


def _budgets(seed: str, scale: Scale) -> Iterator[Act]:
    """PodDisruptionBudgets of some pods and groups, created before or after them."""
    random = Random(f"{seed}/budgets")
    apps = [f"pod-{number}" for number in range(scale.pods)] + [f"gang-{number}" for number in range(scale.gangs)]
    if apps and random.random() < _BUDGETED:
        for app in random.sample(apps, min(len(apps), random.randint(1, 4))):
            least, most = random.choice(((1, None), (2, None), (None, 0), (None, 0), (None, 1)))
            yield Act(random.uniform(0.0, scale.seconds * 0.6), "budget_comes", (app, least, most))


def _pods(random: Random, number: int) -> tuple[Any, ...]:
    zone = random.choice(("", "", *ZONES))
    return (f"pod-{number}", random.randint(1, 4), random.choice(CPUS), zone, random.random() < _URGENT)


Draw = Callable[[Random, int], tuple[Any, ...]]


def _pick(random: Random, number: int) -> tuple[Any, ...]:
    return (random.random(),)


def _pick_for(longest: float) -> Draw:
    return lambda random, number: (random.random(), random.uniform(0.1, longest))


def _weather(random: Random, number: int) -> tuple[Any, ...]:
    """The processes affected (of 1 and more: all), the duration, and the kind."""
    kinds: list[dict[str, float]] = [
        {"latency": random.choice((0.2, 1.0, 2.0))},
        {"lag": random.choice((0.5, 2.0, 8.0))},
        {"lost": 0.2, "broken": random.choice((0.0, 0.5, 1.0))},
        {"unanswered": 0.3, "broken": random.choice((0.0, 0.5, 1.0))},
        {"refusals": random.choice((0.1, 0.5, 1.0))},
        {"shut": True},
    ]
    mixed: dict[str, float] = {}
    for kind in random.sample(kinds, random.choice((1, 1, 2, 3))):
        mixed |= kind
    about = random.choice(("", "", "/binding", "/binding", "/status"))
    return (random.uniform(0.0, 1.5), random.uniform(0.5, 25.0), tuple(sorted(mixed.items())), about)


def _bindings_fail(random: Random, number: int) -> tuple[Any, ...]:
    """For all processes, for a while: writes are refused, or have no answer while watches are late too."""
    what = random.choice(({"broken": 1.0, "unanswered": 0.7, "lag": 8.0}, {"refusals": 0.7}))
    return (1.0, random.uniform(5.0, 25.0), tuple(sorted(what.items())), "/binding")


_CHANGES: tuple[tuple[str, Draw], ...] = (
    ("pod_goes", _pick),
    ("pod_goes", _pick),
    ("pod_ends", _pick),
    ("pod_ends", _pick),
    ("pod_is_made_again", _pick),
    ("pod_is_made_again", _pick),
    ("node_comes", lambda random, number: (f"late-{number}", random.choice(ZONES))),
    ("node_goes", _pick),
    ("node_is_cordoned", _pick),
    ("node_is_uncordoned", _pick),
    ("group_goes", _pick),
    ("rogue_binds", lambda random, number: (random.random(), random.random())),
    ("stranger_comes", lambda random, number: (f"stranger-{number}", random.random(), random.choice(CPUS))),
)
_TROUBLES: tuple[tuple[str, Draw], ...] = (
    ("weather_turns", _weather),
    ("weather_turns", _weather),
    ("weather_turns", _bindings_fail),
    ("weather_turns", _bindings_fail),
    ("watches_break", _pick),
    ("watches_fall_silent", _pick),
    ("history_is_forgotten", lambda random, number: ()),
    ("cable_is_pulled", _pick_for(30.0)),
    ("process_stands", _pick_for(25.0)),
    ("process_is_slow", _pick_for(20.0)),
    ("process_is_killed", _pick),
    ("process_is_ended", _pick),
    ("leader_is_killed", lambda random, number: ()),
    ("leader_is_ended", lambda random, number: ()),
    ("leader_stands", lambda random, number: (random.uniform(5.0, 30.0),)),
    ("standbys_miss_much", lambda random, number: ()),
    ("standbys_miss_much", lambda random, number: ()),
    ("clock_jumps", lambda random, number: (random.random(), random.uniform(-3600.0, 3600.0))),
)
