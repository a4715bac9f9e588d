"""What a process takes from the machine: time, randomness, names, and whether it has the interpreter to itself.

A process receives one, so that a whole process can run in virtual time and from one seed: nothing else in it reads a
clock or draws random numbers, and it sleeps only on its event loop. `HERE` is the machine that runs this code.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import random as _random
from random import randrange as _randrange
from uuid import uuid4

from muster.operator.kube.events import Ambient
from muster.operator.kube.informer import Timing
from muster.operator.leader.elector import ElectionClock

from .clock import LoopClock


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine.

    Attributes:
        now: seconds on a clock that never jumps; the event loop's is to run as fast.
        wall: seconds since the epoch.
        random: a number in [0, 1).
        choose: a number below the one given.
        uid: a unique name.
        hostname: as people know it.
        exclusive: whether the process has its interpreter for itself. Then a thread watches its loop, and the collector
            of garbage is told what to leave alone.
    """

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    random: Callable[[], float] = _random
    choose: Callable[[int], int] = _randrange
    uid: Callable[[], str] = lambda: str(uuid4())
    hostname: str = socket.gethostname()
    exclusive: bool = True

    def clock(self) -> LoopClock:
        """The engine's clock."""
        return LoopClock(self.now, self.wall)

    def timing(self) -> Timing:
        """The informers' timing."""
        return Timing(random=self.random, clock=self.now)

    def election(self) -> ElectionClock:
        """The elector's clock."""
        return ElectionClock(now=self.now, wall=self.wall, random=self.random)

    def ambient(self) -> Ambient:
        """As the recorder of events wants it."""
        return Ambient(wall_clock=lambda: round(self.wall() * 1e9), random=self.random, hostname=self.hostname)


HERE = Machine()
