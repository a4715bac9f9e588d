"""Crowds: a stream of small pods that arrive and end as long as the run lasts, and a gang that needs whole nodes.

Each gap that becomes free is large enough for the next small pod and never for the gang, so the gang starts by a
reservation or not at all. `scale_of` says which seeds have a crowd, and `history_of` adds the acts. A crowd outlasts
all faults, by the time within which every holder that can be helped has to start: `starvation` judges that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from muster.plugins.reservation.rounds import starts_within

from .acts import NODE_CPU, Act
from .traits import traits_of

SETTLED_SECONDS = 70.0
"""The seconds after which pods that stay have their nodes: troubles end after a minute."""
_SHARE = 0.2
"""The share of seeds with a crowd."""
_SELDOM = 0.2
"""The share of seeds at which capacity is reserved only after the default time; that takes ten minutes and more."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A stream of small pods.

    Attributes:
        longest: how long each of them runs at most, in seconds; they run at least half of that.
        said: whether they say so.
        waiting: so many of them wait at any time.
        seconds: how long they keep coming.
    """

    longest: float
    said: bool
    waiting: int
    seconds: float


def after_seconds_of(seed: str) -> int:
    """The wait after which capacity is reserved for pods and groups."""
    random = Random(f"{seed}/patience")
    return 300 if random.random() < _SELDOM else random.choice((20, 40, 60))


def crowd_of(seed: str, after_seconds: int) -> Crowd | None:
    """The crowd of a seed, if it has one."""
    random = Random(f"{seed}/crowd")
    if random.random() >= _SHARE:
        return None
    longest = random.choice((40.0, 60.0, 80.0))
    lasts = SETTLED_SECONDS + starts_within(after_seconds, max(longest, SETTLED_SECONDS))
    return Crowd(longest, random.random() < 0.3, random.randint(2, 4), lasts)


def acts_of(seed: str, crowd: Crowd, nodes: int) -> Iterator[Act]:
    """The stream, and a gang that needs whole nodes."""
    random = Random(f"{seed}/crowd acts")
    yield Act(0.0, "stream_begins", (random.random(), crowd.longest, crowd.said, crowd.waiting, crowd.seconds))
    size, native = random.randint(1, max(1, nodes - 1)), random.random() < 0.3
    at, cpu = random.uniform(20.0, 50.0), random.choice((NODE_CPU, 3000))
    yield Act(at, "group_comes", ("whole", size, native, traits_of(seed, "whole", native)))
    for number in range(size):
        yield Act(at + random.random(), "member_comes", ("whole", number, cpu, native))
